"""Between Docs and arrays of integers: sentences, blocks, parses; reading and writing back."""
