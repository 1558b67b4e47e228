"""`hpyp states`: what latent states make of words, and words of latent states."""

from pathlib import Path

import spacy
import srsly
import typer
from wasabi import msg

from ..annotation.uncased import UncasedWords, read_uncased, uncased_key
from ..head_outward.states import BACK_OFFS, DEPENDENCIES, KINDS, LDA, OF_DOCUMENTS, OF_PARENTS, SEMANTIC, SYNTACTIC
from ..models.latent_states import LatentStates
from ..settings import OneOf, check, whole
from ..storage.files import prepare_folder, replace_file
from ..text.unknown_words import unknown_words
from ..text.vocabulary import VocabularySettings
from ..training.state_study import StateFigures, study_states
from .app import hpyp, load_pipeline
from .documents import parse_documents, read_documents
from .progress import Bar

# In the order of the paper's table.
_ORDER = (LDA, DEPENDENCIES, SYNTACTIC, SEMANTIC)


@hpyp.command("states")
def states_cli(
    corpus: Path = typer.Argument(
        ...,
        help="Documents: a .conllu file, a .spacy file whose Docs are documents, or tokenized text with one sentence a line",
        exists=True,
        dir_okay=False,
    ),
    kinds: str = typer.Option(",".join(_ORDER), "--kinds", help="Kinds of models"),
    states: str = typer.Option("10,20,50", "--states", help="Numbers of states"),
    back_off: str = typer.Option(
        "state", "--back-off", help="What words with states and parents back off to: state or parent"
    ),
    sweeps: int = typer.Option(50, "--sweeps", help="Gibbs sweeps over the corpus; the second half counts"),
    seed: int = typer.Option(0, "--seed", help="Fixes the figures"),
    dev: Path | None = typer.Option(
        None,
        "--dev",
        help="Other documents, with gold trees: what part of the heads is found",
        exists=True,
        dir_okay=False,
    ),
    parser: str | None = typer.Option(
        None, "--parser", help="Pipeline that parses the corpus, instead of the trees that it has"
    ),
    sample_trees: bool = typer.Option(
        False, "--sample-trees", help="Draw trees, too, and begin with those of the corpus"
    ),
    min_count: int = typer.Option(2, "--min-count", help="Rarer words are known by their class only"),
    min_class_count: int = typer.Option(5, "--min-class-count", help="Rarer classes give way to more general ones"),
    lang: str = typer.Option("en", "--lang", "-l", help="Language: of the classes of rare words"),
    document_words: int = typer.Option(
        2000, "--document-words", help="Of text: how many words a document has where no empty line ends it"
    ),
    top_words: int = typer.Option(10, "--top-words", help="How many words of each state are shown"),
    output: Path | None = typer.Option(None, "--output", "-o", help="JSON file for the figures", dir_okay=False),
) -> None:
    """Print bits a word, accuracy and top words of models of words with latent states (Wallach, Sutton & McCallum 2008).

    Bits a word are those of leaving one out: each word is predicted from all others. All models have the same vocabulary and the
    same words, so that they can be compared.
    """
    if output is not None:
        prepare_folder(output.parent)
    found = study(
        corpus,
        kinds=[kind.strip() for kind in kinds.split(",")],
        states=_numbers(states),
        back_off=back_off,
        sweeps=sweeps,
        seed=seed,
        dev=dev,
        parser=parser,
        sample_trees=sample_trees,
        min_count=min_count,
        min_class_count=min_class_count,
        lang=lang,
        document_words=document_words,
        top_words=top_words,
    )
    header = (
        "MODEL",
        "STATES",
        "BITS A WORD",
        "HARMONIC",
        *(("UAS",) if dev else ()),
        *(("ACCEPTED",) if sample_trees else ()),
    )
    msg.table([_row(figures, dev is not None, sample_trees) for figures in found], header=header, divider=True)
    for figures in found:
        if figures.kind != DEPENDENCIES and top_words:
            title = f"{figures.kind}, {figures.states} states"
            rows = [(number, " ".join(word for word, _ in words)) for number, words in enumerate(figures.top_words)]
            msg.table(rows, title=title)
    if output is not None:
        replace_file(output, srsly.json_dumps([figures.to_dict() for figures in found], indent=2).encode())
        msg.good(f"Saved the figures to {output}")


