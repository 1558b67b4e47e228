"""Conditional distributions made of several experts: products and mixtures, their weights."""
