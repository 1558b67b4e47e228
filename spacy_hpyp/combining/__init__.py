"""Combining parsers: votes, rated arcs, and reranked trees."""
