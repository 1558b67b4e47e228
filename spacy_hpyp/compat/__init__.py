"""Internals of Numba, llvmlite and the platform that have no public interface; `tests/test_compat.py` checks
them.
"""
