"""Trees as displaCy draws them."""

from collections.abc import Callable

from markupsafe import Markup, escape
from spacy import displacy
from spacy.tokens import Span, Token


def draw_tree(sentence: Span, note: Callable[[Token], str] = lambda token: "") -> Markup:
    """Draw the tree of a sentence as SVG.

    note (Callable[[Token], str]): Text behind the label of a token's arc.
    """
    start = sentence.start
    arcs = [
        {
            "start": min(token.i, token.head.i) - start,
            "end": max(token.i, token.head.i) - start,
            "label": escape(token.dep_ + note(token)),
            "dir": "left" if token.i < token.head.i else "right",
        }
        for token in sentence
        if token.dep_ and token.head.i != token.i
    ]
    words = [{"text": token.text, "tag": escape(token.tag_)} for token in sentence]
    settings = {
        "lang": sentence.doc.lang_,
        "direction": sentence.vocab.writing_system.get("direction", "ltr"),
    }
    tree = {"words": words, "arcs": arcs, "settings": settings}
    options = {"compact": True, "distance": 110, "color": "currentColor", "bg": "transparent"}
    return Markup(displacy.render(tree, style="dep", manual=True, jupyter=False, options=options))
