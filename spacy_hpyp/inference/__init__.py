"""Sweeps, particle filters and sums over the model."""
