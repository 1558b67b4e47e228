"""What a component's thinc Model holds: how it is made, checked and stored."""
