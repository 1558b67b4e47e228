"""Files that are complete or not there, and bytes that are what was written."""
