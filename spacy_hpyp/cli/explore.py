"""`hpyp explore`: a local page on which a pipeline is tried. Streamlit runs this file."""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Span, Token
from spacy.util import is_package

from spacy_hpyp.annotation.syntactic_words import to_word_doc
from spacy_hpyp.cli.app import require_extra
from spacy_hpyp.cli.options import argument
from spacy_hpyp.cli.report import draw_tree
from spacy_hpyp.pipeline.corpus import mark_sentence
from spacy_hpyp.pipeline.hpyp_parser import HPYPParser
from spacy_hpyp.pipeline.surprisal import surprisal

# Streamlit is already imported if it runs this file. Imports are absolute for this case.
st: Any = sys.modules.get("streamlit")
# The longest text, in characters. It takes seconds.
_LONGEST = 1000
_ATTRIBUTES = "text lemma_ pos_ morph tag_ dep_ head".split()
# The page is visible only on this machine.
_SETTINGS = {"server.address": "localhost", "server.fileWatcherType": "none"}
_SETTINGS |= {"browser.gatherUsageStats": "false", "client.toolbarMode": "viewer"}


def explore(
    ctx: typer.Context,
    model: Annotated[str, argument("Name or path of a trained pipeline with a parser")],
) -> None:
    """Open an interactive page of trees, surprisals and next words.

    Streamlit (extra 'explore') serves the page on this machine until Ctrl-C. Other options go to
    Streamlit: --server.port 8600, or --server.headless true for no browser.
    """
    require_extra("explore", "streamlit")
    if not is_package(model) and not (Path(model) / "config.cfg").is_file():
        raise ValueError(f"There is no pipeline '{model}': neither a package nor a directory.")
    own = [
        f"--{key}={value}"
        for key, value in _SETTINGS.items()
        if not any(key in arg for arg in ctx.args)
    ]
    sys.argv = ["streamlit", "run", __file__, *own, *ctx.args, "--", model]
    runpy.run_module("streamlit", run_name="__main__")


def show_page(name: str) -> None:
    """Show the page of a pipeline."""
    st.set_page_config(page_title="hpyp explore", layout="wide")
    try:
        nlp = st.cache_resource(spacy.load)(name)
    except (OSError, ValueError, ImportError) as error:
        st.error(f"The pipeline '{name}' cannot be loaded. {error}")
        return
    generative = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser)]
    for pipe in generative:
        pipe.decoding = "mbr"
    st.title(f"{nlp.lang}_{nlp.meta['name']} {nlp.meta['version']}")
    st.caption(" → ".join(nlp.pipe_names))
    text = st.text_area("Text", max_chars=_LONGEST)
    if not text.strip():
        st.info("Type a text, and press Ctrl+Enter.")
        return
    doc = to_word_doc(nlp(text))
    st.subheader("Trees")
    if not doc.has_annotation("DEP"):
        st.info("No component of the pipeline has found a tree.")
    else:
        st.caption("A number behind a label is the probability of the head in percent.")
        for sentence in doc.sents:
            _show_tree(sentence, _probability)
        found = list(doc.sents)
        number = st.selectbox("Sentence", range(len(found)), format_func=lambda i: found[i].text)
        _show_alternatives(nlp, found[number].text)
    if generative:
        _show_surprisal(nlp, text)
        _show_next(generative[-1], nlp.make_doc(text))
    else:
        st.info("Surprisals and next words need an hpyp_parser.")
    st.subheader("Tokens")
    st.dataframe([{name: str(getattr(token, name)) for name in _ATTRIBUTES} for token in doc])


def _probability(token: Token) -> str:
    return "" if token._.head_prob is None else f" {token._.head_prob:.0%}"


def _show_tree(sentence: Span, note: Callable[[Token], str]) -> None:
    st.html(f'<div style="overflow-x: auto">{draw_tree(sentence, note)}</div>')


def _show_alternatives(nlp: Language, text: str) -> None:
    able = [name for name, pipe in nlp.pipeline if hasattr(pipe, "k_best")]
    if not able:
        return
    st.subheader("Other trees")
    component = st.selectbox("Of", able)
    k = st.number_input("How many", 2, 20, 3)
    # A guided parser needs guides to this sentence.
    parses = nlp.get_pipe(component).k_best(nlp(mark_sentence(nlp.make_doc(text))), k)
    best = to_word_doc(parses[0].doc)
    for rank, parse in enumerate(parses, 1):
        score = getattr(parse, "log_prob", None) or getattr(parse, "score", 0.0)
        st.markdown(f"**{rank}** {score:.2f}")
        words = to_word_doc(parse.doc)
        _show_tree(words[:], lambda token: " ✗" * (token.head.i != best[token.i].head.i))


def _show_surprisal(nlp: Language, text: str) -> None:
    st.subheader("Surprisal")
    rows = surprisal(nlp, [text], running=True)
    parts = ("syntactic", "lexical")
    table = [
        {"word": f"{i} {row['text']}", **{part: row[f"surprisal_{part}"] for part in parts}}
        for i, row in enumerate(rows, 1)
    ]
    st.caption("Bits for the tag of each word (syntactic) and the word given its tag (lexical).")
    st.bar_chart(table, x="word", y=parts, y_label="bits", sort=False)


def _show_next(parser: HPYPParser, doc: Any) -> None:
    st.subheader("What comes next")
    steps = parser.increments(doc, 10)
    chosen = st.select_slider("After", range(len(steps)), format_func=lambda i: f"{i + 1}")
    step = steps[chosen]
    st.caption(
        f"Entropies: next word {step.entropy_next:.2f}, parses {step.entropy_analyses:.2f} bits."
    )
    words = [
        {"word": word or "(end of the sentence)", "probability": p} for word, p in step.next_words
    ]
    st.dataframe(words, hide_index=True)


if __name__ == "__main__":
    show_page(sys.argv[1])
