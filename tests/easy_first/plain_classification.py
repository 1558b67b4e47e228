"""Easy-first classification without optimizations: every score is summed from scratch."""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from spacy_hpyp.compiled import NONE
from spacy_hpyp.easy_first.classification import Possible, Sequences
from spacy_hpyp.easy_first.perceptron import place_of, read_symbol, shift_for
from spacy_hpyp.easy_first.words import TAGS, compile_reading

#: The symbol beyond the first and last word of a sequence.
BOUNDARY = -2
TEMPLATES = [
    ["word"],
    ["suffix1", "next.word"],
    ["prev3.word"],
    ["prev.tag"],
    ["next.tag"],
    ["prev.tag", "word", "next.tag"],
    ["next.tag", "next2.tag"],
    ["prev3.tag", "prev.word"],
]


@dataclass
class Task:
    """Random sequences with random weights."""

    attributes: list
    reading: tuple
    sequences: Sequences
    possible: Possible
    weights: np.ndarray
    gold: np.ndarray


def random_task(
    seed, lengths, *, kinds=4, outcomes=5, parts=3, places=1 << 10, templates=TEMPLATES
):
    """Words of a few symbols and kinds; words of the first kind have one outcome only. Outcomes
    share some parts.
    """
    rng = np.random.default_rng(seed)
    attributes, reading = compile_reading(templates, TAGS)
    words = sum(lengths)
    kind = rng.integers(kinds, size=words).astype(np.int32)
    sizes = [1, *rng.integers(2, outcomes + 1, size=kinds - 1).tolist()]
    chosen = [rng.choice(outcomes, size, replace=False).astype(np.int32) for size in sizes]
    return Task(
        attributes,
        reading,
        Sequences(
            symbols=rng.integers(3, size=(words, len(attributes))).astype(np.int32),
            kind=kind,
            given=np.full(words, NONE, dtype=np.int32),
            offsets=np.cumsum([0, *lengths]).astype(np.int64),
        ),
        Possible(
            np.cumsum([0, *sizes]).astype(np.int64),
            np.concatenate(chosen),
            *_parts(rng, outcomes, parts),
        ),
        rng.normal(size=(places, 1)).astype(np.float32),
        np.array([rng.choice(chosen[each]) for each in kind], dtype=np.int32),
    )


def only(task, sequence):
    """The task with one of its sequences."""
    start, end = task.sequences.offsets[sequence : sequence + 2]
    columns = (column[start:end] for column in task.sequences[:3])
    sequences = Sequences(*columns, offsets=np.array([0, end - start], dtype=np.int64))
    return replace(task, sequences=sequences, gold=task.gold[start:end])


def _parts(rng, outcomes, parts):
    """Make every outcome of itself and some of the other parts."""
    found = [
        np.append(outcome, outcomes + np.flatnonzero(rng.random(parts) < 0.5))
        for outcome in range(outcomes)
    ]
    return np.cumsum([0, *map(len, found)]).astype(np.int64), np.concatenate(found).astype(np.int32)


def features(task, sequence, word, decided):
    """The places of a word's existing features.

    decided (list[int]): The outcomes of the sequence's words, `NONE` for undecided words.
    """
    start, end = task.sequences.offsets[sequence : sequence + 2].tolist()
    templates = task.reading.templates
    found = []
    for template in range(len(task.reading.fixed)):
        code = templates.seeds[template]
        first, last = templates.offsets[template : template + 2]
        for column in templates.columns[first:last]:
            at = start + word + int(task.reading.distance[column])
            attribute = task.reading.attribute[column]
            if not start <= at < end:
                symbol = BOUNDARY
            elif attribute == NONE:
                symbol = decided[at - start]
            else:
                symbol = task.sequences.symbols[at, attribute]
            if attribute == NONE and symbol == NONE:
                break
            # Compiled functions return numbers to Python without their type.
            code = np.uint64(read_symbol(code, np.int32(symbol)))
        else:
            found.append(place_of(code, np.uint64(shift_for(len(task.weights)))))
    return found


def possible_outcomes(task, sequence, word):
    kind = task.sequences.kind[task.sequences.offsets[sequence] + word]
    first, last = task.possible.offsets[kind : kind + 2]
    return task.possible.outcomes[first:last].tolist()


def scores(task, sequence, word, decided):
    """The score of each possible outcome of a word."""
    places, weights = features(task, sequence, word, decided), task.weights[:, 0].astype(float)
    _, _, offsets, parts = task.possible
    return {
        outcome: sum(
            weights[(place + part) % len(weights)]
            for place in places
            for part in parts[offsets[outcome] : offsets[outcome + 1]]
        )
        for outcome in possible_outcomes(task, sequence, word)
    }


def easiest(task, sequence, decided, words):
    """The word with the best outcome furthest ahead, and the scores of its outcomes."""

    def lead(word):
        found = sorted(scores(task, sequence, word, decided).values())
        return found[-1] - found[-2] if len(found) > 1 else np.inf

    word = max((word for word in words if decided[word] == NONE), key=lead)
    return word, scores(task, sequence, word, decided)


def extensions(task, sequence, decided, words):
    """The states after one more action, each with its score."""
    word, found = easiest(task, sequence, decided, words)
    for outcome, score in found.items():
        yield [*decided[:word], outcome, *decided[word + 1 :]], score


def search(task, sequence, beam, window):
    """Find the outcomes of a sequence by Algorithm 1."""
    start, end = task.sequences.offsets[sequence : sequence + 2].tolist()
    decided = task.sequences.given[start:end].tolist()
    for first in range(0, end - start, window):
        words = range(first, min(first + window, end - start))
        states = [(decided, 0.0)]
        for _ in range(sum(decided[word] == NONE for word in words)):
            found = [
                (state, total + score)
                for before, total in states
                for state, score in extensions(task, sequence, before, words)
            ]
            states = sorted(found, key=lambda each: -each[1])[:beam]
        decided = states[0][0]
    return decided


def enumerate_all(task, sequence):
    """The best joint assignment of outcomes to a sequence, each scored in easy-first order."""
    start, end = task.sequences.offsets[sequence : sequence + 2].tolist()
    words = range(end - start)
    best, best_score = None, -np.inf
    for outcomes in itertools.product(*(possible_outcomes(task, sequence, word) for word in words)):
        decided, total = [NONE] * (end - start), 0.0
        while NONE in decided:
            word, found = easiest(task, sequence, decided, words)
            total += found[outcomes[word]]
            decided[word] = outcomes[word]
        if total > best_score:
            best, best_score = list(outcomes), total
    return best
