"""What the models of all systems share: storage in a thinc Model, and saved vocabularies."""
