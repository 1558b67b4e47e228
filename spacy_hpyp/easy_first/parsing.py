"""Easy-first parsing with beam search: Algorithm 1 of Ma et al. (2013).

A state is a list of partial trees, initially the words. An action joins two neighbours: the right
one becomes the head (`LEFT_ARC`) or the left one (`RIGHT_ARC`). After n - 1 actions one tree is
left. The score of a state is the sum of the scores of its actions.

An action changes the scores of the few pairs with the new tree in their windows. Scores are cached
by window, because most states of a beam agree in most places. States with the same arcs are merged.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, jitable, overwrite, struct
from ..memo import recall
from .arcs import (
    PAIR_KEY,
    TAG,
    WINDOW,
    L,
    R,
    Scorer,
    add_up,
    find_weights,
    sentence_of,
    share_of,
    write_key,
)
from .labels import label_tree, new_workbench
from .partial_trees import (
    HEAD,
    LEFT_ARC,
    LEFT_COUNT,
    RIGHT_COUNT,
    WHOLE,
    Forest,
    attach,
    begin_forest,
    mark_of_arc,
    new_forest,
    read_heads,
)

# The largest number of partial trees in a list, so that time is linear in the length of a sentence.
AHEAD = 512
# The number of empty trees (record 0) at each end of a list, for the windows there.
MARGIN = 3
#: Columns of a recorded action: the previous action, the window, and the kind of action.
BEFORE, FROM, WHAT = 0, 1, 1 + WINDOW
_ACTION_COLUMNS = WHAT + 1
_REMEMBERED, _PAIRS = 1 << 12, 1 << 10
_NOTHING = -np.inf
_SHARED = ("forest", "windows", "remembered", "pairs", "sums")


@struct
class States(NamedTuple):
    """The states of one step and of the next in turn, and workspace."""

    forest: Forest
    trees: np.ndarray  # int32[2, width, *]: the list of each state, from `MARGIN` on
    scores: np.ndarray  # float32[2, width, *, 2]: both actions on each tree and its right neighbour
    # The score of each state, and a hash of its arcs.
    total: np.ndarray  # float64[2, width]
    mark: np.ndarray  # uint64[2, width]
    last: np.ndarray  # int32[2, width]: the last action, or 0
    correct: np.ndarray  # bool[2, width]: whether all actions are correct, in training
    actions: np.ndarray  # int32[*, 8]: all actions, see the module's constants
    reached: np.ndarray  # float64[*]: the score of the state after each action
    # The score of each action minus the highest score of another action with the same child.
    margin: np.ndarray  # float32[*]
    size: np.ndarray  # int64[1]: the number of actions
    # The best extensions (state, place in its list, action), their scores and marks.
    chosen: np.ndarray  # int64[width, 3]
    chosen_total: np.ndarray  # float64[width]
    chosen_mark: np.ndarray  # uint64[width]
    # The cache of the scores of both actions, by the fingerprint of a window.
    windows: np.ndarray  # uint64[*]
    remembered: np.ndarray  # float32[*, 2]
    # The cache of the sums of weights for both actions, by the fingerprint of a pair.
    pairs: np.ndarray  # uint64[*]
    sums: np.ndarray  # float32[*, 2]
    key: np.ndarray  # int32[*]: see `write_key`
    # The features of two pairs in turn.
    row: np.ndarray  # int32[elements]
    places: np.ndarray  # int64[2, templates]


def new_states(scorer: Scorer, longest: int, width: int, beams: int = 1) -> States:
    """Return the workspace for sentences of at most `longest` words; `beams` share its forest."""
    most = width * longest + longest + 2
    padded, templates = longest + 2 * MARGIN, len(scorer.templates.offsets) - 1
    windows, pairs = (_REMEMBERED, _PAIRS) if width > 1 else (1, 1)
    return States(
        new_forest(beams * most),
        np.zeros((2, width, padded), dtype=np.int32),
        np.zeros((2, width, padded, 2), dtype=np.float32),
        np.zeros((2, width)),
        np.zeros((2, width), dtype=np.uint64),
        np.zeros((2, width), dtype=np.int32),
        np.zeros((2, width), dtype=np.bool_),
        np.zeros((most, _ACTION_COLUMNS), dtype=np.int32),
        np.zeros(most),
        np.zeros(most, dtype=np.float32),
        np.zeros(1, dtype=np.int64),
        np.zeros((width, 3), dtype=np.int64),
        np.zeros(width),
        np.zeros(width, dtype=np.uint64),
        np.zeros(windows, dtype=np.uint64),
        np.zeros((windows, 2), dtype=np.float32),
        np.zeros(pairs, dtype=np.uint64),
        np.empty((pairs, 2), dtype=np.float32),
        np.zeros(len(scorer.around) + PAIR_KEY, dtype=np.int32),
        np.zeros(len(scorer.elements), dtype=np.int32),
        np.zeros((2, templates), dtype=np.int64),
    )


def sharing(states: States, second: States) -> States:
    """Return a second beam with the forest and the caches of the first."""
    return second._replace(**{name: getattr(states, name) for name in _SHARED})


@jitable
def begin(states, n):
    """Begin a sentence of n words, with one state that has an empty list."""
    begin_forest(states.forest, n)
    states.windows[:] = 0
    states.pairs[:] = 0
    begin_beam(states)


@jitable
def begin_beam(states):
    """Begin a beam that shares the forest of another one."""
    states.size[0] = 1
    states.trees[0, 0, :MARGIN] = 0
    states.total[0, 0] = 0.0
    states.mark[0, 0] = 0
    states.last[0, 0] = 0
    states.correct[0, 0] = True


@jitable
def append_words(scorer, sentence, states, half, state, length, first, end):
    """Append the words `first` to `end` - 1 to the list of a state, which has `length` trees."""
    trees = states.trees[half, state]
    for i in range(end - first):
        trees[MARGIN + length + i] = first + i + 1
    # The windows of the last pairs included the old end.
    begin, end = max(MARGIN, MARGIN + length - 3), MARGIN + length + end - first
    trees[end : end + MARGIN] = 0
    score_pairs(scorer, sentence, states, half, state, begin, end - 1)


@jitable
def score_pairs(scorer, sentence, states, half, state, first, end):
    """Score both actions on the trees at places `first` to `end` - 1 and their right neighbours."""
    records, row, weights = states.forest.records, states.row, scorer.weights
    # Prefetch the weights of a pair before adding up those of the previous pair (`waiting`).
    waiting, last_slot, last_pair, last_met, turn = np.int64(NONE), 0, 0, False, 0
    n = len(scorer.pair.templates.numbers)
    for place in range(first, end + 1):
        slot, pair, known, met = 0, 0, place == end, False
        window = states.trees[half, state, place - L : place - L + WINDOW]
        if place < end and len(states.windows) > 1:
            write_key(scorer.around, states.forest, window, states.key)
            slot, known = recall(states.windows, states.key)
            if known:
                overwrite(states.scores[half, state, place], states.remembered[slot])
            else:
                pair, met = recall(states.pairs, states.key[-PAIR_KEY:])
        if not known:
            if not met:
                find_weights(
                    scorer.pair, weights, records, sentence, window, row, states.places[turn]
                )
            find_weights(
                scorer.beyond, weights, records, sentence, window, row, states.places[turn, n:]
            )
        if waiting != NONE and (not known or place == end):
            scores, of_pair = states.scores[half, state, waiting], states.sums[last_pair]
            if not last_met:
                of_pair[0], of_pair[1] = 0.0, 0.0
                add_up(scorer, scorer.pair, states.places[1 - turn], of_pair)
            overwrite(scores, of_pair)
            add_up(scorer, scorer.beyond, states.places[1 - turn, n:], scores)
            scores[0], scores[1] = scores[0] * scorer.step, scores[1] * scorer.step
            overwrite(states.remembered[last_slot], scores)
        if not known:
            waiting, last_slot, last_pair, last_met, turn = (
                np.int64(place),
                slot,
                pair,
                met,
                1 - turn,
            )


@jit
def head_and_child(trees, place, action):
    """Return the records of the head and the child of an action."""
    if action == LEFT_ARC:
        return trees[place + 1], trees[place]
    return trees[place], trees[place + 1]


@jit
def is_correct(records, heads, children, head, child):
    """Return whether the child (a record) has all `children` (int32[n]) and gets its gold head."""
    position = records[child, HEAD]
    attached = records[child, LEFT_COUNT] + records[child, RIGHT_COUNT]
    return heads[position] == records[head, HEAD] and attached == children[position]


@jit
def choose(states, count, width, state, place, action, total, mark):
    """Insert an extension among the `count` best, the first among equals. Return the new count."""
    chosen, totals, marks = states.chosen, states.chosen_total, states.chosen_mark
    for i in range(count):
        if marks[i] == mark:
            if totals[i] >= total:
                return count
            for j in range(i, count - 1):
                totals[j], marks[j] = totals[j + 1], marks[j + 1]
                overwrite(chosen[j], chosen[j + 1])
            count -= 1
            break
    if count < width:
        count += 1
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
    """Find the best extensions of the states of a beam (BEST in Algorithm 1). Return their number.

    length (int): The number of partial trees in each state, at least 2.
    heads (int32[n]): The gold heads, needed only with a margin or children.
    margin (float): Added to the score of a wrong arc.
    children (int32[n] | None): The number of gold children of each word, to find only correct
        extensions of correct states (TOPC in Algorithm 2).
    """
    records = states.forest.records
    count = 0
    for state in range(size):
        if children is not None and not states.correct[half, state]:
            continue
        trees, scores = states.trees[half, state], states.scores[half, state]
        before = states.total[half, state]
        for place in range(MARGIN, MARGIN + length - 1):
            for action in range(2):
                total = before + scores[place, action]
                head, child = head_and_child(trees, place, action)
                if children is not None and not is_correct(records, heads, children, head, child):
                    continue
                if margin > 0.0 and heads[records[child, HEAD]] != records[head, HEAD]:
                    total += margin
                if count == width and total <= states.chosen_total[count - 1]:
                    continue
                mark = states.mark[half, state] ^ mark_of_arc(
                    records[head, HEAD], records[child, HEAD]
                )
                count = choose(states, count, width, state, place, action, total, mark)
    return count


@jit
def _margin_of(trees, scores, length, place, action):
    """Return an action's score minus the highest score of another action with its child."""
    child = place if action == LEFT_ARC else place + 1
    highest = np.float32(_NOTHING)
    for left in range(max(child - 1, MARGIN), min(child + 1, MARGIN + length - 1)):
        for other in range(2):
            if left != place or other != action:
                highest = max(highest, scores[left, other])
    return scores[place, action] - highest


