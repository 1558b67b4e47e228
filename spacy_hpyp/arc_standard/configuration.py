"""Configurations of the arc-standard system, with ROOT at the bottom of the stack, as immutable
records.

A record is a stack item: its tag, word and position (from 1 in each sentence, 0 for ROOT), its two
outermost children on each side, the label of the outermost arc and the number of children there,
and the record of the item *below* it. Every transition makes exactly one record, so the top item
also stands for a configuration, with the word shifted *last*; and with the *previous* configuration
and the *action* that led here, for a derivation. Stacks that share their lower part share records.

Records are rows of an int32[*, 16] array. Row `NOWHERE` is the item that does not exist and row
`ROOT` the initial configuration. Tags, words and labels are symbols: 0 for NULL, 1 for ROOT, and
numbers from 2 on. The action is its number.
"""

import numpy as np

from ..compiled import NONE, jit, jitable, overwrite

# Columns of a record. Other modules write `column.TAG` or `system.TAG`, because tags and words are
# also distributions.
TAG, WORD, LEFT, RIGHT, BELOW, PREVIOUS, ACTION, DEPTH = range(8)
POSITION, LAST, SECOND_LEFT, SECOND_RIGHT, LEFT_LABEL, RIGHT_LABEL, LEFT_COUNT, RIGHT_COUNT = range(
    8, 16
)
FIELDS = 16
_FEW = 1024
# Columns that refer to earlier records.
_REFERENCES = (LEFT, RIGHT, BELOW, PREVIOUS, LAST, SECOND_LEFT, SECOND_RIGHT)

# The first two records.
NOWHERE, ROOT = 0, 1
FIRST_RECORD = 2

# Symbols of context elements.
NULL_SYMBOL, ROOT_SYMBOL = 0, 1
FIRST_SYMBOL = 2

# Actions; from `FIRST_ARC` on, left-arcs are even and right-arcs are odd. `END` is the right-arc
# that attaches the head word to ROOT, the last transition of a sentence.
SHIFT, END = 0, 1
FIRST_ARC = 2

# Classes of actions.
SHIFTS, ENDS, LEFT_ARCS, RIGHT_ARCS = range(4)
DIRECTIONS = 4


@jitable
def arc_of(direction, label):
    """The arc action of a direction and a label: one of `LEFT_ARCS` makes the second item a
    dependent of the top item, one of `RIGHT_ARCS` the top item one of the second item.
    """
    return FIRST_ARC + 2 * label + direction - LEFT_ARCS


@jitable
def label_of(action):
    """The label of an arc action."""
    return (action - FIRST_ARC) // 2


@jitable
def class_of(action):
    """The class of an action: `SHIFTS`, `ENDS`, `LEFT_ARCS` or `RIGHT_ARCS`."""
    if action < FIRST_ARC:
        return action
    return LEFT_ARCS + (action - FIRST_ARC) % 2


@jitable
def kind_of(depth):
    """Return the row of `POSSIBLE` for a stack depth: the classes of actions that exist there."""
    return min(depth, 3) - 1


#: The classes of actions that exist at depth 1, 2, and 3 or more, counting ROOT. ROOT alone allows
#: only a shift. A single word may be attached to ROOT, which ends the sentence. Two words may be
#: attached to each other, but not to ROOT.
POSSIBLE = np.array(
    [[True, False, False, False], [True, True, False, False], [True, False, True, True]],
    dtype=np.bool_,
)


@jitable
def action_count(labels):
    """The size of the action alphabet: shift, end, and a left- and a right-arc for each label."""
    return FIRST_ARC + 2 * labels


@jitable
def new_records(steps=_FEW):
    """Return the first two records (int32[2 + steps, 16]), with room for so many transitions."""
    records = np.empty((FIRST_RECORD + steps, FIELDS), dtype=np.int32)
    records[NOWHERE] = 0
    records[ROOT] = 0
    records[ROOT, TAG] = records[ROOT, WORD] = ROOT_SYMBOL
    records[ROOT, DEPTH] = 1
    return records


