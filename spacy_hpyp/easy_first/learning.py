"""Learning to parse (Algorithm 2 of Ma et al. 2013).

An action is correct if it attaches a child with all of its children to its gold head. A tree has
many sequences of correct actions. All updates are *valid* (Huang, Fayong & Guo 2012): they reward a
correct sequence and penalise a wrong one with a score at least as high.

* `learning = "early"`, Algorithm 2: update at the first step without a correct sequence in the
  beam, towards the best correct extension of the previous step; or at the end, if the best sequence
  is wrong.
* `learning = "max-violation"`: a second beam holds correct sequences only. Update at the step with
  the largest lead of the first beam over the second.
* Greedy search updates at every wrong action, towards the best correct one. From the second pass
  on, it then takes the wrong action, so that it learns in the states that it will reach. There, an
  action is correct if it loses the fewest reachable gold arcs (Goldberg & Nivre 2013).
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, jitable, overwrite, struct
from .arcs import SYMBOLS, WINDOW, L, Scorer, find_arc_features, sentence_of
from .labels import learn_labels, new_workbench
from .parsing import (
    BEFORE,
    FROM,
    MARGIN,
    WHAT,
    append_words,
    begin,
    begin_beam,
    find_best,
    follow,
    head_and_child,
    is_correct,
    new_states,
    record_action,
    score_pairs,
    sharing,
)
from .partial_trees import HEAD
from .perceptron import Perceptron, change_kept, tick

_WORD, _LOWER = SYMBOLS.index("word"), SYMBOLS.index("lower")
_NOTHING = -np.inf
#: Indices of the counts of updates: before and at the end of a sentence, and of labels.
EARLY, FULL, LABELS = range(3)


class Learning(NamedTuple):
    """Settings of an update."""

    width: int  # The number of states in the beam
    explore: bool = False  # Whether greedy search takes wrong actions
    dropout: float = 0.0  # The fraction of templates left out of each sentence
    margin: float = 20.0  # Added to the score of a sequence for each wrong arc
    label_margin: float = 10.0  # The margin between the scores of labels
    early: bool = False  # Whether a beam learns by Algorithm 2


@struct
class Report(NamedTuple):
    """The outcome of learning."""

    counts: np.ndarray  # int64[3]: the number of updates of each kind
    # The smallest score of a predicted sequence minus that of the correct one; not negative if all
    # updates are valid.
    violation: np.ndarray  # float64[1]


@struct
class Lessons(NamedTuple):
    """Annotated sentences, one after the other."""

    # See `SentenceToParse`.
    symbols: np.ndarray  # int32[words, columns]
    heads: np.ndarray  # int32[words, k]
    probability: np.ndarray  # float32[words, k]
    labels: np.ndarray  # int32[words, k]
    expected: np.ndarray  # float32[words, 2]
    # Positions in the sentence, `NONE` for the root; and labels.
    gold_heads: np.ndarray  # int32[words]
    gold_labels: np.ndarray  # int32[words]
    rarity: np.ndarray  # float32[words]: the probability of replacing each word by an unknown one
    offsets: np.ndarray  # int64[sentences + 1]: the start of each sentence


@jitable
def mark_correct(states, half, count, heads, children):
    """Mark the correct extensions among the chosen ones. Return whether there are any."""
    records, any_correct = states.forest.records, False
    for new in range(count):
        state, place, action = states.chosen[new, 0], states.chosen[new, 1], states.chosen[new, 2]
        head, child = head_and_child(states.trees[half, state], place, action)
        correct = states.correct[half, state] and is_correct(records, heads, children, head, child)
        states.correct[1 - half, new] = correct
        any_correct |= correct
    return any_correct


@jitable
def reward_one(perceptron, scorer, sentence, states, window, action, amount):
    """Add to the weights of the features of an action."""
    find_arc_features(scorer, states.forest.records, sentence, window, states.row, states.places[0])
    change_kept(perceptron, states.places[0], scorer.kept, action, amount)


@jitable
def reward(perceptron, scorer, sentence, states, last, amount):
    """Add to the weights of the features of a sequence, given its last action."""
    while last != 0:
        action = states.actions[last]
        reward_one(perceptron, scorer, sentence, states, action[FROM:WHAT], action[WHAT], amount)
        last = action[BEFORE]


@jitable
def update(perceptron, scorer, sentence, right, correct, wrong, predicted, kind, report):
    """Reward a correct sequence and penalise a predicted one, given their last actions."""
    report.counts[kind] += 1
    report.violation[0] = min(
        report.violation[0], wrong.reached[predicted] - right.reached[correct]
    )
    reward(perceptron, scorer, sentence, right, correct, np.float32(1.0))
    reward(perceptron, scorer, sentence, wrong, predicted, np.float32(-1.0))


@jitable
def best_chosen(states, half):
    """Record the best of the chosen extensions. Return its number."""
    state, place, action = states.chosen[0, 0], states.chosen[0, 1], states.chosen[0, 2]
    return record_action(states, half, state, place, action, states.chosen_total[0])


@jitable
def learn_early(perceptron, scorer, sentence, heads, children, learning, states, report):
    """Learn from one sentence by Algorithm 2."""
    n = len(heads)
    begin(states, n)
    append_words(scorer, sentence, states, 0, 0, 0, 0, n)
    half, size, correct = 0, 1, 0
    for length in range(n, 1, -1):
        find_best(states, half, size, length, 1, heads, 0.0, children)
        correct = best_chosen(states, half)
        size = find_best(states, half, size, length, learning.width, heads, learning.margin, None)
        if not mark_correct(states, half, size, heads, children):
            predicted = best_chosen(states, half)
            update(perceptron, scorer, sentence, states, correct, states, predicted, EARLY, report)
            return
        follow(scorer, sentence, states, half, length, size)
        half = 1 - half
    if not states.correct[half, 0]:
        predicted = states.last[half, 0]
        update(perceptron, scorer, sentence, states, correct, states, predicted, FULL, report)


@jitable
def learn_max_violation(
    perceptron, scorer, sentence, heads, children, learning, states, oracle, report
):
    """Learn from one sentence by max-violation; `oracle` is the beam of correct sequences."""
    n = len(heads)
    begin(states, n)
    append_words(scorer, sentence, states, 0, 0, 0, 0, n)
    begin_beam(oracle)
    append_words(scorer, sentence, oracle, 0, 0, 0, 0, n)
    half, size, width = 0, 1, 1
    predicted, correct, violation, at = 0, 0, _NOTHING, 0
    for length in range(n, 1, -1):
        size = find_best(states, half, size, length, learning.width, heads, learning.margin, None)
        mark_correct(states, half, size, heads, children)
        follow(scorer, sentence, states, half, length, size)
        width = find_best(oracle, half, width, length, len(oracle.chosen), heads, 0.0, children)
        follow(scorer, sentence, oracle, half, length, width)
        oracle.correct[1 - half, :width] = True
        half = 1 - half
        difference = states.total[half, 0] - oracle.total[half, 0]
        if difference > violation and not states.correct[half, 0]:
            violation, at = difference, length
            predicted, correct = states.last[half, 0], oracle.last[half, 0]
    if violation >= 0.0 and not states.correct[half, 0]:
        kind = FULL if at == 2 else EARLY
        update(perceptron, scorer, sentence, oracle, correct, states, predicted, kind, report)


@jit
def cost_of(heads, waiting, is_left, head, child):
    """Return the number of gold arcs that an arc makes unreachable.

    waiting (int32[n]): The number of gold children of each word that are still to be attached.
    is_left (bool[n]): Whether each word is still to be attached.
    """
    gold = heads[child]
    return waiting[child] + (gold != head and (gold == NONE or is_left[gold]))


@jitable
def learn_greedily(perceptron, scorer, sentence, heads, waiting, is_left, learning, states, report):
    """Learn from every action of greedy search; see `cost_of` for `waiting` and `is_left`."""
    n = len(heads)
    records = states.forest.records
    is_left[:n] = True
    begin(states, n)
    append_words(scorer, sentence, states, 0, 0, 0, 0, n)
    half = 0
    for length in range(n, 1, -1):
        trees, scores = states.trees[half, 0], states.scores[half, 0]
        least = n + 1
        for place in range(MARGIN, MARGIN + length - 1):
            for action in range(2):
                head, child = head_and_child(trees, place, action)
                least = min(
                    least,
                    cost_of(heads, waiting, is_left, records[head, HEAD], records[child, HEAD]),
                )
        right_place, right_action, right_score = 0, 0, _NOTHING
        place_taken, action_taken, score_taken, is_right = 0, 0, _NOTHING, True
        for place in range(MARGIN, MARGIN + length - 1):
            for action in range(2):
                head, child = head_and_child(trees, place, action)
                right = (
                    cost_of(heads, waiting, is_left, records[head, HEAD], records[child, HEAD])
                    == least
                )
                score = np.float64(scores[place, action])
                if right and score > right_score:
                    right_place, right_action, right_score = place, action, score
                if not right:
                    score += learning.margin
                if score > score_taken:
                    place_taken, action_taken, score_taken, is_right = place, action, score, right
        if not is_right:
            tick(perceptron)
            report.counts[EARLY if length > 2 else FULL] += 1
            report.violation[0] = min(report.violation[0], score_taken - right_score)
            right_window = trees[right_place - L : right_place - L + WINDOW]
            taken_window = trees[place_taken - L : place_taken - L + WINDOW]
            reward_one(
                perceptron, scorer, sentence, states, right_window, right_action, np.float32(1.0)
            )
            reward_one(
                perceptron, scorer, sentence, states, taken_window, action_taken, np.float32(-1.0)
            )
            # Apply the new weights to all pairs.
            score_pairs(scorer, sentence, states, half, 0, MARGIN, MARGIN + length - 1)
            if not learning.explore:
                place_taken, action_taken = right_place, right_action
        head, child = head_and_child(trees, place_taken, action_taken)
        position = records[child, HEAD]
        is_left[position] = False
        if heads[position] != NONE:
            waiting[heads[position]] -= 1
        states.chosen[0, 0], states.chosen[0, 1], states.chosen[0, 2] = 0, place_taken, action_taken
        states.chosen_total[0] = states.total[half, 0] + scores[place_taken, action_taken]
        states.chosen_mark[0] = 0
        follow(scorer, sentence, states, half, length, 1)
        half = 1 - half


@jit
def _draw(lessons, dropout, rng, kept_arcs, kept_labels):
    """Draw the words to replace, and the templates to keep (bool[sentences, templates])."""
    for i in range(len(lessons.offsets) - 1):
        start, end = lessons.offsets[i], lessons.offsets[i + 1]
        if end - start < 2:
            continue
        for word in range(start, end):
            if lessons.rarity[word] > 0.0 and rng.random() < lessons.rarity[word]:
                lessons.symbols[word, _WORD], lessons.symbols[word, _LOWER] = 0, 0
        for kept in (kept_arcs[i], kept_labels[i]):
            for template in range(len(kept)):
                kept[template] = dropout == 0.0 or rng.random() >= dropout


@jit
def _learn_arcs(perceptron, scorer, lessons, kept, learning, report, states, oracle):
    children = np.empty(len(states.forest.records), dtype=np.int32)
    is_left = np.empty(len(children), dtype=np.bool_)
    for i in range(len(lessons.offsets) - 1):
        start, end = lessons.offsets[i], lessons.offsets[i + 1]
        if end - start < 2:
            continue
        sentence = sentence_of(lessons, lessons.symbols[start:end], start, end)
        heads = lessons.gold_heads[start:end]
        children[: end - start] = 0
        for head in heads:
            if head != NONE:
                children[head] += 1
        overwrite(scorer.kept, kept[i])
        tick(perceptron)
        if learning.width == 1:
            learn_greedily(
                perceptron, scorer, sentence, heads, children, is_left, learning, states, report
            )
        elif learning.early:
            learn_early(perceptron, scorer, sentence, heads, children, learning, states, report)
        else:
            learn_max_violation(
                perceptron, scorer, sentence, heads, children, learning, states, oracle, report
            )


@jit
def _learn_labels(perceptron, scorer, lessons, kept, margin, report, workbench):
    for i in range(len(lessons.offsets) - 1):
        start, end = lessons.offsets[i], lessons.offsets[i + 1]
        if end - start < 2:
            continue
        sentence = sentence_of(lessons, lessons.symbols[start:end], start, end)
        heads, labels = lessons.gold_heads[start:end], lessons.gold_labels[start:end]
        overwrite(scorer.kept, kept[i])
        report.counts[LABELS] += learn_labels(
            perceptron, scorer, sentence, heads, labels, margin, workbench
        )


def learn_parsing(
    on_arcs: tuple[Perceptron, Scorer],
    on_labels: tuple[Perceptron, Scorer],
    lessons: Lessons,
    learning: Learning,
    rng: np.random.Generator,
    threads: int = 1,
) -> Report:
    """Learn from sentences, one after the other. Labels are learned on gold trees.

    on_arcs, on_labels (tuple[Perceptron, Scorer]): The perceptrons to update, and their scorers.
    threads (int): With two, arcs and labels are learned in parallel; the result is the same.
    """
    report = Report(np.zeros(3, dtype=np.int64), np.full(1, np.inf))
    longest = int(np.diff(lessons.offsets).max(initial=1))
    lessons = lessons._replace(symbols=lessons.symbols.copy())
    kept = [
        np.empty((len(lessons.offsets) - 1, len(scorer.kept)), dtype=bool)
        for _, scorer in (on_arcs, on_labels)
    ]
    _draw(lessons, learning.dropout, rng, *kept)
    states, oracle = (new_states(on_arcs[1], longest, learning.width, beams) for beams in (2, 1))
    beams, workbench = (states, sharing(states, oracle)), new_workbench(on_labels[1], longest)
    with ThreadPoolExecutor(min(threads, 2)) as executor:
        arcs = executor.submit(_learn_arcs, *on_arcs, lessons, kept[0], learning, report, *beams)
        labels = executor.submit(
            _learn_labels, *on_labels, lessons, kept[1], learning.label_margin, report, workbench
        )
        arcs.result()
        labels.result()
    return report