def study(
    corpus: Path,
    *,
    kinds: list[str],
    states: list[int],
    back_off: str = "state",
    sweeps: int = 50,
    seed: int = 0,
    dev: Path | None = None,
    parser: str | Path | None = None,
    sample_trees: bool = False,
    min_count: int = 2,
    min_class_count: int = 5,
    lang: str = "en",
    document_words: int = 2000,
    top_words: int = 10,
) -> list[StateFigures]:
    """The figures of models of words, see `spacy_hpyp.training.state_study`.

    corpus (Path): The documents, see `read_documents`.
    kinds (list[str]), states (list[int]): Of the models; every kind with every number of states, `DEPENDENCIES` once.
    back_off (str), sweeps (int), seed (int), sample_trees (bool), top_words (int): See `LatentStates` and `study_states`.
    dev (Path | None): Documents with gold trees.
    parser (str | Path | None): A pipeline that parses the corpus.
    min_count, min_class_count (int), lang (str): How the vocabulary is made.
    document_words (int): See `read_documents`.
    RETURNS (list[StateFigures]): Of each model, in the order of the paper's table.
    RAISES (ValueError): If there is nothing to learn from, or a setting is out of its range.
    """
    for kind in kinds:
        check("kinds", kind, OneOf(KINDS))
    for count in states:
        whole("states", count, highest=10_000)
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
    if set(kinds) & set(OF_PARENTS):
        # The same words for all.
        texts = [(key, text.complete()) for key, text in texts]
    texts = [(key, text) for key, text in texts if text.forms]
    if not texts:
        raise ValueError(
            f"There is nothing to learn from in '{corpus}': it has no words"
            f"{'' if kinds == [LDA] else ', or no complete trees. Give a pipeline that parses it with --parser'}."
        )
    if len(texts) == 1 and set(kinds) & set(OF_DOCUMENTS):
        msg.warn(f"All words of '{corpus}' are in one document, so that states that depend on it depend on nothing.")
    unseen = [] if dev is None else _read_dev(dev, document_words)
    vocabulary = LatentStates(LDA, 1, back_off, settings).collect([text for _, text in texts])
    found = []
    for kind in [kind for kind in _ORDER if kind in kinds]:
        for count in [1] if kind == DEPENDENCIES else sorted(set(states)):
            model = LatentStates(kind, count, back_off, settings)
            model.initialize(vocabulary)
            found.append(
                _study_one(
                    model,
                    texts,
                    unseen,
                    sweeps=sweeps,
                    seed=seed,
                    top_words=top_words,
                    sample_trees=sample_trees and model.reads_parents,
                )
            )
    return found


def _study_one(
    model: LatentStates,
    texts: list[tuple[bytes, UncasedWords]],
    dev: list[UncasedWords],
    *,
    sweeps: int,
    seed: int,
    top_words: int,
    sample_trees: bool,
) -> StateFigures:
    with Bar(total=sweeps, desc=f"{model.kind}, {model.states} states", unit=" sweeps") as bar:

        def show(bits: float) -> None:
            bar.set_postfix({"bits": f"{bits:.3f}"}, refresh=False)
            bar.update()

        return study_states(
            model, texts, dev, sweeps=sweeps, seed=seed, top_words=top_words, sample_trees=sample_trees, progress=show
        )


def _read_dev(path: Path, document_words: int) -> list[UncasedWords]:
    vocab = spacy.blank("xx").vocab
    texts = [read_uncased(doc).complete() for doc in read_documents(path, vocab, document_words=document_words)]
    if not any(text.forms for text in texts):
        raise ValueError(f"There is nothing to compare with in '{path}': it has no complete trees.")
    return texts


def _numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError as error:
        raise ValueError(f"'states' must be whole numbers with commas between, not {text!r}.") from error


def _row(figures: StateFigures, with_accuracy: bool, with_draws: bool) -> list[str]:
    states = "-" if figures.kind == DEPENDENCIES else str(figures.states)
    row = [figures.kind, states, f"{figures.bits:.3f}", f"{figures.exact_bits:.3f}"]
    if with_accuracy:
        row.append("-" if figures.accuracy is None else f"{100 * figures.accuracy:.2f}")
    if with_draws:
        row.append("-" if figures.accepted is None else f"{100 * figures.accepted:.1f}")
    return row
