"""What we touch of other packages that they do not promise to keep: each with the reason, and the versions it
was checked with.

Nothing else in this package imports a name that begins with an underscore, or one of a module that does.
`tests/test_compat.py` checks what each of these does, so that it fails by name where a new version does
something else.
"""
