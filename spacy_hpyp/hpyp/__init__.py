"""Hierarchical Pitman-Yor processes: probability that knows no words, tags or trees."""
