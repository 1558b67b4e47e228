"""What `nlp.add_pipe` names, and what spaCy's configs name besides: readers, batchers, scorers."""
