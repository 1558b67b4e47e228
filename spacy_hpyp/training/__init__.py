"""Treebanks and raw text as what models learn from: sweeps, what is left out of them."""
