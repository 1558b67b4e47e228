"""Treebanks in CoNLL-U and the Penn Treebank."""
