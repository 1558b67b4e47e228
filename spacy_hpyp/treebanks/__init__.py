"""Treebanks in the formats that they are published in: brackets of the Penn Treebank, and
CoNLL-U.
"""
