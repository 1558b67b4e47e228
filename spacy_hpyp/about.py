"""What the package is called."""

__version__ = "0.1.0"
