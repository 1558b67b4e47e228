"""Generated sentences as Docs."""

from collections.abc import Iterator, Sequence

import numpy as np
from spacy.tokens import Doc
from spacy.util import minibatch
from spacy.vocab import Vocab

from ..annotation.arrays import sentence_blocks, with_letters
from ..annotation.documents import Layout, write_parses
from ..arc_standard.configuration import tree_of
from ..arc_standard.decoding import decode
from ..arc_standard.generation import Derivation, draw_sentence
from ..arc_standard.likelihood import new_queries
from ..inference.rounding import Search
from ..models.joint_model import JointModel
from ..models.spelling import write_out
from ..settings import whole
from ..text.spacing import spaces_between

#: Derivations drawn before a sentence is given up.
ATTEMPTS = 10_000
# The highest limit of the length of sentences.
_LONGEST = 10_000
_BATCH = 50


def check_drawing(count: int, begin_with: Sequence[str], max_length: int, seed: int) -> tuple[int, int, int]:
    """Check the number of sentences, the limit of their length, and the seed.

    RAISES (ValueError): If a number is out of its range, or these words are too many.
    """
    count, max_length = whole("count", count), whole("max_length", max_length, highest=_LONGEST)
    if len(begin_with) > max_length:
        raise ValueError(f"'begin_with' has {len(begin_with)} words, and 'max_length' is {max_length}.")
    return count, max_length, whole("seed", seed, least=0)


def generate_docs(
    model: JointModel,
    vocab: Vocab,
    count: int,
    *,
    begin_with: Sequence[str],
    max_length: int,
    seed: int,
    search: Search,
    threads: int,
) -> Iterator[Doc]:
    """Draw sentences from a model, each as a Doc.

    begin_with (Sequence[str]): The words that all of them begin with, no more than `max_length`.
    seed (int): Fixes them. The first sentences are the same for every count.
    search (Search): The search for the sentences' probabilities, with the number of particles for
        `begin_with`.
    YIELDS (Doc): With the tags and the tree that were drawn, and probabilities as after parsing.
    RAISES (ValueError): If no sentence that is short enough is found.
    """
    search = search._replace(marginals=False, consensus=False)
    for numbers in minibatch(range(count), _BATCH):
        drawn = [
            _draw(model, begin_with, max_length, search.particles, np.random.default_rng([seed, number]))
            for number in numbers
        ]
        blocks = sentence_blocks([one.words for one in drawn])
        offsets = blocks.offsets
        # The trees are those that were drawn; the beam sums up the probabilities of the words.
        parses = decode(model.frozen, blocks, search, threads)
        parses.tags[:] = np.concatenate([one.tags for one in drawn])
        for one, start, end in zip(drawn, offsets[:-1], offsets[1:]):
            tree_of(one.actions, parses.heads[start:end], parses.labels[start:end])
        layout = Layout(
            token=np.concatenate([np.arange(len(one.words)) for one in drawn]), docs=offsets, offsets=offsets
        )
        docs = [
            _doc(model, vocab, one.words, begin_with, np.random.default_rng([seed, number, 1]))
            for number, one in zip(numbers, drawn)
        ]
        letters = model.spell_docs(docs, layout, blocks.words)
        write_parses(docs, layout, with_letters(parses, letters), model)
        yield from docs


def _draw(
    model: JointModel, begin_with: Sequence[str], max_length: int, particles: int, rng: np.random.Generator
) -> Derivation:
    beginning = np.array(model.vocabulary.numbers(begin_with), dtype=np.int32)
    drawn = Derivation(
        actions=np.empty(2 * max_length, dtype=np.int32),
        tags=np.empty(max_length, dtype=np.int32),
        words=np.empty(max_length, dtype=np.int32),
        log_probability=np.empty(1),
    )
    frozen = model.frozen
    n = draw_sentence(frozen, new_queries(frozen, 1), beginning, particles, ATTEMPTS, rng, drawn)
    if n == 0:
        raise unfound("derivations", begin_with, max_length)
    return drawn._replace(actions=drawn.actions[: 2 * n], tags=drawn.tags[:n], words=drawn.words[:n])


def unfound(drawn: str, begin_with: Sequence[str], max_length: int) -> ValueError:
    """Make the error that no sentence was found in `ATTEMPTS` trials."""
    beginning_with = f" that begins with '{' '.join(begin_with)}'" if begin_with else ""
    return ValueError(
        f"{ATTEMPTS:,} {drawn} were drawn, and none made a sentence of {max_length} words or "
        f"fewer{beginning_with}. Allow longer sentences."
    )


def _doc(
    model: JointModel, vocab: Vocab, numbers: np.ndarray, begin_with: Sequence[str], rng: np.random.Generator
) -> Doc:
    others = numbers[len(begin_with) :].tolist()
    words = [*begin_with, *(write_out(model.vocabulary, model.spelling, number, rng) for number in others)]
    spaces = spaces_between(words, separated=vocab.writing_system["has_letters"])
    return Doc(vocab, words=words, spaces=spaces)
