"""The arc-standard system: actions, contexts, the joint model, and Algorithm 1."""