@jitable
def record_action(states, half, state, place, action, total):
    """Record an action. Return its number."""
    number = np.int32(states.size[0])
    states.size[0] += 1
    states.actions[number, BEFORE] = states.last[half, state]
    for i in range(WINDOW):
        states.actions[number, FROM + i] = states.trees[half, state, place - L + i]
    states.actions[number, WHAT] = action
    states.reached[number] = total
    return number


@jitable
def follow(scorer, sentence, states, half, length, count):
    """Apply the chosen extensions to states of `length` trees, into the other half."""
    records = states.forest.records
    other = 1 - half
    for new in range(count):
        state, place, action = states.chosen[new, 0], states.chosen[new, 1], states.chosen[new, 2]
        trees, scores = states.trees[half, state], states.scores[half, state]
        next_trees, next_scores = states.trees[other, new], states.scores[other, new]
        total = states.chosen_total[new]
        number = record_action(states, half, state, place, action, total)
        states.margin[number] = _margin_of(trees, scores, length, place, action)
        head, child = head_and_child(trees, place, action)
        position = records[child, HEAD]
        share = np.int32(WHOLE * share_of(sentence, position, records[head, HEAD]))
        joined = attach(states.forest, head, child, action, sentence.symbols[position, TAG], share)
        overwrite(next_trees, trees[:place])
        next_trees[place] = joined
        overwrite(next_trees[place + 1 :], trees[place + 2 : length + 2 * MARGIN])
        # Copy the scores of windows without the new tree.
        for i in range(MARGIN, place - 3):
            next_scores[i, 0], next_scores[i, 1] = scores[i, 0], scores[i, 1]
        for i in range(place + 3, length + MARGIN - 2):
            next_scores[i, 0], next_scores[i, 1] = scores[i + 1, 0], scores[i + 1, 1]
        states.total[other, new] = total
        states.mark[other, new] = states.chosen_mark[new]
        states.last[other, new] = number
        first, end = max(MARGIN, place - 3), min(place + 3, length + MARGIN - 2)
        score_pairs(scorer, sentence, states, other, new, first, end)


