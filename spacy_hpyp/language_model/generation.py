"""Sentences drawn from a parser's model, as Docs, and spaces between generated words."""

import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
from spacy.tokens import Doc
from spacy.util import minibatch
from spacy.vocab import Vocab

from ..annotation.arrays import sentence_blocks, with_letters
from ..annotation.encoding import Layout, write_parses
from ..arc_standard.configuration import tree_of
from ..arc_standard.decoding import decode
from ..arc_standard.derivations import Derivation, draw_sentence
from ..arc_standard.likelihood import new_workspace
from ..arc_standard.model import JointModel
from ..arc_standard.search import Search
from ..hpyp.spelling import write_out
from ..settings import whole

#: The number of derivations to draw before giving up a sentence.
ATTEMPTS = 10_000
# The largest possible limit of sentence lengths.
_LONGEST = 10_000
_BATCH = 50
_APOSTROPHES = "'’"
_OPENING, _CLOSING, _CURRENCY = ("Ps", "Pi"), ("Pe", "Pf"), "Sc"
# Marks that follow a word immediately, and quotation marks as treebanks write them.
_FOLLOWING = frozenset(".,;:!?…%")
_BEGIN_QUOTE, _QUOTE = "``", '"'


def check_drawing(count: int, max_length: int, seed: int) -> tuple[int, int, int]:
    """Return the arguments as integers. RAISES (ValueError): If one is out of range."""
    max_length = whole("max_length", max_length, highest=_LONGEST)
    return whole("count", count), max_length, whole("seed", seed, least=0)


def not_found(max_length: int) -> ValueError:
    """Make the error that no sentence was found in `ATTEMPTS` attempts."""
    return ValueError(
        f"{ATTEMPTS:,} attempts made no sentence of {max_length} words or fewer. Allow longer ones."
    )


def generate_docs(
    model: JointModel,
    vocab: Vocab,
    count: int,
    *,
    max_length: int,
    seed: int,
    search: Search,
    threads: int,
) -> Iterator[Doc]:
    """Draw sentences from a model, each as a Doc with its tags and tree, and log-probabilities and
    surprisals as after parsing, which `search` sums up. The seed fixes the sentences; the first
    ones are the same for every count. RAISES (ValueError): If no sentence is short enough.
    """
    search = search._replace(marginals=False, consensus=False)
    for numbers in minibatch(range(count), _BATCH):
        drawn = [_draw(model, max_length, [seed, number]) for number in numbers]
        blocks = sentence_blocks([one.words for one in drawn])
        offsets = blocks.offsets
        # The beam sums up the probabilities of the words. The trees are those drawn.
        parses = decode(model.frozen, blocks, search, threads)
        parses.tags[:] = np.concatenate([one.tags for one in drawn])
        docs = []
        for number, one, start, end in zip(numbers, drawn, offsets[:-1], offsets[1:]):
            tree_of(one.actions, parses.heads[start:end], parses.labels[start:end])
            rng = np.random.default_rng([seed, number, 1])
            words = [
                write_out(model.vocabulary, model.spelling, n, rng) for n in one.words.tolist()
            ]
            docs.append(doc_of(vocab, words))
        token = np.concatenate([np.arange(len(one.words)) for one in drawn])
        layout = Layout(token=token, docs=offsets, offsets=offsets)
        forms = [word.text for doc in docs for word in doc]
        letters = model.spell_words(forms, np.arange(len(forms)), blocks.words)
        parses = with_letters(parses, letters)
        write_parses(docs, layout, parses, model.encoder, given_tags=False)
        yield from docs


def doc_of(vocab: Vocab, words: list[str]) -> Doc:
    """Make a Doc of generated words, with spaces by common rules of punctuation."""
    is_separated = vocab.writing_system["has_letters"]
    return Doc(vocab, words=words, spaces=spaces_between(words, separated=is_separated))


def spaces_between(words: Sequence[str], *, separated: bool = True) -> list[bool]:
    """Guess whether there is a space after each word, none of which is empty, in a writing system
    that separates words or not. Straight quotes open and close in turn.
    """
    if not separated:
        return [False] * len(words)
    closes, opens = [], []
    in_quotes = False
    for word in words:
        closes.append(_closes(word) or (word == _QUOTE and in_quotes))
        opens.append(_opens(word) or (word == _QUOTE and not in_quotes))
        in_quotes ^= word == _QUOTE
    return [i + 1 < len(words) and not opens[i] and not closes[i + 1] for i in range(len(words))]


def _closes(word: str) -> bool:
    is_mark = unicodedata.category(word[0]) in _CLOSING or _FOLLOWING.issuperset(word)
    return is_mark or word[0] in _APOSTROPHES or word.lower() in ("n't", "n’t")


def _opens(word: str) -> bool:
    category = unicodedata.category(word[-1])
    is_elided = len(word) > 1 and word[-1] in _APOSTROPHES and word[0].isalpha()
    is_mark = category in _OPENING or (category == _CURRENCY and len(word) == 1)
    return word == _BEGIN_QUOTE or is_elided or is_mark


def _draw(model: JointModel, max_length: int, seed: list[int]) -> Derivation:
    rng, frozen = np.random.default_rng(seed), model.frozen
    work = new_workspace(frozen, remembered=1)
    for _ in range(ATTEMPTS):
        drawn = draw_sentence(frozen, work, rng, max_length)
        if len(drawn.words):
            return drawn
    raise not_found(max_length)
