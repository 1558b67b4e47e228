"""`hpyp papers states`: what latent states make of words, and words of latent states."""

from functools import partial
from pathlib import Path
from typing import Annotated

import spacy
from wasabi import msg

from ..annotation.uncased import UncasedWords, read_uncased, uncased_key
from ..head_outward.states import BACK_OFFS, DEPENDENCIES, KINDS, LDA, OF_DOCUMENTS, OF_PARENTS, SEMANTIC, SYNTACTIC
from ..models.latent_states import LatentStates
from ..settings import OneOf, check, whole
from ..text.unknown_words import unknown_words
from ..text.vocabulary import VocabularySettings
from ..training.state_study import StateFigures, study_states
from .app import load_pipeline
from .options import Json, Lang, MinClassCount, MinCount, argument, option
from .output import percent, read_numbers, save_json
from .progress import Bar
from .raw_text import parse_documents, read_documents

# In the order of the paper's table.
_ORDER = (LDA, DEPENDENCIES, SYNTACTIC, SEMANTIC)


def states(
    corpus: Annotated[
        Path,
        argument(
            "Documents: a .conllu file, a .spacy file whose Docs are documents, or tokenized text with one sentence a line",
            exists=True,
            dir_okay=False,
        ),
    ],
    *,
    kinds: Annotated[str, option("Kinds of models")] = ",".join(_ORDER),
    counts: Annotated[str, option("Numbers of states", "--states")] = "10,20,50",
    back_off: Annotated[str, option("What words with states and parents back off to: state or parent")] = "state",
    sweeps: Annotated[int, option("Gibbs sweeps over the corpus; the second half counts")] = 50,
    seed: Annotated[int, option("Fixes the figures")] = 0,
    dev: Annotated[
        Path | None,
        option("Other documents, with gold trees: what part of the heads is found", exists=True, dir_okay=False),
    ] = None,
    parser: Annotated[str | None, option("Pipeline that parses the corpus, instead of the trees that it has")] = None,
    sample_trees: Annotated[
        bool, option("Draw trees, too, and begin with those of the corpus", "--sample-trees")
    ] = False,
    min_count: MinCount = 2,
    min_class_count: MinClassCount = 5,
    lang: Lang = "en",
    document_words: Annotated[int, option("Of text: how many words a document has where no empty line ends it")] = 2000,
    top_words: Annotated[int, option("How many words of each state are shown")] = 10,
    output: Json = None,
) -> None:
    """Print bits a word, accuracy and top words of models of words with latent states (Wallach, Sutton & McCallum 2008).

    Bits a word are those of leaving one out: each word is predicted from all others. All models have the same vocabulary and the
    same words, so that they can be compared.
    """
    chosen, numbers = [kind.strip() for kind in kinds.split(",")], read_numbers("states", counts, 10_000)
    for kind in chosen:
        check("kinds", kind, OneOf(KINDS))
    check("back-off", back_off, OneOf(BACK_OFFS))
    whole("sweeps", sweeps, least=2)
    whole("seed", seed, least=0)
    whole("top-words", top_words, least=0)
    whole("document-words", document_words)
    blank = spacy.blank(lang)
    settings = VocabularySettings(unknown_words(lang), min_count, min_class_count)
    nlp = None if parser is None else load_pipeline(parser)
    docs = read_documents(corpus, blank.vocab if nlp is None else nlp.vocab, document_words=document_words)
    read = {uncased_key(doc): read_uncased(doc) for doc in (docs if nlp is None else parse_documents(docs, nlp))}
    texts = list(read.items())
    if set(chosen) & set(OF_PARENTS):
        # The same words for all.
        texts = [(key, text.complete()) for key, text in texts]
    texts = [(key, text) for key, text in texts if text.forms]
    if not texts:
        raise ValueError(
            f"There is nothing to learn from in '{corpus}': it has no words"
            f"{'' if chosen == [LDA] else ', or no complete trees. Give a pipeline that parses it with --parser'}."
        )
    if len(texts) == 1 and set(chosen) & set(OF_DOCUMENTS):
        msg.warn(f"All words of '{corpus}' are in one document, so that states that depend on it depend on nothing.")
    unseen = [] if dev is None else _read_dev(dev, document_words)
    vocabulary = LatentStates(LDA, 1, back_off, settings).collect([text for _, text in texts])
    found: list[StateFigures] = []
    for kind in [kind for kind in _ORDER if kind in chosen]:
        for count in [1] if kind == DEPENDENCIES else sorted(set(numbers)):
            model = LatentStates(kind, count, back_off, settings)
            model.initialize(vocabulary)
            with Bar(total=sweeps, desc=f"{kind}, {count} states", unit=" sweeps") as bar:
                found.append(
                    study_states(
                        model,
                        texts,
                        unseen,
                        sweeps=sweeps,
                        seed=seed,
                        top_words=top_words,
                        sample_trees=sample_trees and model.reads_parents,
                        progress=partial(_show_bits, bar),
                    )
                )
    header = ["MODEL", "STATES", "BITS A WORD", "HARMONIC", *["UAS"][: dev is not None], *["ACCEPTED"][:sample_trees]]
    msg.table([_row(figures, dev is not None, sample_trees) for figures in found], header=header, divider=True)
    for figures in found:
        if figures.kind != DEPENDENCIES and top_words:
            title = f"{figures.kind}, {figures.states} states"
            rows = [(number, " ".join(word for word, _ in words)) for number, words in enumerate(figures.top_words)]
            msg.table(rows, title=title)
    save_json(output, [figures.to_dict() for figures in found], "the figures")


def _show_bits(bar: Bar, bits: float) -> None:
    bar.set_postfix({"bits": f"{bits:.3f}"}, refresh=False)
    bar.update()


def _read_dev(path: Path, document_words: int) -> list[UncasedWords]:
    vocab = spacy.blank("xx").vocab
    texts = [read_uncased(doc).complete() for doc in read_documents(path, vocab, document_words=document_words)]
    if not any(text.forms for text in texts):
        raise ValueError(f"There is nothing to compare with in '{path}': it has no complete trees.")
    return texts


def _row(figures: StateFigures, with_accuracy: bool, with_draws: bool) -> list[str]:
    states = "-" if figures.kind == DEPENDENCIES else str(figures.states)
    row = [figures.kind, states, f"{figures.bits:.3f}", f"{figures.exact_bits:.3f}"]
    if with_accuracy:
        row.append(percent(figures.accuracy))
    if with_draws:
        row.append("-" if figures.accepted is None else f"{100 * figures.accepted:.1f}")
    return row
