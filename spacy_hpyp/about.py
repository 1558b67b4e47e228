"""What the package is called."""

__version__ = "0.2.0"
