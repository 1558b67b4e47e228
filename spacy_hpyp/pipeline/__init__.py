"""Components for `nlp.add_pipe`, and readers, batchers and scorers for spaCy's configs."""
