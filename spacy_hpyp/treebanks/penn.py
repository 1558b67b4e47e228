r"""The Penn Treebank as dependencies: bracketed trees, heads of Yamada and Matsumoto (2003), and
labels of Penn2Malt.

Each phrase has a head child, and the head of a phrase is the head of that child; the heads of the
other children depend on it. Such trees are projective and have one root. The table of heads has for
each phrase where the search starts, and categories by their priority, a bar between those of the
same. The head is the first child from there that has the first category, else the first one that
has the second, and so on; else the child where the search starts. Other phrases are searched from
the right. A child of punctuation alone is no head, as long as there is another one. The directions
are those of D. Magerman's table (1995), the priorities those of M. Collins' (1999) but for TO in
verb phrases, and the row of NP simplifies his rule. Two tables that were published as Yamada and
Matsumoto's are the same; NML, of later releases, is searched as NX.

The labels are inferred from a phrase M, its head child H and another child D (J. Nivre, Inductive
Dependency Parsing, 2006; documentation of Penn2Malt):

1. D is punctuation: P.
2. D has the function tag SBJ: SUB. 3. PRD: PRD.
4. M is VP, H is a word, and D is NP without a function tag: OBJ. 5. D is VP instead: VC.
6. M is SBAR and D is S: SBAR.
7. M is VP, S, SQ, SINV or SBAR: VMOD.
8. M is NP, NAC, NX, NML or WHNP: NMOD.
9. M is ADJP, ADVP, QP, WHADJP or WHADVP: AMOD.
10. M is PP or WHPP: PMOD.
11. Otherwise: DEP.

The head of the whole sentence is ROOT. The labels follow their description, and were not compared
with the output of Penn2Malt. Words and tags stay as in the treebank: `-LRB-` for a bracket,
`1\/2` for 1/2. Traces, other empty elements, and phrases of nothing else are left out. A phrase of
punctuation alone is punctuation.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .conllu import EMPTY, ConlluWord, numbered_lines

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

#: For each phrase, the start of the search, and categories by priority.
HEAD_RULES = {
    phrase: (direction, [each.split("|") for each in priorities])
    for phrase, direction, *priorities in map(str.split, _TABLE.strip().splitlines())
}

#: The tags of punctuation; brackets are among them.
PUNCTUATION = frozenset(["``", "''", ",", ".", ":", "-LRB-", "-RRB-"])

# A hyphen at the beginning belongs to the tag, as in -LRB- and -NONE-.
_CATEGORY = re.compile(r"-[^-]*-|[^-=|]+")
_FUNCTION_TAG = re.compile(r"[-=]([^-=|]*[^-=|0-9][^-=|]*)")
#: The tag of empty elements.
NONE = "-NONE-"

# Rules 7 to 10.
_MODIFIERS = {
    **dict.fromkeys(["VP", "S", "SQ", "SINV", "SBAR"], "VMOD"),
    **dict.fromkeys(["NP", "NAC", "NX", "WHNP", "NML"], "NMOD"),
    **dict.fromkeys(["ADJP", "ADVP", "QP", "WHADJP", "WHADVP"], "AMOD"),
    **dict.fromkeys(["PP", "WHPP"], "PMOD"),
}

#: The standard parts of the Wall Street Journal by its sections, for parsing, and for language
#: modelling (Buys and Blunsom 2015, section 5.4).
PARTS = {
    "wsj-train": range(2, 22),
    "wsj-dev": range(22, 23),
    "wsj-test": range(23, 24),
    "wsj-lm-train": range(21),
    "wsj-lm-dev": range(21, 23),
    "wsj-lm-test": range(23, 25),
}
#: The endings of files with brackets.
SUFFIXES = (".mrg", ".ptb", ".parse", ".tree", ".trees")
# The section in the name of a file, and in the name of a folder or a shorter name of a file.
_FILE = re.compile(r"wsj[-_]?([0-9]{2})[0-9]{2}(?![0-9])")
_FOLDER = re.compile(r"(?:wsj|section|sec|s)?[-_. ]?([0-9]{2})")
# White space is that of ASCII: a no-break space is part of a word, as in "1 1/2".
_TOKEN = re.compile(r"[()]|[^() \t\r\n\f\v]+")
# The beginning of lines of the notice above the trees in some releases.
_NOTICE = "*x*"


@dataclass(slots=True, eq=False)
class _Node:
    """A phrase, word or empty element of a tree, with the index of its head word if it has one."""

    label: str = ""
    word: str | None = None
    children: list["_Node"] = field(default_factory=list)
    head: int | None = None
    is_punctuation: bool = False


def read_sentences(path: Path) -> Iterator[list[ConlluWord]]:
    """Yield the trees of a file in UTF-8 as dependency trees; one of empty elements has no words.

    Lines between trees that begin with `*x*` are a notice, and left out.

    RAISES (ValueError): If it is not UTF-8, has no tree, or a bracket or word is out of place.
    """
    # Open brackets, the outermost first.
    stack: list[_Node] = []
    words: list[ConlluWord] = []
    number, is_empty = 0, True
    for number, line in numbered_lines(path):
        if not stack and line.lstrip().startswith(_NOTICE):
            continue
        for token in _TOKEN.findall(line):
            top = stack[-1] if stack else None
            if token == "(" and (top is None or top.word is None):
                stack.append(_Node())
            elif token == ")" and top is not None and (top.children or top.word is not None):
                stack.pop()
                _attach(top, words)
                if stack:
                    stack[-1].children.append(top)
                else:
                    yield words
                    words, is_empty = [], False
            elif token not in "()" and top is not None and not top.children and top.word is None:
                if top.label:
                    top.word = token
                else:
                    top.label = token
            else:
                raise ValueError(f"'{path}', line {number}: '{token}' is not expected here.")
    if stack:
        raise ValueError(f"'{path}', line {number}: a bracket is never closed.")
    if is_empty:
        raise ValueError(f"'{path}' has no trees in brackets.")


def _attach(node: _Node, words: list[ConlluWord]) -> None:
    """Find the head of a node whose bracket closes, and attach the heads of its other children."""
    children = [child for child in node.children if child.head is not None]
    if node.word is not None and node.label != NONE:
        node.head, node.is_punctuation = len(words), category(node.label) in PUNCTUATION
        words.append(ConlluWord(node.word, EMPTY, node.label, 0, "ROOT"))
    elif children:
        skipped = [child.is_punctuation for child in children]
        categories = [category(child.label) for child in children]
        head = children[find_head(category(node.label), categories, skipped)]
        node.head, node.is_punctuation = head.head, all(skipped)
        for child in children:
            if child is not head:
                label = relation(node.label, child.label, head_is_word=head.word is not None)
                label = "P" if child.is_punctuation else label
                words[child.head] = words[child.head]._replace(head=head.head + 1, deprel=label)


def category(label: str) -> str:
    """Return a label without function tags, indices and alternatives: NP of NP-SBJ-1."""
    found = _CATEGORY.match(label)
    return found[0] if found else label


def function_tags(label: str) -> list[str]:
    """Return the function tags of a phrase's label without indices: SBJ of NP-SBJ-1."""
    return _FUNCTION_TAG.findall(label, len(category(label)))


