"""What can happen next in an arc-standard derivation, and what it may be conditioned on."""
