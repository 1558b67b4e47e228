"""Particle filters, Gibbs and Metropolis-Hastings steps, and spanning trees, of whatever model."""
