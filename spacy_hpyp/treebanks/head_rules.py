"""Which child of a phrase of the Penn Treebank is its head: the rules of Yamada and Matsumoto
(2003), as Penn2Malt uses them.

The table has for each phrase where the search starts, and categories by their priority: the first
child from there that has the first category is the head, else the first one that has the second,
and so on; else the child where the search starts. Categories with a bar between them have the same
priority. The directions are those of D. Magerman's table (1995), the priorities those of M.
Collins' (1999) but for TO in verb phrases, and the row of NP is a simplification of his rule. The
table was compared with two others that were published as Yamada and Matsumoto's, and is the same.
Besides,

* a child that has nothing but punctuation is no head, as long as there is another one;
* a label counts without function tags and indices, and of `ADVP|PRT` the first part;
* phrases that are not in the table are searched from the right, as X is, and NML, of later
  releases, as NX.
"""

import re
from collections.abc import Sequence

_TABLE = """
ADJP    right  NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB
ADVP    left   RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN
CONJP   left   CC RB IN
FRAG    left
INTJ    right
LST     left   LS :
NAC     right  NN|NNS|NNP|NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW
NML     right  POS|NN|NNP|NNPS|NNS NX JJR CD JJ JJS RB QP NP
NP      right  POS|NN|NNP|NNPS|NNS NX JJR CD JJ JJS RB QP NP
NX      right  POS|NN|NNP|NNPS|NNS NX JJR CD JJ JJS RB QP NP
PP      left   IN TO VBG VBN RP FW
PRN     right
PRT     left   RP
QP      right  $ IN NNS NN JJ RB DT CD NCD QP JJR JJS
RRC     left   VP NP ADVP ADJP PP
S       right  TO IN VP S SBAR ADJP UCP NP
SBAR    right  WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG
SBARQ   right  SQ S SINV SBARQ FRAG
SINV    right  VBZ VBD VBP VB MD VP S SINV ADJP NP
SQ      right  VBZ VBD VBP VB MD VP SQ
UCP     left
VP      left   VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP
WHADJP  right  CC WRB JJ ADJP
WHADVP  left   CC WRB
WHNP    right  WDT WP WP$ WHADJP WHPP WHNP
WHPP    left   IN TO FW
X       right
"""

#: Where the search starts, and sets of categories by their priority, for each phrase.
HEAD_RULES = {
    phrase: (direction, [frozenset(each.split("|")) for each in priorities])
    for phrase, direction, *priorities in map(str.split, _TABLE.strip().splitlines())
}
_ELSE = HEAD_RULES["X"]

#: The tags of punctuation; brackets are among them.
PUNCTUATION = frozenset(["``", "''", ",", ".", ":", "-LRB-", "-RRB-"])

# A hyphen at the beginning belongs to the tag, as in -LRB- and -NONE-.
_CATEGORY = re.compile(r"-[^-]*-|[^-=|]+")
_FUNCTION_TAG = re.compile(r"[-=]([^-=|]*[^-=|0-9][^-=|]*)")


def category(label: str) -> str:
    """The label of a phrase, or a tag, without function tags, indices and alternatives: NP of
    NP-SBJ-1, ADVP of ADVP|PRT.
    """
    found = _CATEGORY.match(label)
    return found[0] if found else label


def function_tags(label: str) -> list[str]:
    """The function tags of a phrase's label without indices: SBJ of NP-SBJ-1."""
    return _FUNCTION_TAG.findall(label, len(category(label)))


def find_head(phrase: str, children: Sequence[str], punctuation: Sequence[bool]) -> int:
    """Which child of a phrase is its head.

    phrase (str), children (Sequence[str]): The categories of the phrase, and of its children, of
        which there is one at least.
    punctuation (Sequence[bool]): Whether a child has nothing but punctuation, for each.
    """
    direction, priorities = HEAD_RULES.get(phrase, _ELSE)
    candidates = [i for i, skipped in enumerate(punctuation) if not skipped] or list(
        range(len(children))
    )
    if direction == "right":
        candidates.reverse()
    return next(
        (i for wanted in priorities for i in candidates if children[i] in wanted), candidates[0]
    )
