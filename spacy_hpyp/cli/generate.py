"""`hpyp generate`: sentences drawn from a model, and the most probable of them."""

from heapq import nlargest
from pathlib import Path
from typing import Annotated, Any

import spacy
from spacy.tokens import Doc
from wasabi import msg

from ..language_model.ngram import NGramModel
from ..storage import replace_file
from ..text.spacing import spaces_between
from .app import NEW_FILE, AnyModel, Bar, Particles, Threads, json_line, load_parser, option
from .ngram import is_ngram_model, refuse


def generate(
    model: AnyModel,
    *,
    number: Annotated[int, option("How many sentences to draw", "--number -n")] = 1000,
    best: Annotated[
        int, option("How many of the most probable to show and to save", "--best -b", least=1)
    ] = 10,
    min_length: Annotated[int, option("Shorter sentences are not among the best")] = 10,
    max_length: Annotated[int, option("The most words of a sentence")] = 60,
    seed: Annotated[int, option("Fixes the sentences")] = 0,
    output: Annotated[
        Path | None, option("File for the best, .jsonl", "--output -o", **NEW_FILE)
    ] = None,
    particles: Particles = None,
    threads: Threads = None,
) -> None:
    """Draw sentences from a model and show the most probable ones of some length.

    A sentence's probability is the sum over the parser's beam, not that of the derivation that was
    drawn; an n-gram model's is exact. Rare words are spelled out, or appear as the name of their
    class in angle brackets if the model does not spell.
    """
    is_ngrams = is_ngram_model(model)
    if is_ngrams:
        refuse("a parser, but here is an n-gram model", particles=particles, threads=threads)
        source: Any = NGramModel.from_disk(model)
        nlp = spacy.blank(source.words.lang)
    else:
        nlp, source = load_parser(model, particles=particles, threads=threads)
    drawn = source.generate(number, max_length=max_length, seed=seed)
    if is_ngrams:
        separated = nlp.vocab.writing_system["has_letters"]
        sentences = (
            (
                one.log_prob,
                Doc(nlp.vocab, one.words, spaces_between(one.words, separated=separated)),
            )
            for one in drawn
        )
    else:
        sentences = ((doc._.log_prob, doc) for doc in drawn)
    with Bar(sentences, desc="Generating", total=number, unit=" sentences") as bar:
        different = {doc.text: (log_prob, doc) for log_prob, doc in bar if len(doc) >= min_length}
    found = nlargest(best, different.values(), key=lambda one: one[0])
    if not found:
        raise ValueError(
            f"None of the {number} sentences has {min_length} words or more: draw more, or allow shorter "
            f"ones."
        )
    for log_prob, doc in found:
        print(f"{log_prob:8.2f}  {doc.text}")
    if output is not None:
        lines = (json_line(_record(log_prob, doc, trees=not is_ngrams)) for log_prob, doc in found)
        replace_file(output, "".join(lines).encode())
        msg.good(f"Saved {len(found)} sentences to {output}")


def _record(log_prob: float, doc: Doc, *, trees: bool) -> dict[str, Any]:
    record = {"text": doc.text, "log_prob": log_prob, "words": [token.text for token in doc]}
    if trees:
        record |= {
            "tags": [token.tag_ for token in doc],
            "heads": [token.head.i for token in doc],
            "deps": [token.dep_ for token in doc],
        }
    return record
