"""Particle filters, Gibbs and Metropolis-Hastings steps, of whatever model."""
