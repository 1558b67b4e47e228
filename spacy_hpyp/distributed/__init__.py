"""Work on many files by the workers of a Ray cluster."""
