"""The page of `hpyp explore`, which Streamlit runs from its first line to its last whenever something on it
is changed.
"""

import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy_streamlit import load_model, visualize_tokens

from spacy_hpyp.annotation.alternatives import Alternative
from spacy_hpyp.annotation.extensions import probabilities_of
from spacy_hpyp.annotation.syntactic_words import word_spans, words_as_tokens
from spacy_hpyp.components.corpus import mark_sentence
from spacy_hpyp.components.hpyp_parser import HPYPParser
from spacy_hpyp.components.surprisal import surprisal
from spacy_hpyp.language_model.increments import Increment
from spacy_hpyp.report.page import tree_style, write_tree
from spacy_hpyp.report.trees import direction_of, draw_tree

#: The most characters of a text: what is read in seconds.
LONGEST = 1000
_ATTRIBUTES = ["text", "lemma_", "pos_", "morph", "tag_", "dep_", "head"]
# The page's background is Streamlit's.
_COLOURS = {
    "light": "--page: #ffffff; --muted: #5b616b; --link: #0b57b0; --wrong: #c2410c",
    "dark": "--page: #171614; --muted: #a2a9b4; --link: #8ab8f5; --wrong: #ff9e64",
}


class Analysed(NamedTuple):
    """What a pipeline makes of a text: its words as tokens; its sentences that have been parsed and are not
    white space, and these as they are written; how probable the arc of each word is, and what is to be said
    of that.
    """

    doc: Doc
    sentences: list[Span]
    texts: list[str]
    sure: list[float | None]
    warned: list[str]