@jitable
def search(scorer, sentence, width, states):
    """Find the best trees of a sentence (Algorithm 1). Return the final beam's half and size."""
    n = len(sentence.symbols)
    begin(states, n)
    half, size, length, appended = 0, 1, 0, 0
    while appended < n or length > 1:
        if appended < n and length <= AHEAD // 2:
            end = min(n, appended + AHEAD - length)
            for state in range(size):
                append_words(scorer, sentence, states, half, state, length, appended, end)
            length, appended = length + end - appended, end
            continue
        size = find_best(states, half, size, length, width, states.last[0], 0.0, None)
        follow(scorer, sentence, states, half, length, size)
        half, length = 1 - half, length - 1
    return half, size


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
    # the word; for a root, the margin of the last action.
    margin: np.ndarray  # float32[words]
    # The share of the head in the final beam, with states weighted by exp(score / `SCALE`).
    share: np.ndarray  # float32[words]
    guide: np.ndarray  # float32[words]: the guide's probability of the head


#: The scale of scores.
SCALE = 20.0


@jit
def read_margins(states, last, margin):
    """Write the margins of a sequence, given its last action, into `margin` (float32[n])."""
    records = states.forest.records
    margin[:] = states.margin[last] if last != 0 else 0.0
    while last != 0:
        action = states.actions[last]
        child = action[FROM + (L if action[WHAT] == LEFT_ARC else R)]
        margin[records[child, HEAD]] = states.margin[last]
        last = action[BEFORE]


