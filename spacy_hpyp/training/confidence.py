"""How sure parsers can be of what they find: learned from sentences that they have not learned from.

Of a joint model sentences are taken out, a fold after the other, and parsed by what is left
(`annotation.confidence`). An easy-first parser cannot forget: it keeps some sentences of the treebank from
itself, or, where that has few, others like it learn from parts of it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

import numpy as np

from ..annotation.arrays import joined
from ..annotation.calibration import PUNCTUATION
from ..annotation.confidence import (
    UNLEARNED,
    UNLEARNED_TAGS,
    Confidence,
    Passage,
    features,
    fit_confidence,
    running_text,
    tag_features,
)
from ..annotation.documents import join
from ..arc_standard.decoding import decode
from ..easy_first.learning import Learning, Lessons
from ..easy_first.parsing import SentencesToParse
from ..inference.rounding import Search
from ..models.joint_model import JointModel
from ..models.tree_model import UNLEARNED as UNLEARNED_TREES
from ..models.tree_model import ParserProgress, TreeModel, confidence_features
from .treebank import deal_out

_FOLDS = 5
# Confidence in parses is learned from about so many tokens that are visited: from some of a sweep, or from
# all of a small treebank after several sweeps. Of the treebank no more than one token in `_FOLDS` is taken
# out at a time, unless a sentence is longer than that.
_PASSAGE_TOKENS = 5000
# An easy-first parser keeps about so many sentences from itself, and no more than one in so many.
_HELD_OUT = 250
_LEAST_PARTS = 30
# In a treebank of fewer sentences those would be too few: confidence is learned from all of them, as so many
# other parsers find them, each of which has passed so often over what the others have not.
_CROSS_FITTED_BELOW = 1000
_FOLD_PASSES = 5

#: What confidence is learned from: the features of what a parser has found, and whether that is right.
Observed = tuple[np.ndarray, np.ndarray]


def cross_fit(folds: Iterable[Sequence[Observed]], unlearned: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Learn the weights of confidence from all folds.

    folds (Iterable[Sequence[Observed]]): What is observed in each, of one kind of choice after the other, by
        a parser that has not learned from the fold.
    unlearned (Sequence[float64[*]]): For each kind, the weights if nothing is observed.
    RETURNS (list[float64[*]]): For each kind, the weights.
    """
    found = [
        fit_confidence(*map(np.concatenate, zip(*each)), start) for each, start in zip(zip(*folds), unlearned)
    ]
    return [*found, *unlearned[len(found) :]]


def is_counted(labels: Sequence[str]) -> np.ndarray:
    """Which of the arcs with these labels are no punctuation (bool[*])."""
    return np.array([label.lower() not in PUNCTUATION for label in labels], dtype=bool)


# Joint models


