"""Easy-first tagging and parsing with beam search (Ma, Zhu, Xiao & Yang 2013)."""