@jitable
def shift(records, used, top, tag, word):
    """Push a word, given by the numbers of its tag and form (not symbols). Writes record `used`."""
    record = records[used]
    record[:] = 0
    record[TAG] = FIRST_SYMBOL + tag
    record[WORD] = FIRST_SYMBOL + word
    record[BELOW] = top
    record[PREVIOUS] = top
    record[ACTION] = SHIFT
    record[DEPTH] = records[top, DEPTH] + 1
    record[POSITION] = records[records[top, LAST], POSITION] + 1
    record[LAST] = used


@jitable
def reduce(records, used, top, action):
    """Attach one of the top items to the other, or the last one to ROOT. Writes record `used`."""
    second = records[top, BELOW]
    record = records[used]
    if action == END:
        overwrite(record, records[ROOT])
    elif class_of(action) == LEFT_ARCS:
        overwrite(record, records[top])
        record[SECOND_LEFT] = record[LEFT]
        record[LEFT] = second
        record[LEFT_LABEL] = FIRST_SYMBOL + label_of(action)
        record[LEFT_COUNT] += 1
        record[BELOW] = records[second, BELOW]
    else:
        overwrite(record, records[second])
        record[SECOND_RIGHT] = record[RIGHT]
        record[RIGHT] = top
        record[RIGHT_LABEL] = FIRST_SYMBOL + label_of(action)
        record[RIGHT_COUNT] += 1
        record[LAST] = records[top, LAST]
    record[PREVIOUS] = top
    record[ACTION] = action
    record[DEPTH] = records[top, DEPTH] - 1


@jitable
def execute(records, used, top, action, tag, word):
    """Shift a word with its tag, or attach. Writes record `used`."""
    if action == SHIFT:
        shift(records, used, top, tag, word)
    else:
        reduce(records, used, top, action)


@jitable
def derivation(records, last, actions, tags):
    """Write the derivation of configuration `last` into `actions` (int32[*]) and `tags` (int32[*]);
    `NONE` follows the actions if there is room; further tags stay.
    """
    step, word = 0, 0
    record = last
    while record != ROOT:
        step += 1
        word += records[record, ACTION] == SHIFT
        record = records[record, PREVIOUS]
    actions[step:] = NONE
    record = last
    while record != ROOT:
        step -= 1
        actions[step] = records[record, ACTION]
        if actions[step] == SHIFT:
            word -= 1
            tags[word] = records[record, TAG] - FIRST_SYMBOL
        record = records[record, PREVIOUS]


@jit
def tree_of(actions, heads, labels):
    """Replay a derivation on word positions.

    actions (int32[2n]): A derivation of one sentence or several; if unfinished, `NONE` follows it.
    heads, labels (int32[n]): Overwritten for words that are attached; both -1 under ROOT.
    """
    stack = np.empty(len(heads), dtype=np.int32)
    depth = 0
    word = 0
    for action in actions:
        if action == NONE:
            break
        if action == SHIFT:
            stack[depth] = word
            depth += 1
            word += 1
            continue
        depth -= 1
        if action == END:
            heads[stack[depth]] = -1
            labels[stack[depth]] = -1
            continue
        dependent = stack[depth]
        if class_of(action) == LEFT_ARCS:
            dependent = stack[depth - 1]
            stack[depth - 1] = stack[depth]
        heads[dependent] = stack[depth - 1]
        labels[dependent] = label_of(action)


@jitable
def compact(records, used, tops):
    """Keep the records of the derivations of `tops`, in order. Returns how many; updates `tops`."""
    # A record refers only to records of its own derivation, so none is missing then.
    place = np.zeros(used, dtype=np.int32)
    place[ROOT] = ROOT
    for top in tops:
        record = top
        while place[record] == 0:
            place[record] = 1
            record = records[record, PREVIOUS]
    left = FIRST_RECORD
    for record in range(FIRST_RECORD, used):
        if place[record] == 0:
            continue
        place[record] = left
        overwrite(records[left], records[record])
        for column in _REFERENCES:
            records[left, column] = place[records[left, column]]
        left += 1
    for i in range(len(tops)):
        tops[i] = place[tops[i]]
    return left
