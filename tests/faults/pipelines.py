"""Pipelines to attack: small, quickly trained, and with every component there is."""

from pathlib import Path
from typing import Any

import spacy
from spacy.cli.convert import convert
from spacy.language import Language
from spacy.training import Corpus, Example

from spacy_hpyp.language_model.ngram import train_ngram_model

PROJECT = Path(__file__).resolve().parent.parent.parent
SAMPLE = PROJECT / "assets" / "sample"
#: The trained components, in their order: by name, with the factory and the settings that make them small.
COMPONENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "easy_first_senter": ("easy_first_senter", {"model": {"places": 2**14}}),
    "hpyp_parser": ("hpyp_parser", {"particles": 10, "guides": True}),
    "keep_hpyp_parser": ("keep_parse", {"name_of_parse": "hpyp_parser"}),
    "easy_first_tagger": ("easy_first_tagger", {"model": {"places": 2**14}}),
    "easy_first_parser": ("easy_first_parser", {"model": {"arc_places": 2**14, "label_places": 2**12}}),
    "keep_easy_first_parser": ("keep_parse", {"name_of_parse": "easy_first_parser"}),
    "head_outward_parser": ("head_outward_parser", {}),
    "parse_reranker": ("parse_reranker", {"source": "head_outward_parser", "k": 5}),
    "parse_combiner": (
        "parse_combiner",
        {"model": {"voters": ["hpyp_parser", "easy_first_parser", "parse_reranker"]}},
    ),
    "head_outward_states": ("head_outward_states", {}),
}
#: Those that learn.
LEARNING = [name for name, (factory, _) in COMPONENTS.items() if factory != "keep_parse"]
#: The n-gram model beside a pipeline.
NGRAM = "words.ngram"


def train_pipelines(folder: Path) -> None:
    """Train on the sample: `folder/one`, and `folder/other`, which has learned something besides; with an
    n-gram model in each.
    """
    for part in ("train", "dev"):
        convert(
            SAMPLE / f"en_sample-ud-{part}.conllu", folder, converter="conllu", file_type="spacy", n_sents=10
        )
    nlp = spacy.blank("en")
    for name, (factory, settings) in COMPONENTS.items():
        nlp.add_pipe(factory, name=name, config=settings)
    examples = examples_of(nlp, folder)
    nlp.initialize(lambda: examples)
    for name in LEARNING:
        for _ in range(2):
            learn(nlp, name, examples[:80])
    save(nlp, folder / "one", examples)
    for name in LEARNING:
        learn(nlp, name, examples[:100])
    save(nlp, folder / "other", examples[:-1])


def examples_of(nlp: Language, folder: Path) -> list[Example]:
    """The sentences of the sample, each as a document."""
    return list(Corpus(folder / "en_sample-ud-train.spacy", gold_preproc=True)(nlp))


def learn(nlp: Language, name: str, examples: list[Example]) -> None:
    """Have one component learn from some examples, as `nlp.update` would if it learned alone."""
    component = nlp.get_pipe(name)
    fresh = [Example(nlp.make_doc(each.text), each.reference) for each in examples]
    if name == "parse_combiner":
        before = nlp.pipe_names[: nlp.pipe_names.index(name)]
        fresh = fresh[:12]
        for each in fresh:
            for other in before:
                each.predicted = nlp.get_pipe(other)(each.predicted)
    component.update(fresh)


def save(nlp: Language, path: Path, examples: list[Example]) -> None:
    """Save a pipeline with what it predicts by, and an n-gram model of the same text."""
    nlp.to_disk(path)
    spacy.load(path).get_pipe("hpyp_parser").save_views()
    sentences = [[token.text for token in each.reference] for each in examples]
    train_ngram_model(sentences, order=3, sweeps=4, samples=2).to_disk(path / NGRAM)
