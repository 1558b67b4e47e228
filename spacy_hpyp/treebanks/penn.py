r"""The Penn Treebank as dependencies: the heads of Yamada and Matsumoto (2003) and the labels of
Penn2Malt.

Each phrase has a head child, and the head of a phrase is the head of that child; the heads of the
other children depend on it. Such trees are projective and have one root. The labels are inferred
from a phrase M, its head child H and another child D (J. Nivre, Inductive Dependency Parsing, 2006;
    documentation of Penn2Malt):

1. D is punctuation: P.
2. D has the function tag SBJ: SUB.
3. D has the function tag PRD: PRD.
4. M is VP, H is a word, and D is NP without a function tag: OBJ.
5. M is VP, H is a word, and D is VP: VC.
6. M is SBAR and D is S: SBAR.
7. M is VP, S, SQ, SINV or SBAR: VMOD.
8. M is NP, NAC, NX or WHNP: NMOD.
9. M is ADJP, ADVP, QP, WHADJP or WHADVP: AMOD.
10. M is PP or WHPP: PMOD.
11. Otherwise: DEP.

The head of the whole sentence is ROOT. What these rules leave open, and is decided here:

* Words and tags stay as they are in the treebank: `-LRB-` for a bracket, `1\/2` for 1/2.
* Traces and other empty elements are left out, and phrases that have nothing else.
* Other conjuncts and the conjunction depend on the conjunct that the table makes the head.
* A phrase of punctuation alone is punctuation, and a bracket without a label is a phrase that is
    not in the table.
* M of NML, of later releases: NMOD.

The labels were written from their description, and not compared with the output of Penn2Malt.
"""

import re
from pathlib import Path

from .brackets import Tree
from .conllu import EMPTY, Block, ConlluWord, block_of
from .head_rules import PUNCTUATION, category, find_head, function_tags

#: The tag of empty elements.
NONE = "-NONE-"

# By the rules 7 to 10.
_MODIFIERS = {
    **dict.fromkeys(["VP", "S", "SQ", "SINV", "SBAR"], "VMOD"),
    **dict.fromkeys(["NP", "NAC", "NX", "WHNP", "NML"], "NMOD"),
    **dict.fromkeys(["ADJP", "ADVP", "QP", "WHADJP", "WHADVP"], "AMOD"),
    **dict.fromkeys(["PP", "WHPP"], "PMOD"),
}

#: The standard parts of the Wall Street Journal by its sections, for parsing, and for language
#: modelling (Buys
#: and Blunsom 2015, section 5.4).
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
# The section and the number of a file, and a folder of a section.
_FILE = re.compile(r"wsj[-_]?([0-9]{2})[0-9]{2}(?![0-9])")
_FOLDER = re.compile(r"(?:wsj|section|sec|s)?[-_. ]?([0-9]{2})")


def section_of(path: Path) -> int | None:
    """Return the section of a file by its name or its folder: 2 of wsj_0203.mrg and of
    02/203.mrg.
    """
    names = path.stem.lower(), path.parent.name.lower()
    found = _FILE.search(names[0]) or _FOLDER.fullmatch(names[0]) or _FOLDER.fullmatch(names[1])
    return int(found[1]) if found and int(found[1]) <= 24 else None


def relation(mother: str, dependent: str, *, head_is_word: bool) -> str:
    """The label of the arc between the heads of two children of a phrase, by the rules 2 to 11.

    mother, dependent (str): The labels of the phrase, and of the child that is not the head, and no
        punctuation.
    head_is_word (bool): Whether the head child is a word, and no phrase.
    """
    phrase, child, tags = category(mother), category(dependent), function_tags(dependent)
    if "SBJ" in tags:
        return "SUB"
    if "PRD" in tags:
        return "PRD"
    if phrase == "VP" and head_is_word and child == "NP" and not tags:
        return "OBJ"
    if phrase == "VP" and head_is_word and child == "VP":
        return "VC"
    if phrase == "SBAR" and child == "S":
        return "SBAR"
    return _MODIFIERS.get(phrase, "DEP")


def dependencies(tree: Tree, comments: tuple[str, ...] = ()) -> Block | None:
    """A phrase structure tree as a dependency tree with comments, or None if it has only empty
    elements.
    """
    leaves: list[Tree] = []
    # The head and the label of each word.
    arcs: list[tuple[int, str]] = []
    # The head of every node that is not empty, as an index from 0, and whether it has nothing but
    # punctuation.
    found: dict[Tree, tuple[int, bool]] = {}
    for node in tree.postorder():
        children = [child for child in node.children if child in found]
        if node.word is not None and node.label != NONE:
            found[node] = len(leaves), category(node.label) in PUNCTUATION
            leaves.append(node)
            arcs.append((-1, "ROOT"))
        elif children:
            skipped = [found[child][1] for child in children]
            categories = [category(child.label) for child in children]
            head = children[find_head(category(node.label), categories, skipped)]
            found[node] = found[head][0], all(skipped)
            for child in children:
                word, is_punctuation = found[child]
                if child is not head:
                    label = relation(node.label, child.label, head_is_word=head.word is not None)
                    arcs[word] = found[head][0], "P" if is_punctuation else label
    words = [
        ConlluWord(leaf.word or "", EMPTY, leaf.label, head + 1, label)
        for leaf, (head, label) in zip(leaves, arcs)
    ]
    return block_of(words, comments) if words else None