def sampled(model: JointModel, passage: Passage) -> list[Passage]:
    """What confidence is to be learned from of a passage: parts that their content chooses, others in each
    sweep.

    passage (Passage): Of sentences that are seated.
    """
    progress = model.progress
    if not passage.keys:
        return []
    # A file can say anything.
    tokens = max(1, progress.tokens)
    if model.confidence is not None and progress.sweeps % -(-_PASSAGE_TOKENS // tokens):
        return []
    every = -(-tokens // _PASSAGE_TOKENS)
    longest = max(1, min(tokens, _PASSAGE_TOKENS) // _FOLDS)
    own = sum(rows.shape[1] for rows in passage.rows)
    return [
        Passage(passage.keys[run], passage.rows[run])
        for run in _runs([[rows] for rows in passage.rows], own // max(1, own // longest))
        if (int.from_bytes(passage.keys[run.start][:4], "big") + progress.sweeps) % every == 0
    ]


def learn_confidence(
    model: JointModel, search: Search, rng: np.random.Generator, *, threads: int, given_tags: bool
) -> None:
    """Learn how sure to be of arcs and tags, from the passages that have been kept as the model without them
    parses them.

    model (JointModel): Without such passages nothing is learned.
    search (Search): How they are parsed, with `marginals`.
    """
    passages = _kept_passages(model)
    if not passages:
        return
    seen = model.word_counts() if model.is_lexicalised else None
    folds = (
        _observe(model, passages[run], seen, search, rng, threads=threads, given_tags=given_tags)
        for run in _runs([passage.rows for passage in passages], model.progress.tokens // _FOLDS)
    )
    model.confidence = Confidence(*cross_fit(folds, [UNLEARNED, UNLEARNED_TAGS]))


def _kept_passages(model: JointModel) -> list[Passage]:
    """The passages that have been kept; a sentence that is seated once is in one of them only."""
    taken: Counter[bytes] = Counter()
    found = []
    for passage in model.progress.sweep.passages:
        wanted = taken + Counter(passage.keys)
        if all(count <= model.progress.seated.get(key, 0) for key, count in wanted.items()):
            taken = wanted
            found.append(passage)
    return found


def _observe(
    model: JointModel,
    fold: Sequence[Passage],
    seen: np.ndarray | None,
    search: Search,
    rng: np.random.Generator,
    *,
    threads: int,
    given_tags: bool,
) -> list[Observed]:
    """What the model without some passages finds in them: arcs without punctuation, and tags if it is to find
    these.
    """
    sentences = join([rows for passage in fold for rows in passage.rows])
    blocks, heads = running_text(fold)
    if given_tags:
        blocks = blocks._replace(tags=sentences.tags)
    if seen is not None:
        # What is seen nowhere else is new to what is left.
        elsewhere = seen - np.bincount(blocks.words, minlength=len(seen))
        min_count = model.vocabulary_settings.min_count
        blocks = blocks._replace(words=model.vocabulary.numbers_by_counts(blocks.words, elsewhere, min_count))
    parses = decode(model.without(sentences, rng, threads).frozen, blocks, search, threads)
    counted = is_counted([*model.labels, ""])[sentences.labels]
    arcs = features(parses, blocks.offsets)[counted], (parses.heads == heads)[counted]
    tags = tag_features(parses, model.vocabulary.is_known(blocks.words)), parses.tags == sentences.tags
    return [arcs] if given_tags else [arcs, tags]


def _runs(sentences: Sequence[Sequence[np.ndarray]], longest: int) -> Iterator[slice]:
    """Runs of consecutive lists of sentences, of about so many tokens each, of one list at least."""
    ends = np.cumsum([sum(rows.shape[1] for rows in each) for each in sentences])
    for _, run in groupby(range(len(ends)), key=lambda i: (ends[i] - 1) // max(1, longest)):
        places = list(run)
        yield slice(places[0], places[-1] + 1)


# Easy-first parsers


def is_cross_fitted(progress: ParserProgress) -> bool:
    """Whether a treebank is too small for a part of it to be held out."""
    return progress.sentences < _CROSS_FITTED_BELOW and not progress.held_out


def is_held_out(progress: ParserProgress, key: bytes) -> bool:
    """Whether nothing but confidence is learned from a sentence."""
    if is_cross_fitted(progress):
        return False
    every = max(_LEAST_PARTS, progress.sentences // _HELD_OUT)
    return int.from_bytes(key[:4], "big") % every == 0


def learn_from_held_out(parser: TreeModel, learning: Learning, *, threads: int) -> None:
    """Let a parser learn how sure to be of arcs from the sentences that nothing else is learned from."""
    held_out = parser.progress.held_out
    if held_out:
        lessons = joined([held_out[key] for key in sorted(held_out)])
        (parser.confidence,) = cross_fit(
            [[_observe_trees(parser, lessons, learning, threads)]], [UNLEARNED_TREES]
        )


def learn_from_all(
    parser: TreeModel, lessons: Mapping[bytes, Lessons], learning: Learning, *, seed: int, threads: int
) -> None:
    """Let a parser learn how sure to be of arcs from all sentences, each of which another one finds that has
    learned from others.

    lessons (Mapping[bytes, Lessons]): The sentences, by what identifies them.
    """
    folds = deal_out(list(lessons), _FOLDS)

    def observe(fold: int) -> list[Observed]:
        own = folds[fold]
        others = [key for key in lessons if key not in own]
        other, rng = parser.untrained(), np.random.default_rng([seed, fold, 6])
        other.initialize(parser.vocabulary, parser.labels)
        for passes in range(_FOLD_PASSES):
            order = [lessons[others[i]] for i in rng.permutation(len(others))]
            other.learn(joined(order), learning._replace(explore=passes > 0, dropout=0.0), rng)
        return [_observe_trees(other, joined([lessons[key] for key in own]), learning, 1)]

    with ThreadPoolExecutor(threads) as executor:
        found = list(
            executor.map(observe, [fold for fold, own in enumerate(folds) if 0 < len(own) < len(lessons)])
        )
    if found:
        (parser.confidence,) = cross_fit(found, [UNLEARNED_TREES])


def _observe_trees(parser: TreeModel, lessons: Lessons, learning: Learning, threads: int) -> Observed:
    """What a parser finds in sentences: arcs without punctuation."""
    sentences = SentencesToParse(*lessons[:5], lessons.offsets)
    trees = parser.parse(sentences, width=learning.width, threads=threads)
    observed = confidence_features(trees, sentences.offsets, guided=parser.is_guided)
    counted = is_counted([*parser.labels, ""])[lessons.gold_labels]
    return observed[counted], (trees.heads == lessons.gold_heads)[counted]
