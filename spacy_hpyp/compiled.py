"""The one way in which this package compiles a function."""

from numba import njit

#: Cached on disk, so that a second process starts warm, and without the GIL, so that threads decode side by side.
compiled = njit(cache=True, nogil=True, error_model="numpy")
