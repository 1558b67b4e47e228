"""Easy-first parsing with beam search: Algorithm 1 of Ma et al. (2013).

A state is a list of partial trees, initially the words. An action joins two neighbours: the right
one becomes the head (`LEFT_ARC`) or the left one (`RIGHT_ARC`). After n - 1 actions one tree is
left. The score of a state is the sum of the scores of its actions.

An action changes the scores of the few pairs with the new tree in their windows. A beam caches them
by window, because most states of a beam agree in most places. States with the same arcs are merged.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, jitable, overwrite, struct
from ..memo import recall
from . import arcs, partial_trees
from .arcs import PAIR_KEY, WINDOW, L, Scorer, guide_of, sentence_of
from .labels import label_tree
from .partial_trees import HEAD, LEFT_ARC, LEFT_COUNT, RIGHT_COUNT, Forest, mark_of_arc

# The most partial trees in a list in prediction, so that time is linear in a sentence's length.
AHEAD = 512
# The number of empty trees (record 0) at each end of a list, for the windows there.
MARGIN = 3
#: Columns of a recorded action: the previous action, the window, and the kind of action.
BEFORE, FROM, WHAT = 0, 1, 1 + WINDOW
#: The scale of scores.
SCALE = 20.0
# The sizes of the caches of windows and of pairs.
_WINDOWS, _PAIRS = 1 << 12, 1 << 10


@struct
class States(NamedTuple):
    """The states of a beam, and workspace. A step reads one half of them and writes the other."""

    forest: Forest
    width: int  # The size of the beam
    # For each state: the list of trees, from `MARGIN` on; the scores of both actions on each tree
    # and its right neighbour; the score of the state; a hash of its arcs; the last action, or 0;
    # whether all actions are correct, in training.
    trees: np.ndarray  # int32[2 * width, *]
    scores: np.ndarray  # float32[2 * width, *, 2]
    total: np.ndarray  # float64[2 * width]
    mark: np.ndarray  # uint64[2 * width]
    last: np.ndarray  # int32[2 * width]
    correct: np.ndarray  # bool[2 * width]
    actions: np.ndarray  # int32[*, 8]: all actions, see the module's constants
    # The score of each action minus the highest score of another action that joins its child.
    margin: np.ndarray  # float32[*]
    size: np.ndarray  # int64[1]: the number of actions
    # The best extensions (state, place in its list, action), their scores and marks.
    chosen: np.ndarray  # int64[width, 3]
    chosen_total: np.ndarray  # float64[width]
    chosen_mark: np.ndarray  # uint64[width]
    # The cache of the scores of both actions, by the fingerprint of a window.
    windows: np.ndarray  # uint64[*]
    window_scores: np.ndarray  # float32[*, 2]
    # The cache of the sums of weights for both actions, by the fingerprint of a pair.
    pairs: np.ndarray  # uint64[*]
    pair_sums: np.ndarray  # float32[*, 2]
    key: np.ndarray  # int32[*]: see `write_key`
    # The features of two pairs in turn.
    row: np.ndarray  # int32[elements]
    places: np.ndarray  # int64[2, templates]
    # For each state of the final beam: the head of each word, and the margin of its action.
    heads: np.ndarray  # int32[width, longest]
    margins: np.ndarray  # float32[width, longest]


def new_states(scorer: Scorer, longest: int, width: int, beams: int = 1) -> States:
    """Return the workspace for sentences of at most `longest` words; `beams` share its forest."""
    most = width * longest + longest + 2
    padded, rows = longest + 2 * MARGIN, 2 * width
    windows, pairs = (_WINDOWS, _PAIRS) if width > 1 else (1, 1)
    return States(
        forest=partial_trees.new_forest(beams * most),
        width=width,
        trees=np.zeros((rows, padded), dtype=np.int32),
        scores=np.zeros((rows, padded, 2), dtype=np.float32),
        total=np.zeros(rows),
        mark=np.zeros(rows, dtype=np.uint64),
        last=np.zeros(rows, dtype=np.int32),
        correct=np.zeros(rows, dtype=np.bool_),
        actions=np.zeros((most, WHAT + 1), dtype=np.int32),
        margin=np.zeros(most, dtype=np.float32),
        size=np.zeros(1, dtype=np.int64),
        chosen=np.zeros((width, 3), dtype=np.int64),
        chosen_total=np.zeros(width),
        chosen_mark=np.zeros(width, dtype=np.uint64),
        windows=np.zeros(windows, dtype=np.uint64),
        window_scores=np.zeros((windows, 2), dtype=np.float32),
        pairs=np.zeros(pairs, dtype=np.uint64),
        pair_sums=np.empty((pairs, 2), dtype=np.float32),
        key=np.zeros(len(scorer.around) + PAIR_KEY, dtype=np.int32),
        row=np.zeros(len(scorer.whole.elements), dtype=np.int32),
        places=np.zeros((2, len(scorer.whole.templates.numbers)), dtype=np.int64),
        heads=np.zeros((width, longest), dtype=np.int32),
        margins=np.zeros((width, longest), dtype=np.float32),
    )


@jitable
def begin(states, n):
    """Begin a sentence of n words, with one state that has an empty list."""
    partial_trees.begin_forest(states.forest, n)
    states.windows[:] = 0
    states.pairs[:] = 0
    begin_beam(states)


@jitable
def begin_beam(states):
    """Begin a beam that shares the forest of another one."""
    states.size[0] = 1
    states.trees[0, :MARGIN] = 0
    states.total[0], states.mark[0], states.last[0], states.correct[0] = 0.0, 0, 0, True


@jitable
def append_words(scorer, sentence, states, state, length, first, end):
    """Append the words `first` to `end` - 1 to the list of a state, which has `length` trees."""
    trees = states.trees[state]
    for i in range(end - first):
        trees[MARGIN + length + i] = first + i + 1
    # The windows of the last pairs included the old end.
    begin, end = max(MARGIN, MARGIN + length - 3), MARGIN + length + end - first
    trees[end : end + MARGIN] = 0
    score_pairs(scorer, sentence, states, state, begin, end - 1)


@jitable
def score_pairs(scorer, sentence, states, state, first, end):
    """Score both actions on the trees at places `first` to `end` - 1 and their right neighbours."""
    records, row, weights = states.forest.records, states.row, scorer.weights
    # Prefetch the weights of a pair before adding up those of the previous pair (`waiting`).
    waiting, last_slot, last_pair, last_met, turn = np.int64(NONE), 0, 0, False, 0
    n = len(scorer.pair.templates.numbers)
    for place in range(first, end + 1):
        slot, pair, known, met, places = 0, 0, place == end, False, states.places[turn]
        window = states.trees[state, place - L : place - L + WINDOW]
        if place < end and len(states.windows) > 1:
            arcs.write_key(scorer.around, states.forest, window, states.key)
            slot, known = recall(states.windows, states.key)
            if known:
                overwrite(states.scores[state, place], states.window_scores[slot])
            else:
                pair, met = recall(states.pairs, states.key[-PAIR_KEY:])
        if not known:
            if not met:
                arcs.find_weights(scorer.pair, weights, records, sentence, window, row, places)
            arcs.find_weights(scorer.beyond, weights, records, sentence, window, row, places[n:])
        if waiting != NONE and (not known or place == end):
            scores, sums = states.scores[state, waiting], states.pair_sums[last_pair]
            places = states.places[1 - turn]
            if not last_met:
                sums[0], sums[1] = 0.0, 0.0
                arcs.add_up(scorer, scorer.pair, places, sums)
            overwrite(scores, sums)
            arcs.add_up(scorer, scorer.beyond, places[n:], scores)
            scores[0], scores[1] = scores[0] * scorer.step, scores[1] * scorer.step
            overwrite(states.window_scores[last_slot], scores)
        if not known:
            waiting, last_slot, last_pair = np.int64(place), slot, pair
            last_met, turn = met, 1 - turn


@jitable
def head_and_child(trees, place, action):
    """Return the records of the head and the child of an action."""
    if action == LEFT_ARC:
        return trees[place + 1], trees[place]
    return trees[place], trees[place + 1]


@jitable
def is_correct(records, heads, children, head, child):
    """Return whether a child (a record) has its number of `children` (int32[n]) and gold head."""
    position = records[child, HEAD]
    attached = records[child, LEFT_COUNT] + records[child, RIGHT_COUNT]
    return heads[position] == records[head, HEAD] and attached == children[position]


@jitable
def _choose(states, count, width, state, place, action, total, mark):
    """Insert an extension among the best, or merge it with an equal one. Return the new count."""
    chosen, totals, marks = states.chosen, states.chosen_total, states.chosen_mark
    i = 0
    while i < count and marks[i] != mark:
        i += 1
    if i < count and totals[i] >= total:
        return count
    if i == count:
        count = min(count + 1, width)
        i = count - 1
    while i > 0 and totals[i - 1] < total:
        totals[i], marks[i] = totals[i - 1], marks[i - 1]
        overwrite(chosen[i], chosen[i - 1])
        i -= 1
    totals[i], marks[i] = total, mark
    chosen[i, 0], chosen[i, 1], chosen[i, 2] = state, place, action
    return count


@jitable
def find_best(states, half, size, length, width, heads, margin, children):
    """Find a beam's best extensions (BEST in Algorithm 1) for `states.chosen`. Return their number.

    half, size (int): The half of the states, and the number of states.
    length (int): The number of partial trees in each state, at least 2.
    heads (int32[n]): The gold heads, needed only with a margin or children.
    margin (float): Added to the score of a wrong arc.
    children (int32[n] | None): The number of gold children of each word, to find only correct
        extensions of correct states (TOPC in Algorithm 2).
    """
    records = states.forest.records
    count = 0
    for state in range(half * states.width, half * states.width + size):
        if children is not None and not states.correct[state]:
            continue
        trees, scores = states.trees[state], states.scores[state]
        for place in range(MARGIN, MARGIN + length - 1):
            for action in range(2):
                total = states.total[state] + scores[place, action]
                head, child = head_and_child(trees, place, action)
                if children is not None and not is_correct(records, heads, children, head, child):
                    continue
                head, child_position = records[head, HEAD], records[child, HEAD]
                if margin > 0.0 and heads[child_position] != head:
                    total += margin
                if count == width and total <= states.chosen_total[count - 1]:
                    continue
                mark = states.mark[state] ^ mark_of_arc(head, child_position)
                count = _choose(states, count, width, state, place, action, total, mark)
    return count


@jitable
def _margin_of(trees, scores, length, place, action):
    """Return an action's score minus the highest score of another action with its child."""
    child = place if action == LEFT_ARC else place + 1
    highest = np.float32(-np.inf)
    for left in range(max(child - 1, MARGIN), min(child + 1, MARGIN + length - 1)):
        for other in range(2):
            if left != place or other != action:
                highest = max(highest, scores[left, other])
    return scores[place, action] - highest


