"""The beam after each word: entropies, structure, and the most probable parses so far.

The *analyses* after a word are the parses that the beam goes on with: stacks, arcs and tags.
Several derivations of an analysis are summed. The entropy over analyses is that of their
probabilities (Roark et al. 2009; Hale 2006). The entropy over next words is that of the
distribution of the next word or the end of the sentence, see `spacy_hpyp.arc_standard.increments`.
In it a rare word counts as its class.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from spacy.tokens import Doc

from ..annotation.arrays import Blocks
from ..annotation.encoding import encode_docs
from ..arc_standard.increments import OPEN, Increments, follow
from ..arc_standard.model import JointModel
from ..arc_standard.search import Search
from ..spacy_internals import nonproj
from .surprisal import ENTROPIES, STRUCTURE, entropy_of

# Sentences to read together. Each word may have a distribution over the whole vocabulary.
_BATCH = 16


@dataclass(frozen=True)
class PartialParse:
    """A parse of the words up to one of them.

    probability (float): Its share of the beam.
    log_prob (float): The log-probability of the words with it, without letters, in nats.
    tags (list[str]): The tag of each word so far.
    heads (list[int | None]): The token of each word's head; None for a word on the stack.
    deps (list[str]): The labels of these arcs, "" for a word on the stack.
    stack (list[int]): The tokens on the stack, the top last.
    """

    probability: float
    log_prob: float
    tags: list[str]
    heads: list[int | None]
    deps: list[str]
    stack: list[int]


@dataclass(frozen=True)
class Increment:
    """The beam after a word.

    token (int): The word's position in the Doc.
    words (list[int]): The positions of the words of its sentence up to it.
    entropy_next, entropy_analyses (float): Entropies of the next word and of the analyses, in bits.
    next_words (list[tuple[str, float]]): The most probable next words and their probabilities.
        Classes of rare words are in angle brackets; "" is the end of the sentence.
    parses (list[PartialParse]): The most probable parses.
    """

    token: int
    words: list[int]
    entropy_next: float
    entropy_analyses: float
    next_words: list[tuple[str, float]]
    parses: list[PartialParse]


def find_increments(
    model: JointModel, doc: Doc, search: Search, k: int, *, threads: int, given_tags: bool
) -> list[Increment]:
    """Return the beam after each word of a Doc of words. Each marked sentence is read by itself.

    k (int), given_tags (bool): How many parses and next words; whether to use `token.tag_`.
    RAISES (ValueError): If the model generates no words, a needed tag is missing, or a sentence is
        too long for the memory of so many particles.
    """
    blocks, words = encode_docs([doc], model.encoder, given_tags=given_tags)
    found: list[Increment] = []
    for beams in _follow(model, blocks, search, threads, parses=True):
        token = words.layout.token[len(found) : len(found) + len(beams.size)].tolist()
        found += [_increment(model, beams, token[: word + 1], k) for word in range(len(token))]
    return found


def measure_beams(
    model: JointModel, docs: Sequence[Doc], search: Search, *, threads: int, given_tags: bool
) -> list[dict[str, np.ndarray]]:
    """Return measures of the beams in Docs of n tokens.

    RETURNS (list[dict[str, np.ndarray]]): By name, the entropies in bits before and after each
        token (float64[n, 2]) and the `STRUCTURE` at each token (float64[n]); 0 for white space.
    RAISES (ValueError): If the model generates no words, or a needed tag is missing.
    """
    blocks, encoded = encode_docs(docs, model.encoder, given_tags=given_tags)
    width = 2 * len(ENTROPIES) + len(STRUCTURE)
    values = [np.empty((0, width))]
    for beams in _follow(model, blocks, search, threads, parses=False):
        words = range(len(beams.size))
        following = beams.entropy_next
        analyses = [0.0, *(entropy_of(_analyses(beams, word)[0]) for word in words)]
        columns = following[:-1], following[1:], analyses[:-1], analyses[1:]
        values.append(np.column_stack([*columns, beams.structure]))
    of_words, found, layout = np.concatenate(values), [], encoded.layout
    for doc, words, token in zip(docs, layout.words, layout.tokens):
        of_tokens = np.zeros((len(doc), width))
        of_tokens[token] = of_words[words]
        entropies = {name: of_tokens[:, 2 * i : 2 * i + 2] for i, name in enumerate(ENTROPIES)}
        found.append(entropies | dict(zip(STRUCTURE, of_tokens[:, -len(STRUCTURE) :].T)))
    return found


def _follow(
    model: JointModel, blocks: Blocks, search: Search, threads: int, *, parses: bool
) -> Iterator[Increments]:
    """Yield the beams of each sentence; those of at most `_BATCH` sentences are in memory."""
    if not model.is_lexicalised:
        raise ValueError("An unlexicalised model generates no words, and has no entropy over them.")
    # Rare words are read as in surprisals, without their tags and forms elsewhere.
    blocks = blocks._replace(words=model.vocabulary.outcomes[blocks.words])
    # The beam represents the posterior and does not depend on later words.
    search = search._replace(marginals=True, consensus=False, guides=False, future_cost=0.0)
    for first in range(0, len(blocks.offsets) - 1, _BATCH):
        offsets = blocks.offsets[first : first + _BATCH + 1]
        columns = (column[offsets[0] : offsets[-1]] for column in blocks[:3])
        batch = Blocks(*columns, offsets - offsets[0])
        yield from follow(model.frozen, batch, search, threads, parses=parses)


def _analyses(beams: Increments, word: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the probabilities and log-weights (float64[m]) of the analyses after a word, the most
    probable first, and a derivation of each (int64[m]).
    """
    size = beams.size[word]
    _, first, place = np.unique(beams.analysis[word, :size], return_index=True, return_inverse=True)
    weight = beams.log_weight[word, :size]
    highest = weight.max()
    sums = np.bincount(place.ravel(), weights=np.exp(weight - highest))
    order = np.lexsort((first, -sums))
    with np.errstate(divide="ignore"):
        log_weight = highest + np.log(sums[order])
    return sums[order] / sums.sum(), log_weight, first[order]


def _increment(model: JointModel, beams: Increments, token: list[int], k: int) -> Increment:
    """Return the beam after the last of some words at `token`, with k parses and next words."""
    count = len(token)
    analyses, columns = _analyses(beams, count - 1), (beams.tags, beams.heads, beams.labels)
    parses, names = [], [label.split(nonproj.DELIMITER)[0] for label in model.labels]
    for probability, log_prob, i in zip(*(each[:k].tolist() for each in analyses)):
        tags, heads, labels = (column[count - 1, i, :count].tolist() for column in columns)
        parse = PartialParse(
            probability,
            log_prob,
            tags=[model.tags[tag] for tag in tags],
            heads=[None if head == OPEN else token[head] for head in heads],
            deps=[names[label] if label >= 0 else "" for label in labels],
            stack=[token[j] for j, head in enumerate(heads) if head == OPEN],
        )
        parses.append(parse)
    expected, vocabulary = beams.expected[count], model.vocabulary
    best = np.argsort(-expected, kind="stable")[:k]
    words = [vocabulary.name(i) if i < len(vocabulary) else "" for i in best.tolist()]
    return Increment(
        token=token[-1],
        words=token,
        entropy_next=float(beams.entropy_next[count]),
        entropy_analyses=float(entropy_of(analyses[0])),
        next_words=list(zip(words, expected[best].tolist())),
        parses=parses,
    )
