"""Calibration by sentences that a parser has not learned from, see `annotation.confidence`.

A joint model takes folds of training sentences out. An easy-first parser holds some sentences of
the treebank out, or, if that has few, others like it learn from parts of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..annotation.arrays import Blocks, Sentences, block_starts, joined, offsets_of
from ..annotation.confidence import UNLEARNED, UNLEARNED_TAGS, Confidence, features, tag_features
from ..annotation.sentences import is_counted, join
from ..arc_standard.decoding import decode
from ..arc_standard.model import JointModel
from ..arc_standard.search import Search
from ..combining.log_linear import fit_confidence
from ..compiled import NONE
from ..easy_first.learning import Learning, Lessons
from ..easy_first.parsing import SentencesToParse
from ..easy_first.tree_model import UNLEARNED as UNLEARNED_TREES
from ..easy_first.tree_model import ParserProgress, TreeModel, confidence_features
from .treebank import assign_folds

_FOLDS = 5
# After each sweep, a joint model is calibrated on about this many tokens, in spans of about this
# many. Without a twentieth of its treebank, it is as good as without less: one fold instead of five
# takes 3 s on EWT, not 12.
_TOKENS, _SPAN, _TWENTIETH = 5000, 400, 20
# An easy-first parser holds out about this many sentences, and at most one in this many. In a
# treebank of fewer than `_CROSS_FITTED_BELOW` sentences, it is calibrated on all of them instead,
# parsed by similar parsers that learn from the remaining folds in `_FOLD_PASSES` passes.
_HELD_OUT, _LEAST_PARTS = 250, 30
_CROSS_FITTED_BELOW, _FOLD_PASSES = 1000, 5

#: Features of choices, and their correctness.
Observed = tuple[np.ndarray, np.ndarray]


def _fit(observed: Iterable[Observed], unlearned: np.ndarray) -> np.ndarray:
    return fit_confidence(*map(np.concatenate, zip(*observed)), unlearned)


# Joint models


def learn_confidence(
    model: JointModel,
    sentences: Mapping[bytes, np.ndarray],
    search: Search,
    rng: np.random.Generator,
    *,
    threads: int,
    given_tags: bool,
) -> None:
    """Calibrate arcs and tags by training sentences, as the model without them parses them.

    model, search: A model without latent derivations, and a search with `marginals`.
    sentences: By key, in order (int32[4, *]). If seated ones are missing, nothing changes.
    """

    def observe(spans: Sequence[Sequence[np.ndarray]]) -> tuple[Observed, Observed]:
        """Parse spans by the model without them; return arcs without punctuation, and tags."""
        blocks, heads, gold = calibration_blocks(spans)
        if given_tags:
            blocks = blocks._replace(tags=gold.tags)
        if seen is not None:
            # Words that occur nowhere else are unknown without the spans.
            elsewhere = seen - np.bincount(blocks.words, minlength=len(seen))
            min_count = model.vocabulary_settings.min_count
            words = model.vocabulary.numbers_by_counts(blocks.words, elsewhere, min_count)
            blocks = blocks._replace(words=words)
        parses = decode(model.held_out_copy(gold, rng).frozen, blocks, search, threads)
        counted = is_counted([*model.labels, ""])[gold.labels]
        arcs = features(parses, blocks.offsets)[counted], (parses.heads == heads)[counted]
        known = model.vocabulary.is_known(blocks.words)
        return arcs, (tag_features(parses, known), parses.tags == gold.tags)

    rows = [rows for key, rows in sentences.items() if model.progress.seated.get(key)]
    if len(rows) < len(model.progress.seated) or not rows:
        return
    ends = np.cumsum([each.shape[1] for each in rows])
    span_of = (ends - 1) // max(1, min(_SPAN, ends[-1] // _FOLDS))
    spans = [[rows[i] for i in np.flatnonzero(span_of == n)] for n in np.unique(span_of)]
    every = -(-ends[-1] // _TOKENS)
    chosen = spans[model.progress.sweeps % every :: every]
    count = min(_FOLDS, len(chosen), -(-_TWENTIETH // every))
    seen = model.word_counts() if model.is_lexicalised else None
    arcs, tags = zip(*(observe(chosen[i::count]) for i in range(count)))
    model.confidence = Confidence(
        _fit(arcs, UNLEARNED), UNLEARNED_TAGS if given_tags else _fit(tags, UNLEARNED_TAGS)
    )


def calibration_blocks(
    spans: Sequence[Sequence[np.ndarray]],
) -> tuple[Blocks, np.ndarray, Sentences]:
    """Make blocks of spans of consecutive sentences, whose boundaries are to be found.

    RETURNS (tuple[Blocks, int32[tokens], Sentences]): Also gold heads as positions in the block,
        `NONE` for roots; and the sentences.
    """
    sentences = join([sentence for span in spans for sentence in span])
    offsets = sentences.offsets[offsets_of([len(span) for span in spans])]
    shift = block_starts(sentences.offsets) - block_starts(offsets)
    heads = np.where(sentences.heads == NONE, NONE, sentences.heads + shift).astype(np.int32)
    tags, starts = np.full(len(heads), NONE, dtype=np.int32), np.ones(len(heads), dtype=bool)
    return Blocks(sentences.words, tags, starts, offsets), heads, sentences


# Easy-first parsers


def is_cross_fitted(progress: ParserProgress) -> bool:
    """Return whether a treebank is too small to hold a part out, and no part is held out."""
    return progress.sentences < _CROSS_FITTED_BELOW and not progress.held_out


def is_held_out(progress: ParserProgress, key: bytes) -> bool:
    """Return whether a sentence is held out for calibration."""
    every = max(_LEAST_PARTS, progress.sentences // _HELD_OUT)
    return not is_cross_fitted(progress) and int.from_bytes(key[:4], "big") % every == 0


def learn_from_held_out(parser: TreeModel, learning: Learning, *, threads: int) -> None:
    """Calibrate a parser by its held-out sentences, if there are any."""
    held_out = parser.progress.held_out
    if held_out:
        lessons = joined([held_out[key] for key in sorted(held_out)])
        observed = _observe_trees(parser, lessons, learning, threads)
        parser.confidence = _fit([observed], UNLEARNED_TREES)


def learn_from_all(
    parser: TreeModel,
    lessons: Mapping[bytes, Lessons],
    learning: Learning,
    *,
    seed: int,
    threads: int,
) -> None:
    """Calibrate a parser by all sentences, if several, parsed by others that have not seen them."""

    def observe(fold: int) -> Observed:
        others = [key for key in lessons if key not in folds[fold]]
        other, rng = parser.untrained(), np.random.default_rng([seed, fold, 6])
        other.initialize(parser.vocabulary, parser.labels)
        for passes in range(_FOLD_PASSES):
            order = [lessons[others[i]] for i in rng.permutation(len(others))]
            other.learn(joined(order), learning._replace(explore=passes > 0, dropout=0.0), rng)
        return _observe_trees(other, joined([lessons[key] for key in folds[fold]]), learning, 1)

    folds = [fold for fold in assign_folds(list(lessons), _FOLDS) if 0 < len(fold) < len(lessons)]
    if folds:
        with ThreadPoolExecutor(threads) as executor:
            parser.confidence = _fit(executor.map(observe, range(len(folds))), UNLEARNED_TREES)


def _observe_trees(
    parser: TreeModel, lessons: Lessons, learning: Learning, threads: int
) -> Observed:
    """Parse sentences; return arcs without punctuation."""
    sentences = SentencesToParse(*lessons[:5], lessons.offsets)
    trees = parser.parse(sentences, width=learning.width, threads=threads)
    observed = confidence_features(trees, sentences.offsets, guided=parser.is_guided)
    counted = is_counted([*parser.labels, ""])[lessons.gold_labels]
    return observed[counted], (trees.heads == lessons.gold_heads)[counted]
