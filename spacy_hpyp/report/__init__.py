"""A page about a trained pipeline: what is on it, how it is drawn and written."""
