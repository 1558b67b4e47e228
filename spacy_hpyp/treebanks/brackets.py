"""Phrase structure trees in brackets, as `( (S (NP-SBJ (NNP Ada)) (VP (VBZ sleeps)) (. .)) )`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .conllu import numbered_lines

# White space is that of ASCII: a no-break space is part of a word, as in "1 1/2".
_TOKEN = re.compile(r"[()]|[^() \t\r\n\f\v]+")
# The beginning of lines of the notice above the trees in some releases.
_NOTICE = "*x*"


@dataclass(slots=True, eq=False)
class Tree:
    """A node of a phrase structure tree with its subtree.

    label (str): The label with function tags and indices, a word's tag, or "" for the outer
    bracket. word (str | None): The word of a leaf.
    children (list[Tree]): The children from left to right.
    """

    label: str = ""
    word: str | None = None
    children: list["Tree"] = field(default_factory=list)

    def postorder(self) -> Iterator["Tree"]:
        """Yield the nodes, each after its children. The tree may be of any depth."""
        stack = [(self, False)]
        while stack:
            node, done = stack.pop()
            if done or not node.children:
                yield node
            else:
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(node.children))


def read_trees(path: Path) -> Iterator[Tree]:
    """Read the trees of a file in UTF-8. Lines between trees that begin with `*x*` are a notice.

    RAISES (ValueError): If there is no tree, or a bracket is wrong, with the line.
    """
    # Open brackets, the outermost first.
    stack: list[Tree] = []
    number, is_empty = 0, True
    for number, line in numbered_lines(path):
        if not stack and line.lstrip().startswith(_NOTICE):
            continue
        for token in _TOKEN.findall(line):
            top = stack[-1] if stack else None
            if token == "(" and (top is None or top.word is None):
                stack.append(Tree())
                if top is not None:
                    top.children.append(stack[-1])
            elif token == ")" and top is not None and (top.children or top.word is not None):
                stack.pop()
                if not stack:
                    is_empty = False
                    yield top
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
