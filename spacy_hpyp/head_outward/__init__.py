"""Head-outward generative dependency models (Eisner 1996; Wallach, Sutton & McCallum 2008)."""
