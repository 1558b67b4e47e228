"""Learning to parse (Algorithm 2 of Ma et al. 2013).

An action is correct if it attaches a child with all of its children to its gold head. A tree has
many sequences of correct actions. All updates are *valid* (Huang, Fayong & Guo 2012): they reward a
correct sequence and penalise a wrong one whose score with the margin is at least as high.

* `learning = "early"`, Algorithm 2: update at the first step without a correct sequence in the
  beam, towards the best correct extension of the previous step; or at the end, if the best sequence
  is wrong.
* `learning = "max-violation"`: a second beam holds correct sequences only. If the best sequence is
  wrong at the end, update at the step with the largest lead of the first beam over the second.
* Greedy search updates at every wrong action, towards the best correct one. From the second pass
  on, it then takes the wrong action, so that it learns in the states that it will reach. There, an
  action is correct if it loses no reachable gold arc (Goldberg & Nivre 2013). Every state has one,
  because gold trees are projective and have one root.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, jitable, overwrite, struct
from . import parsing
from .arcs import SYMBOLS, WINDOW, L, Scorer, find_weights, sentence_of
from .labels import learn_labels
from .parsing import BEFORE, FROM, MARGIN, WHAT, head_and_child, is_correct, new_states
from .partial_trees import HEAD
from .perceptron import Weights, change_kept, tick

_WORD, _LOWER = SYMBOLS.index("word"), SYMBOLS.index("lower")
#: Indices of counts: updates before and at the end of a sentence, and wrongly predicted labels.
EARLY, FULL, LABELS = range(3)


class Learning(NamedTuple):
    """Settings of an update."""

    width: int  # The number of states in the beam
    explore: bool = False  # Whether greedy search takes wrong actions
    dropout: float = 0.0  # The probability of leaving a template out of a sentence
    margin: float = 20.0  # Added to the score of a sequence for each wrong arc
    label_margin: float = 10.0  # The margin between the scores of labels
    early: bool = False  # Whether a beam learns by Algorithm 2, or by max-violation


@struct
class Lessons(NamedTuple):
    """Annotated sentences, one after the other."""

    # See `SentenceToParse`.
    symbols: np.ndarray  # int32[words, columns]
    heads: np.ndarray  # int32[words, k]
    probability: np.ndarray  # float32[words, k]
    labels: np.ndarray  # int32[words, k]
    expected: np.ndarray  # float32[words, 2]
    # Projective trees: positions in the sentence, `NONE` for the root; and labels.
    gold_heads: np.ndarray  # int32[words]
    gold_labels: np.ndarray  # int32[words]
    rarity: np.ndarray  # float32[words]: the probability of replacing each word by an unknown one
    offsets: np.ndarray  # int64[sentences + 1]: the start of each sentence


@jitable
def _mark_correct(states, half, count, heads, children):
    """Mark the correct extensions among the chosen ones. Return whether there are any."""
    any_correct = False
    for i in range(count):
        state, place, action = states.chosen[i]
        head, child = head_and_child(states.trees[state], place, action)
        correct = is_correct(states.forest.records, heads, children, head, child)
        states.correct[(1 - half) * states.width + i] = correct and states.correct[state]
        any_correct |= correct and states.correct[state]
    return any_correct


@jitable
def _reward_action(weights, scorer, sentence, states, window, action, amount):
    """Add to the weights of the features of an action."""
    places, records, row = states.places[0], states.forest.records, states.row
    find_weights(scorer.whole, scorer.weights, records, sentence, window, row, places)
    change_kept(weights, places, scorer.kept, action, np.float32(amount))


@jitable
def _reward(weights, scorer, sentence, states, last, amount):
    """Add to the weights of the features of a sequence, given its last action."""
    while last != 0:
        action = states.actions[last]
        window = action[FROM:WHAT]
        _reward_action(weights, scorer, sentence, states, window, action[WHAT], amount)
        last = action[BEFORE]


@jitable
def _learn_early(weights, scorer, sentence, heads, children, learning, states, counts):
    """Learn from one sentence by Algorithm 2."""
    half, size, correct, margin = 0, 1, np.int32(0), learning.margin
    for length in range(len(heads), 1, -1):
        parsing.find_best(states, half, size, length, 1, heads, 0.0, children)
        correct = parsing.record_action(states, states.chosen[0])
        size = parsing.find_best(states, half, size, length, states.width, heads, margin, None)
        if not _mark_correct(states, half, size, heads, children):
            counts[EARLY] += 1
            predicted = parsing.record_action(states, states.chosen[0])
            break
        half = parsing.follow(scorer, sentence, states, half, length, size)
        predicted = states.last[half * states.width]
    else:
        if states.correct[half * states.width]:
            return
        counts[FULL] += 1
    _reward(weights, scorer, sentence, states, correct, 1.0)
    _reward(weights, scorer, sentence, states, predicted, -1.0)


@jitable
def _learn_max_violation(
    weights, scorer, sentence, heads, children, learning, states, oracle, counts
):
    """Learn from one sentence by max-violation; `oracle` is the beam of correct sequences."""
    half, first, size, width, margin = 0, 0, 1, 1, learning.margin
    predicted, correct, violation, at = 0, 0, -np.inf, 0
    for length in range(len(heads), 1, -1):
        size = parsing.find_best(states, half, size, length, states.width, heads, margin, None)
        _mark_correct(states, half, size, heads, children)
        parsing.follow(scorer, sentence, states, half, length, size)
        width = parsing.find_best(oracle, half, width, length, oracle.width, heads, 0.0, children)
        half = parsing.follow(scorer, sentence, oracle, half, length, width)
        first = half * states.width
        oracle.correct[first : first + width] = True
        difference = states.total[first] - oracle.total[first]
        if difference > violation and not states.correct[first]:
            violation, at = difference, length
            predicted, correct = states.last[first], oracle.last[first]
    if violation >= 0.0 and not states.correct[first]:
        counts[FULL if at == 2 else EARLY] += 1
        _reward(weights, scorer, sentence, oracle, correct, 1.0)
        _reward(weights, scorer, sentence, states, predicted, -1.0)


@jitable
def cost_of(heads, waiting, is_left, head, child):
    """Return the number of gold arcs that an arc makes unreachable.

    waiting (int32[n]): The number of gold children of each word that are still to be attached.
    is_left (bool[n]): Whether each word is still to be attached.
    """
    gold = heads[child]
    return waiting[child] + (gold != head and (gold == NONE or is_left[gold]))


@jitable
def _learn_greedily(weights, scorer, sentence, heads, waiting, learning, states, counts):
    """Learn from every action of greedy search; see `cost_of` for `waiting`."""
    records, half = states.forest.records, 0
    is_left = np.ones(len(heads), dtype=np.bool_)
    for length in range(len(heads), 1, -1):
        trees, scores = states.trees[half], states.scores[half]
        right, right_score, taken, taken_score = (0, 0), -np.inf, (0, 0), -np.inf
        for place in range(MARGIN, MARGIN + length - 1):
            for action in range(2):
                head, child = head_and_child(trees, place, action)
                head, child = records[head, HEAD], records[child, HEAD]
                score = np.float64(scores[place, action])
                if cost_of(heads, waiting, is_left, head, child) > 0:
                    score += learning.margin
                elif score > right_score:
                    right, right_score = (place, action), score
                if score > taken_score:
                    taken, taken_score = (place, action), score
        if taken != right:
            tick(weights)
            counts[EARLY if length > 2 else FULL] += 1
            for (place, action), amount in ((right, 1.0), (taken, -1.0)):
                window = trees[place - L : place - L + WINDOW]
                _reward_action(weights, scorer, sentence, states, window, action, amount)
            # Apply the new weights to all pairs.
            parsing.score_pairs(scorer, sentence, states, half, MARGIN, MARGIN + length - 1)
            if not learning.explore:
                taken = right
        place, action = taken
        position = records[head_and_child(trees, place, action)[1], HEAD]
        is_left[position] = False
        if heads[position] != NONE:
            waiting[heads[position]] -= 1
        states.chosen[0, 0], states.chosen[0, 1], states.chosen[0, 2] = half, place, action
        states.chosen_total[0] = states.total[half] + scores[taken]
        states.chosen_mark[0] = 0
        half = parsing.follow(scorer, sentence, states, half, length, 1)


@jit
def _learn_arcs(weights, scorer, lessons, kept, learning, counts, states, oracle):
    for i in range(len(lessons.offsets) - 1):
        sentence = sentence_of(lessons, i)
        heads = lessons.gold_heads[lessons.offsets[i] : lessons.offsets[i + 1]]
        n = len(heads)
        if n < 2:
            continue
        children = np.zeros(n, dtype=np.int32)
        for head in heads:
            if head != NONE:
                children[head] += 1
        overwrite(scorer.kept, kept[i])
        parsing.begin(states, n)
        parsing.append_words(scorer, sentence, states, 0, 0, 0, n)
        tick(weights)
        if learning.width == 1:
            _learn_greedily(weights, scorer, sentence, heads, children, learning, states, counts)
        elif learning.early:
            _learn_early(weights, scorer, sentence, heads, children, learning, states, counts)
        else:
            parsing.begin_beam(oracle)
            parsing.append_words(scorer, sentence, oracle, 0, 0, 0, n)
            _learn_max_violation(
                weights, scorer, sentence, heads, children, learning, states, oracle, counts
            )


@jit
def _learn_labels(weights, scorer, lessons, kept, margin, counts):
    for i in range(len(lessons.offsets) - 1):
        start, end = lessons.offsets[i], lessons.offsets[i + 1]
        if end - start > 1:
            sentence = sentence_of(lessons, i)
            heads, labels = lessons.gold_heads[start:end], lessons.gold_labels[start:end]
            overwrite(scorer.kept, kept[i])
            counts[LABELS] += learn_labels(weights, scorer, sentence, heads, labels, margin)


def learn_parsing(
    on_arcs: tuple[Weights, Scorer],
    on_labels: tuple[Weights, Scorer],
    lessons: Lessons,
    learning: Learning,
    rng: np.random.Generator,
    threads: int = 1,
) -> np.ndarray:
    """Learn from sentences of two or more words in turn; labels are learned on gold trees.

    on_arcs, on_labels (tuple[Weights, Scorer]): The weights to update, and their scorers.
    threads (int): With two, arcs and labels are learned in parallel; the result is the same.
    RETURNS (int64[3]): The numbers of early and of full updates of arcs, and of label errors.
    """
    counts, symbols = np.zeros(3, dtype=np.int64), lessons.symbols.copy()
    kept_arcs, kept_labels = (
        np.ones((len(lessons.offsets) - 1, len(scorer.kept)), dtype=bool)
        for _, scorer in (on_arcs, on_labels)
    )
    # Draw the words to replace, and the templates to keep.
    for i, (start, end) in enumerate(zip(lessons.offsets, lessons.offsets[1:])):
        if end - start > 1:
            words = start + np.flatnonzero(lessons.rarity[start:end] > 0.0)
            words = words[rng.random(len(words)) < lessons.rarity[words]]
            symbols[words, _WORD] = symbols[words, _LOWER] = 0
            for kept in (kept_arcs, kept_labels) if learning.dropout > 0.0 else ():
                kept[i] = rng.random(kept.shape[1]) >= learning.dropout
    lessons = lessons._replace(symbols=symbols)
    longest = int(np.diff(lessons.offsets).max(initial=1))
    states, oracle = (new_states(on_arcs[1], longest, learning.width, beams) for beams in (2, 1))
    # The second beam has the forest and the caches of the first.
    shared = ("forest", "windows", "window_scores", "pairs", "pair_sums")
    beams = states, oracle._replace(**{name: getattr(states, name) for name in shared})
    with ThreadPoolExecutor(min(threads, 2)) as executor:
        arcs = executor.submit(_learn_arcs, *on_arcs, lessons, kept_arcs, learning, counts, *beams)
        margin = learning.label_margin
        labels = executor.submit(_learn_labels, *on_labels, lessons, kept_labels, margin, counts)
        arcs.result()
        labels.result()
    return counts