@st.cache_resource(max_entries=20, show_spinner="Parsing …")
def analyse(_nlp: Language, name: str, text: str) -> Analysed:
    """Parse a text."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tokens = _nlp(text)
        doc, places = words_as_tokens(tokens), word_spans(tokens).tolist()
        sure = probabilities_of("head_prob", doc)
    parsed = doc.has_annotation("DEP") and doc.has_annotation("SENT_START")
    sentences = [sentence for sentence in doc.sents if sentence.text.strip()] if parsed else []
    texts = [text[places[each.start][0] : places[each.end - 1][1]] for each in sentences]
    return Analysed(doc, sentences, texts, sure, list(dict.fromkeys(str(each.message) for each in found)))


@st.cache_data(max_entries=20, show_spinner="Reading …")
def read(_nlp: Language, name: str, text: str) -> list[dict[str, Any]]:
    """The surprisals of a text."""
    return surprisal(_nlp, [text], running=True)


@st.cache_resource(max_entries=20, show_spinner="Following the beam …")
def follow(_nlp: Language, name: str, component: str, text: str, number: int, k: int) -> list[Increment]:
    """What there is after each word of a sentence."""
    return _nlp.get_pipe(component).increments(analyse(_nlp, name, text).sentences[number].as_doc(), k)


@contextmanager
def section(title: str) -> Iterator[None]:
    """A part of the page; what cannot be shown there is said there."""
    st.subheader(title)
    try:
        yield
    except ValueError as error:
        st.info(str(error))


def show(name: str) -> None:
    """The page about a pipeline."""
    st.set_page_config(page_title="hpyp explore", layout="wide")
    st.html(f"<style>:root {{ {_COLOURS[st.context.theme.type or 'light']} }} {tree_style()}</style>")
    try:
        nlp = load_model(name)
    except (OSError, ValueError, ImportError) as error:
        st.error(f"The pipeline '{name}' cannot be loaded. {error}")
        return
    generative = [each for each, pipe in nlp.pipeline if isinstance(pipe, HPYPParser)]
    for each in generative:
        nlp.get_pipe(each).marginals = True
    st.title(f"{nlp.lang}_{nlp.meta['name']} {nlp.meta['version']}")
    st.caption(" → ".join(nlp.pipe_names))
    given = st.query_params.get("text", _example(nlp.lang))
    text = st.text_area("Text", given[:LONGEST], max_chars=LONGEST)
    if len(given) > LONGEST:
        st.warning(f"The text had {len(given):,} characters: {LONGEST:,} is the most that this page reads.")
    if not text.strip():
        st.info("Type a text, and press Ctrl+Enter.")
    else:
        try:
            found = analyse(nlp, name, text)
        except ValueError as error:
            st.error(str(error))
            return
        with section("Trees"):
            _show_trees(found)
        with section("Surprisal"):
            _show_surprisal(nlp, name, text)
        if found.sentences:
            number = 0
            if len(found.sentences) > 1:
                number = st.selectbox(
                    "Sentence", range(len(found.texts)), format_func=found.texts.__getitem__
                )
            with section("Other trees"):
                _show_alternatives(nlp, found.texts[number])
            with section("What comes next"):
                _show_next(nlp, name, _one_of(generative, "knows what comes next"), text, number)
    with section("Generate"):
        _show_generated(nlp, _one_of(generative, "generates sentences"))
    if text.strip():
        st.subheader("Tokens")
        visualize_tokens(found.doc, attrs=_ATTRIBUTES, title=None)


def _example(lang: str) -> str:
    try:
        return import_module(f"spacy.lang.{lang}.examples").sentences[0]
    except ImportError:
        return ""


def _one_of(generative: list[str], what: str) -> str:
    if not generative:
        raise ValueError(f"No component of the pipeline {what}: that needs an hpyp_parser.")
    return generative[-1]


def _draw(sentence: Span, other: Span | None, sure: list[float | None], title: str) -> None:
    html = write_tree(
        [word.text for word in sentence], draw_tree(sentence, other, sure), f"{title}: {sentence.text}"
    )
    st.html(f'<div dir="{direction_of(sentence.doc)}" lang="{sentence.doc.lang_}">{html}</div>')


def _show_trees(found: Analysed) -> None:
    if not found.sentences:
        raise ValueError("No component of the pipeline has found a tree.")
    rated = any(value is not None for value in found.sure)
    st.caption(
        "Arcs are blue where the parser is sure of the head, and orange where it is not; below 90 %, the "
        "number behind the label says how "
        "probable the head is."
        if rated
        else "No component of the pipeline says how probable its arcs are."
    )
    for warned in found.warned:
        st.warning(warned)
    for sentence in found.sentences:
        _draw(sentence, None, found.sure[sentence.start : sentence.end], "Tree")


def _show_surprisal(nlp: Language, name: str, text: str) -> None:
    rows = read(nlp, name, text)
    if not rows:
        raise ValueError("There is no word in the text.")
    st.caption(
        "In bits: the syntactic part leads to a word's tag, the lexical part is the word given its tag. "
        f"Together {sum(row['surprisal'] for row in rows):.1f} bits."
    )
    parts = {part: [row[f"surprisal_{part}"] for row in rows] for part in ("syntactic", "lexical")}
    _bars([row["text"] for row in rows], parts)
    with st.expander("Table"):
        st.dataframe(pd.DataFrame(rows).drop(columns=["item", "word"]), hide_index=True)


def _show_alternatives(nlp: Language, text: str) -> None:
    able = [each for each, pipe in nlp.pipeline if hasattr(pipe, "k_best")]
    if not able:
        raise ValueError("No component of the pipeline finds more than one tree.")
    columns = st.columns(2)
    component = columns[0].selectbox("Of", able) if len(able) > 1 else able[0]
    k = columns[1].number_input("How many", 2, 20, 3)
    # Who is guided wants guides to this sentence.
    found = nlp.get_pipe(component).k_best(nlp(mark_sentence(nlp.make_doc(text))), k)
    best = words_as_tokens(found[0].doc)[:]
    st.caption(
        f"The best {len(found)} of {component}; arcs that the first has not are dashed. Some differ in tags "
        f"alone."
    )
    for rank, each in enumerate(found, 1):
        if isinstance(each, Alternative):
            ratio = math.exp(each.log_prob - found[0].log_prob)
            score = f"log-probability {each.log_prob:.2f}" + (
                f", {ratio:.1%} of the first" if rank > 1 else ""
            )
        else:
            score = f"score {each.score:.2f}"
        st.markdown(f"**{rank}** {score}")
        _draw(words_as_tokens(each.doc)[:], best, [], f"Tree {rank}")


def _show_next(nlp: Language, name: str, component: str, text: str, number: int) -> None:
    found = follow(nlp, name, component, text, number, 10)
    words = analyse(nlp, name, text).sentences[number].as_doc()
    st.caption(
        "Entropies in bits after each word: of the next word, and over the parses of the words so far."
    )
    names = [words[each.token].text for each in found]
    entropies = {
        "next word": [each.entropy_next for each in found],
        "parses": [each.entropy_analyses for each in found],
    }
    _bars(names, entropies, stack=False)
    places = range(len(found))
    chosen = found[
        st.select_slider("After", places, len(found) // 2, format_func=lambda i: f"{i + 1} {names[i]}")
    ]
    st.caption("The most probable next words; names in angle brackets are classes of rare words.")
    expected = [word or "(end of the sentence)" for word, _ in chosen.next_words]
    st.dataframe(
        pd.DataFrame(
            {"word": expected, "probability": [probability for _, probability in chosen.next_words]}
        ),
        column_config={"probability": st.column_config.ProgressColumn(max_value=1.0, format="percent")},
        hide_index=True,
    )


def _bars(words: list[str], values: dict[str, list[float]], *, stack: bool = True) -> None:
    """Bars of bits over words, which have numbers: some are there twice."""
    table = pd.DataFrame({"word": [f"{i} {word}" for i, word in enumerate(words, 1)], **values})
    st.bar_chart(table, x="word", y=[*values], x_label="", y_label="bits", sort=False, stack=stack)


def _show_generated(nlp: Language, component: str) -> None:
    with st.form("generation"):
        columns = st.columns([3, 1, 1])
        beginning = columns[0].text_input("Begin with", max_chars=LONGEST)
        count, seed = (
            columns[1].number_input("Sentences", 1, 50, 5),
            columns[2].number_input("Seed", 0, None, 0),
        )
        if not st.form_submit_button("Draw"):
            return
    with st.spinner("Drawing …"):
        words = [token.text for token in nlp.make_doc(beginning) if not token.is_space]
        drawn = list(nlp.get_pipe(component).generate(count, begin_with=words, seed=seed))
    rows = [{"log-probability": doc._.log_prob, "sentence": doc.text} for doc in drawn]
    number = st.column_config.NumberColumn(format="%.2f", width="small")
    st.dataframe(pd.DataFrame(rows), column_config={"log-probability": number}, hide_index=True)


if __name__ == "__main__":
    show(sys.argv[1])
