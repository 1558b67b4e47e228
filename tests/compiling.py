"""Compile functions that are otherwise called only from compiled code."""

from functools import cache

from spacy_hpyp.compiled import jit

#: Compile a function for Python, and cache it on disk for all workers.
compiled = cache(jit)