@jitable
def record_action(states, chosen):
    """Record a chosen action (int64[3]). Return its number."""
    state, place, action = chosen
    number = np.int32(states.size[0])
    states.size[0] += 1
    states.actions[number, BEFORE] = states.last[state]
    overwrite(states.actions[number, FROM:WHAT], states.trees[state, place - L :][:WINDOW])
    states.actions[number, WHAT] = action
    return number


@jitable
def follow(scorer, sentence, states, half, length, count):
    """Apply the chosen extensions of states of `length` trees. Return the half of the new ones."""
    records = states.forest.records
    for i in range(count):
        new, (state, place, action) = (1 - half) * states.width + i, states.chosen[i]
        trees, scores = states.trees[state], states.scores[state]
        next_trees, next_scores = states.trees[new], states.scores[new]
        number = record_action(states, states.chosen[i])
        states.margin[number] = _margin_of(trees, scores, length, place, action)
        head, child = head_and_child(trees, place, action)
        position = records[child, HEAD]
        tag = sentence.symbols[position, arcs.TAG]
        share = guide_of(sentence, position, records[head, HEAD])[0]
        joined = partial_trees.attach(states.forest, head, child, action, tag, share)
        overwrite(next_trees, trees[:place])
        next_trees[place] = joined
        overwrite(next_trees[place + 1 :], trees[place + 2 : length + 2 * MARGIN])
        # Copy the scores of windows without the new tree.
        for j in range(MARGIN, place - 3):
            next_scores[j, 0], next_scores[j, 1] = scores[j, 0], scores[j, 1]
        for j in range(place + 3, length + MARGIN - 2):
            next_scores[j, 0], next_scores[j, 1] = scores[j + 1, 0], scores[j + 1, 1]
        states.total[new], states.mark[new] = states.chosen_total[i], states.chosen_mark[i]
        states.last[new] = number
        first, end = max(MARGIN, place - 3), min(place + 3, length + MARGIN - 2)
        score_pairs(scorer, sentence, states, new, first, end)
    return 1 - half


