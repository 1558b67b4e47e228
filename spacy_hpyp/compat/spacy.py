"""spaCy's pipelines.

Checked with spaCy 3.8.2 on Python 3.10, and 3.8.18 on 3.10 to 3.13.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import wraps
from itertools import repeat
from typing import Any

import numpy as np
from spacy.language import Language

# The edit trees of spaCy's own trainable lemmatizer.
from spacy.pipeline._edit_tree_internals.edit_trees import EditTrees

# The pseudo-projective transformation of spaCy's own parser (Nivre & Nilsson 2005): `projectivize`,
# `deprojectivize`, `is_decorated` and `DELIMITER`. It has no other name.
from spacy.pipeline._parser_internals import nonproj
from spacy.tokens import Doc

__all__ = [
    "EditTrees",
    "PipelineMember",
    "attribute_key",
    "attribute_keys",
    "beam_parses",
    "nonproj",
    "transition_probabilities",
]


class PipelineMember:
    """A component that is told which pipeline it stands in.

    A factory knows its pipeline. A component that another pipeline takes over (`add_pipe(..., source=...)`)
    stays the same object, and spaCy tells it nothing. But spaCy links the components of a pipeline whenever
    one is added, renamed or removed; these are told then, too.
    """

    def stands_in(self, nlp: Language) -> None:
        """Called with a pipeline that has the component, when its components have changed."""
        raise NotImplementedError


_link = Language._link_components


@wraps(_link)
def _link_and_tell(nlp: Language) -> None:
    _link(nlp)
    for _, component in nlp.components:
        if isinstance(component, PipelineMember):
            component.stands_in(nlp)


Language._link_components = _link_and_tell


def attribute_key(name: str, offset: int) -> tuple[str, str, int, None]:
    """The key that a Doc's user data have for an extension attribute of a token. spaCy tells of a token by
    where it begins, `token.idx`.
    """
    return "._.", name, offset, None


def attribute_keys(name: str, offsets: Iterable[int]) -> Iterator[tuple[str, str, int, None]]:
    """The keys of an attribute of some tokens, see `attribute_key`."""
    return zip(repeat("._."), repeat(name), offsets, repeat(None))


def beam_parses(
    parser: Any, docs: Sequence[Doc], width: int
) -> list[list[tuple[float, list[tuple[int, int, str]]]]]:
    """What is in the final beams of spaCy's parser. Its methods for that are public, but its reference does
    not describe them.

    parser (DependencyParser): Trained, with a beam or without.
    docs (Sequence[Doc]): They are not changed.
    width (int): How many states a beam holds.
    RETURNS (list): Of each document, the probability among those in the beam, and the arcs as heads, children
        and labels, of each derivation that has an arc. Labels may be decorated (Nivre & Nilsson 2005).
    """
    if not docs:
        return []
    return [parser.moves.get_beam_parses(beam) for beam in parser.beam_parse(docs, beam_width=width)]


def transition_probabilities(parser: Any, docs: Sequence[Doc]) -> list[np.ndarray]:
    """How probable spaCy's parser takes the transitions for that make the arcs which it finds. What is asked
    here has no reference.

    parser (DependencyParser): Trained. Its greedy parses are meant, whatever its beam.
    docs (Sequence[Doc]): Parsed by it. They are not changed.
    RETURNS (list[float64[tokens]]): Of each document, by the position of the child: the share of the
        transition among all that there are, by a softmax of their scores. Of roots it is not a number, nor of
        arcs that are not found again now that sentences have boundaries.
    """
    found = [np.full(len(doc), np.nan) for doc in docs]
    if not any(map(len, docs)):
        return found
    step, all_states = parser.model.predict(docs), parser.moves.init_batch(docs)
    pairs = list(zip(all_states, found))
    names = [parser.moves.get_class_name(number) for number in range(parser.moves.n_moves)]
    left, right = (np.array([name.startswith(kind) for name in names]) for kind in ("L-", "R-"))
    while pairs := [pair for pair in pairs if not pair[0].is_final()]:
        states = [state for state, _ in pairs]
        scores = np.array(step.predict(states), dtype=np.float64)
        ends = [(state.S(0), state.B(0)) for state in states]
        before = [(state.H(top), state.H(following)) for state, (top, following) in zip(states, ends)]
        parser.transition_states(states, scores.astype(np.float32))
        share = np.exp(scores - scores.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        for (state, own), (top, following), (its, that), row in zip(pairs, ends, before, share):
            if state.H(top) != its:
                own[top] = row[left].max()
            elif state.H(following) != that:
                own[following] = row[right].max()
    step.clear_memory()
    for doc, state, own in zip(docs, all_states, found):
        own[[state.H(token.i) != token.head.i for token in doc]] = np.nan
    return found
