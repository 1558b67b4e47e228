"""Words, tags and labels as numbers."""
