"""Probability of text: n-grams, perplexity, surprisal, generation."""
