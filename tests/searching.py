"""The search of blocks by itself, which only compiled code calls, as functions for Python."""

from spacy_hpyp.arc_standard import decoding, lookahead
from spacy_hpyp.arc_standard.proposals import new_workspace
from spacy_hpyp.compiled import jit
from spacy_hpyp.inference.beam import new_sums


@jit
def only(blocks, block):
    return decoding.only(blocks, block)


@jit
def search_block(parser, block, search, work, records, syntactic, lexical, log_probability):
    sums = new_sums(syntactic, lexical, log_probability)
    return decoding.search_block(parser, block, search, work, records, sums)


@jit
def lookahead_heuristic(chain, tag_offsets, candidate_tags, usual, block, share):
    return lookahead.lookahead_heuristic(chain, tag_offsets, candidate_tags, usual, block, share)


def decode_all(parser, blocks, block, search):
    return decoding.decode_all(parser, new_workspace(parser, search), blocks, block, search)