@jitable
def _read_arcs(states, last, heads, margins):
    """Read the heads and margins of words from a sequence of actions, given the last."""
    heads[:], margins[:] = NONE, states.margin[last] if last != 0 else 0.0
    while last != 0:
        action = states.actions[last]
        head, child = head_and_child(action, FROM + L, action[WHAT])
        position = states.forest.records[child, HEAD]
        heads[position], margins[position] = states.forest.records[head, HEAD], states.margin[last]
        last = action[BEFORE]


@jit
def search(scorer, sentence, states):
    """Find the best trees of a sentence (Algorithm 1), `heads` and `margins` of the states.

    RETURNS (tuple[int, int]): The best state of the final beam, and the number of its states.
    """
    n = len(sentence.symbols)
    begin(states, n)
    half, size, length, appended = 0, 1, 0, 0
    while appended < n or length > 1:
        first = half * states.width
        if appended < n and length <= AHEAD // 2:
            end = min(n, appended + AHEAD - length)
            for state in range(first, first + size):
                append_words(scorer, sentence, states, state, length, appended, end)
            length, appended = length + end - appended, end
        else:
            size = find_best(states, half, size, length, states.width, states.last, 0.0, None)
            half = follow(scorer, sentence, states, half, length, size)
            length -= 1
    first = half * states.width
    for i in range(size):
        heads, margins = states.heads[i, :n], states.margins[i, :n]
        _read_arcs(states, states.last[first + i], heads, margins)
    return first, size