@jit
def _parse_some(arc_scorer, label_scorer, sentences, chosen, width, states, workbench, rows, trees):
    """Parse the chosen sentences (int64[*]) into `trees`."""
    other, pending = rows[0], rows[1]
    for i in chosen:
        start, end = sentences.offsets[i], sentences.offsets[i + 1]
        sentence = sentence_of(sentences, sentences.symbols[start:end], start, end)
        heads, share = trees.heads[start:end], trees.share[start:end]
        half, size = search(arc_scorer, sentence, width, states)
        read_heads(states.forest, states.trees[half, 0, MARGIN], heads, pending)
        read_margins(states, states.last[half, 0], trees.margin[start:end])
        share[:] = 1.0
        total = np.float32(1.0)
        for state in range(1, size):
            weight = np.float32(np.exp((states.total[half, state] - states.total[half, 0]) / SCALE))
            read_heads(states.forest, states.trees[half, state, MARGIN], other, pending)
            total += weight
            for word in range(end - start):
                if other[word] == heads[word]:
                    share[word] += weight
        for word in range(end - start):
            share[word] /= total
            trees.guide[start + word] = share_of(sentence, word, heads[word])
        label_tree(label_scorer, sentence, heads, trees.labels[start:end], workbench)


@jit
def _parse_beam(
    arc_scorer, label_scorer, sentences, i, width, states, workbench, pending, heads, labels, scores
):
    start, end = sentences.offsets[i], sentences.offsets[i + 1]
    sentence = sentence_of(sentences, sentences.symbols[start:end], start, end)
    half, size = search(arc_scorer, sentence, width, states)
    for state in range(size):
        read_heads(states.forest, states.trees[half, state, MARGIN], heads[state], pending)
        label_tree(label_scorer, sentence, heads[state], labels[state], workbench)
        scores[state] = states.total[half, state]
    return size


def parse_beam(
    arc_scorer: Scorer, label_scorer: Scorer, sentences: SentencesToParse, i: int, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return heads, labels (int32[m, n]) and scores (float64[m]) of the final beam, the best
    first.
    """
    n = int(sentences.offsets[i + 1] - sentences.offsets[i])
    workspace = (
        new_states(arc_scorer, n, width),
        new_workbench(label_scorer, n),
        np.empty(n, dtype=np.int32),
    )
    heads, labels = np.empty((2, width, n), dtype=np.int32)
    scores = np.empty(width)
    size = _parse_beam(
        arc_scorer, label_scorer, sentences, i, width, *workspace, heads, labels, scores
    )
    return heads[:size].copy(), labels[:size].copy(), scores[:size].copy()


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
    threads = max(1, min(threads, count))
    parts = [np.arange(thread, count, threads) for thread in range(threads)]

    def work(part: np.ndarray) -> None:
        longest = int(np.diff(sentences.offsets)[part].max(initial=1))
        workspace = new_states(arc_scorer, longest, width), new_workbench(label_scorer, longest)
        rows = np.empty((2, longest), dtype=np.int32)
        _parse_some(arc_scorer, label_scorer, sentences, part, width, *workspace, rows, trees)

    with ThreadPoolExecutor(threads) as executor:
        list(executor.map(work, parts))
    return trees
