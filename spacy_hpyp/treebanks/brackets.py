"""Phrase structure trees in brackets, as in the Penn Treebank: `( (S (NP-SBJ (NNP Ada)) (VP (VBZ sleeps)) (.
.)) )`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .conllu import numbered_lines

# White space is that of ASCII: a no-break space is part of a word, as in "1 1/2".
_TOKEN = re.compile(r"[()]|[^() \t\r\n\f\v]+")
# How the lines of the notice begin that stands above the trees in some releases.
_NOTICE = "*x*"


@dataclass(slots=True, eq=False)
class Tree:
    """A node of a phrase structure tree and what is below it.

    label (str): The label with function tags and indices, as NP-SBJ-1; a word's tag; "" for the bracket
        around a tree.
    line (int): Where it opens in its file.
    word (str | None): The word, where there is one.
    children (list[Tree]): From left to right; a word has none.
    """

    label: str
    line: int
    word: str | None = None
    children: list["Tree"] = field(default_factory=list)

    def postorder(self) -> Iterator["Tree"]:
        """The nodes, each after its children; words come from left to right. The tree may be of any depth."""
        stack = [(self, False)]
        while stack:
            node, done = stack.pop()
            if done or not node.children:
                yield node
            else:
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(node.children))


def read_trees(path: Path) -> Iterator[Tree]:
    """The trees of a file in UTF-8, many to a line or one on many lines. Lines between trees that begin with
    `*x*` are a notice.

    RAISES (ValueError): If there is no tree, a bracket is not closed or not open, or is neither a tag with
        its word nor a label with other brackets, with the line.
    """

    def wrong(line: int, problem: str) -> ValueError:
        return ValueError(f"'{path}', line {line}: {problem}")

    # Brackets that are open, the outermost first.
    stack: list[Tree] = []
    found = False
    for number, line in numbered_lines(path):
        if not stack and line.lstrip().startswith(_NOTICE):
            continue
        for token in _TOKEN.findall(line):
            top = stack[-1] if stack else None
            if token == "(":
                node = Tree("", number)
                if top is not None:
                    if top.word is not None:
                        raise wrong(
                            number, f"a bracket opens after the word '{top.word}', within its bracket."
                        )
                    top.children.append(node)
                stack.append(node)
            elif top is None:
                what = (
                    "a bracket is closed that is not open."
                    if token == ")"
                    else f"'{token}' stands outside of brackets."
                )
                raise wrong(number, what)
            elif token == ")":
                if not top.children and top.word is None:
                    raise wrong(
                        number, f"the tag '{top.label}' has no word." if top.label else "a bracket is empty."
                    )
                stack.pop()
                if not stack:
                    found = True
                    yield top
            elif top.children:
                raise wrong(number, f"'{token}' stands beside brackets, without a tag.")
            elif not top.label:
                top.label = token
            elif top.word is None:
                top.word = token
            else:
                raise wrong(number, f"the tag '{top.label}' has two words, '{top.word}' and '{token}'.")
    if stack:
        raise wrong(stack[0].line, "a bracket is opened here that is never closed.")
    if not found:
        raise ValueError(f"'{path}' has no trees in brackets.")