@struct
class SentencesToParse(NamedTuple):
    """Sentences, one after the other, see `SentenceToParse`."""

    symbols: np.ndarray
    heads: np.ndarray
    probability: np.ndarray
    labels: np.ndarray
    expected: np.ndarray
    offsets: np.ndarray  # int64[sentences + 1]: the start of each sentence


@struct
class EasyFirstTrees(NamedTuple):
    """The best tree of each sentence."""

    heads: np.ndarray  # int32[words]: positions in the sentence, `NONE` for roots
    labels: np.ndarray  # int32[words]: `NONE` for roots
    # The score of the action that attached the word minus the highest score of another action with
    # the word; for a root, the margin of the last action, 0 for a single word.
    margin: np.ndarray  # float32[words]
    # The share of the head in the final beam, with states weighted by exp(score / `SCALE`).
    share: np.ndarray  # float32[words]
    guide: np.ndarray  # float32[words]: the guide's probability of the head; 0 without a guide


@jit
def _parse_some(arc_scorer, label_scorer, sentences, chosen, states, trees):
    """Parse the chosen sentences (int64[*]) into `trees`."""
    for i in chosen:
        sentence = sentence_of(sentences, i)
        first, size = search(arc_scorer, sentence, states)
        start, total = sentences.offsets[i], np.float32(0.0)
        heads = trees.heads[start : sentences.offsets[i + 1]]
        share = trees.share[start : sentences.offsets[i + 1]]
        overwrite(heads, states.heads[0, : len(heads)])
        overwrite(trees.margin[start:], states.margins[0, : len(heads)])
        share[:] = 0.0
        for state in range(size):
            difference = states.total[first + state] - states.total[first]
            weight = np.float32(np.exp(difference / SCALE))
            total += weight
            for word in range(len(heads)):
                if states.heads[state, word] == heads[word]:
                    share[word] += weight
        for word in range(len(heads)):
            share[word] /= total
            trees.guide[start + word] = guide_of(sentence, word, heads[word])[0]
        label_tree(label_scorer, sentence, heads, trees.labels[start:])


def parse_beam(
    arc_scorer: Scorer, label_scorer: Scorer, sentences: SentencesToParse, i: int, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return heads, labels (int32[m, n]) and scores (float64[m]) of the final beam, best first."""
    sentence = sentence_of(sentences, i)
    states = new_states(arc_scorer, len(sentence.symbols), width)
    first, size = search(arc_scorer, sentence, states)
    heads, labels = states.heads[:size], np.empty_like(states.heads[:size])
    for tree, arc_labels in zip(heads, labels):
        label_tree(label_scorer, sentence, tree, arc_labels)
    return heads, labels, states.total[first : first + size]


def parse(
    arc_scorer: Scorer,
    label_scorer: Scorer,
    sentences: SentencesToParse,
    *,
    width: int,
    threads: int = 1,
) -> EasyFirstTrees:
    """Parse sentences with a beam of `width` states; the result is the same for any `threads`."""
    words, count = len(sentences.symbols), len(sentences.offsets) - 1
    types = (np.int32, np.int32, np.float32, np.float32, np.float32)
    trees = EasyFirstTrees(*(np.empty(words, dtype=dtype) for dtype in types))

    def work(part: np.ndarray) -> None:
        longest = int(np.diff(sentences.offsets)[part].max(initial=1))
        states = new_states(arc_scorer, longest, width)
        _parse_some(arc_scorer, label_scorer, sentences, part, states, trees)

    threads = max(1, min(threads, count))
    with ThreadPoolExecutor(threads) as executor:
        list(executor.map(work, [np.arange(i, count, threads) for i in range(threads)]))
    return trees
