"""`hpyp rerank`: what there is to be gained by choosing among the trees of a parser, and what is gained."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import srsly
import typer
from spacy.tokens import Doc
from wasabi import msg

from ..annotation.documents import problem_of, raw_sentences
from ..components.corpus import create_gold_corpus
from ..components.parse_reranker import ParseReranker, agreement
from ..models.ranking import UNLEARNED
from ..settings import whole
from ..storage.files import prepare_folder, replace_file
from .app import hpyp, load_pipeline
from .progress import Bar

#: Those of Sangati, Zuidema & Bod (2009, table 2).
LENGTHS = (*range(1, 11), 100, 1000)


@dataclass(frozen=True)
class Choice:
    """The parse accuracy of what is chosen among the k best trees of each sentence, punctuation left out.

    source (str): The parser that has found them.
    k (int): How many there are at most.
    candidates (float): How many there are, on average.
    oracle_best, oracle_worst (float): The UAS of the best and of the worst of them.
    generative (float): The UAS of those that the generative model takes for the most probable.
    reranked_uas, reranked_las (float): Of those that the component chooses.
    weights (dict[str, float]): What it chooses by, see `spacy_hpyp.models.ranking.FEATURES`.
    """

    source: str
    k: int
    candidates: float
    oracle_best: float
    oracle_worst: float
    generative: float
    reranked_uas: float
    reranked_las: float
    weights: dict[str, float]


@hpyp.command("rerank")
def rerank_cli(
    model: str = typer.Argument(..., help="Name or path of a trained pipeline with a parse_reranker"),
    data_path: Path = typer.Argument(..., help="Evaluation data in .spacy format", exists=True),
    lengths: str = typer.Option(
        ",".join(map(str, LENGTHS)), "--k", "-k", help="How many trees of a sentence to choose among, as 1,10,100"
    ),
    sources: list[str] = typer.Option(
        [], "--source", "-s", help="The parser that finds them, instead of the component's; can be given several times"
    ),
    gold_tags: bool = typer.Option(False, "--gold-tags", help="Give the gold tags to the parser"),
    threads: int | None = typer.Option(None, "--threads", "-t", help="Threads, instead of the component's setting"),
    output: Path | None = typer.Option(None, "--output", "-o", help="JSON file for the figures", dir_okay=False),
) -> None:
    """Compare the k best trees of a parser with what a generative model chooses among them (Sangati, Zuidema & Bod 2009, table 2).

    On gold tokens and gold sentences. UAS leaves punctuation out; "generative" is the generative model alone, as in the paper,
    "reranked" what the component chooses. The first of the k trees is that of the parser itself.
    """
    if output is not None:
        prepare_folder(output.parent)
    figures = rerank(
        model, data_path, lengths=read_lengths(lengths), sources=sources, gold_tags=gold_tags, threads=threads
    )
    found = list(figures)
    for source in dict.fromkeys(each.source for each in found):
        rows = [_row(each) for each in found if each.source == source]
        header = ("k", "trees", "oracle best", "oracle worst", "generative", "reranked", "LAS")
        msg.table(
            rows, header=header, divider=True, aligns=("r",) * len(header), title=f"The k best trees of '{source}', UAS"
        )
    msg.table(
        [(name, f"{weight:.3f}") for name, weight in found[-1].weights.items()], aligns=("l", "r"), title="Weights"
    )
    if output is not None:
        replace_file(output, srsly.json_dumps([asdict(each) for each in found], indent=2).encode())
        msg.good(f"Saved results to {output}")


def _row(each: Choice) -> tuple[str, ...]:
    figures = each.oracle_best, each.oracle_worst, each.generative, each.reranked_uas, each.reranked_las
    return str(each.k), f"{each.candidates:.1f}", *(f"{100 * figure:.2f}" for figure in figures)


def read_lengths(text: str) -> list[int]:
    """Numbers with commas between them.

    RAISES (ValueError): If they are none, or one is not at least 1.
    """
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--k is whole numbers with commas between them, as 1,10,100, not '{text}'.") from None
    return [whole("k", number, highest=1_000_000) for number in numbers]


def rerank(
    model: str | Path,
    data_path: Path,
    *,
    lengths: Sequence[int] = LENGTHS,
    sources: Sequence[str] = (),
    gold_tags: bool = False,
    threads: int | None = None,
) -> Iterator[Choice]:
    """Rerank the k best trees of gold sentences.

    model (str | Path): Name or path of a pipeline with one parse_reranker.
    data_path (Path): A .spacy file or a directory of them.
    lengths (Sequence[int]): How many trees there are to choose among.
    sources (Sequence[str]): The parsers that find them; none: the component's source.
    gold_tags (bool): Whether they are given the gold tags, and no other component comes before them.
    threads (int | None): Instead of the component's setting.
    RETURNS (Iterator[Choice]): Of each source, for each k.
    RAISES (ValueError): If there is no such component or parser, or no gold tree.
    """
    nlp = load_pipeline(model)
    rerankers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, ParseReranker)]
    if len(rerankers) != 1:
        raise ValueError(f"The pipeline '{model}' should have one parse_reranker, but it has {nlp.pipe_names}.")
    (reranker,) = rerankers
    reranker.change(**({} if threads is None else {"threads": threads}))
    for source in sources or [reranker.source_name]:
        reranker.source = source
        examples = list(create_gold_corpus(data_path, gold_tags=gold_tags)(nlp))
        golds = [next(raw_sentences(example.reference), None) for example in examples]
        pairs = [
            (example.predicted, gold)
            for example, gold in zip(examples, golds)
            if gold is not None and problem_of(gold.rows) is None
        ]
        if not pairs:
            raise ValueError(
                f"There is nothing to compare with in '{data_path}': no sentence has a complete gold tree."
            )
        components = [pipe for _, pipe in nlp.pipeline]
        place = nlp.pipe_names.index(reranker.source_name)
        docs: Iterable[Doc] = [doc for doc, _ in pairs]
        for pipe in components[place if gold_tags else 0 : place + 1]:
            docs = pipe.pipe(docs)
        parsed = [(doc, gold) for doc, (_, gold) in zip(docs, pairs)]
        for k in lengths:
            yield _choose(reranker, parsed, k)


def _choose(reranker: ParseReranker, parsed: Sequence[tuple[Doc, object]], k: int) -> Choice:
    sums = np.zeros(5)
    words = trees = 0
    for doc, gold in Bar(parsed, unit=" sentences", desc=f"k = {k}"):
        found = reranker.rerank([doc], k=k)[0]
        # A parser may take what is one sentence for several; then there is one tree that is none, for each.
        for each in found if len(found) == 1 else []:
            right, labelled, counted = agreement(each.candidates, gold, doc.vocab)
            alone = int(np.argmax(each.features @ UNLEARNED))
            sums += right.max(), right.min(), right[alone], right[each.chosen], labelled[each.chosen]
            words, trees = words + counted, trees + len(right)
    count = max(1, len(parsed))
    return Choice(reranker.source_name, k, trees / count, *(sums / max(1, words)).tolist(), reranker.weights)