def find_head(phrase: str, children: Sequence[str], punctuation: Sequence[bool]) -> int:
    """Return the index of the head child of a phrase, given the categories of the phrase and its
    children, and whether each child is punctuation alone.
    """
    direction, priorities = HEAD_RULES.get(phrase, HEAD_RULES["X"])
    every = range(len(children))
    candidates = [i for i in every if not punctuation[i]] or list(every)
    if direction == "right":
        candidates.reverse()
    return next(
        (i for wanted in priorities for i in candidates if children[i] in wanted), candidates[0]
    )


def section_of(path: Path) -> int | None:
    """Return the section of a file by its name or its folder: 2 of wsj_0203.mrg and of 02/203.mrg;
    None if there is none up to 24.
    """
    names = path.stem.lower(), path.parent.name.lower()
    found = _FILE.search(names[0]) or _FOLDER.fullmatch(names[0]) or _FOLDER.fullmatch(names[1])
    return int(found[1]) if found and int(found[1]) <= 24 else None


def relation(mother: str, dependent: str, *, head_is_word: bool) -> str:
    """Return the label of an arc by the rules 2 to 11, given the labels of the phrase and of the
    child that is not its head, and whether the head child is a word.
    """
    phrase, child, tags = category(mother), category(dependent), function_tags(dependent)
    if "SBJ" in tags:
        return "SUB"
    if "PRD" in tags:
        return "PRD"
    if phrase == "VP" and head_is_word and (child == "VP" or (child == "NP" and not tags)):
        return "VC" if child == "VP" else "OBJ"
    if phrase == "SBAR" and child == "S":
        return "SBAR"
    return _MODIFIERS.get(phrase, "DEP")
