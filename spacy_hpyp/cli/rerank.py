"""`hpyp papers rerank`: what there is to be gained by choosing among the trees of a parser, and what is gained."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np
from spacy.tokens import Doc
from wasabi import msg

from ..annotation.documents import problem_of, raw_sentences
from ..components.corpus import create_gold_corpus
from ..components.parse_reranker import ParseReranker, agreement
from ..models.reranker import UNLEARNED
from .app import load_pipeline
from .options import Data, GoldTags, Json, Threads, argument, option
from .output import print_table, read_numbers, save_json
from .progress import Bar

#: Those of Sangati, Zuidema & Bod (2009, table 2).
LENGTHS = "1,2,3,4,5,6,7,8,9,10,100,1000"


@dataclass(frozen=True)
class Choice:
    """The parse accuracy of what is chosen among the k best trees of each sentence, punctuation left out.

    source (str): The parser that has found them.
    k (int): How many there are at most.
    candidates (float): How many there are, on average.
    oracle_best, oracle_worst (float): The UAS of the best and of the worst of them.
    generative (float): The UAS of those that the generative model takes for the most probable.
    reranked_uas, reranked_las (float): Of those that the component chooses.
    weights (dict[str, float]): What it chooses by, see `spacy_hpyp.models.reranker.FEATURES`.
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


def rerank(
    model: Annotated[str, argument("Name or path of a trained pipeline with a parse_reranker")],
    data_path: Data,
    *,
    lengths: Annotated[str, option("How many trees of a sentence to choose among, as 1,10,100", "--k -k")] = LENGTHS,
    sources: Annotated[
        list[str] | None,
        option("The parser that finds them, instead of the component's; can be given several times", "--source -s"),
    ] = None,
    gold_tags: GoldTags = False,
    threads: Threads = None,
    output: Json = None,
) -> None:
    """Compare the k best trees of a parser with what a generative model chooses among them (Sangati, Zuidema & Bod 2009, table 2).

    On gold tokens and gold sentences. UAS leaves punctuation out; "generative" is the generative model alone, as in the paper,
    "reranked" what the component chooses. The first of the k trees is that of the parser itself.
    """
    counts = read_numbers("k", lengths, 1_000_000)
    nlp = load_pipeline(model)
    rerankers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, ParseReranker)]
    if len(rerankers) != 1:
        raise ValueError(f"The pipeline '{model}' should have one parse_reranker, but it has {nlp.pipe_names}.")
    (reranker,) = rerankers
    reranker.change(**({} if threads is None else {"threads": threads}))
    found: list[Choice] = []
    for source in dict.fromkeys(sources or [reranker.source_name]):
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
        for k in counts:
            found.append(_choose(reranker, parsed, k))
        header = ("k", "trees", "oracle best", "oracle worst", "generative", "reranked", "LAS")
        rows = [_row(each) for each in found if each.source == source]
        print_table(header, rows, f"The k best trees of '{source}', UAS", left=0)
    weights = [(name, f"{weight:.3f}") for name, weight in found[-1].weights.items()]
    msg.table(weights, aligns=("l", "r"), title="Weights")
    save_json(output, [asdict(each) for each in found], "results")


def _row(each: Choice) -> tuple[str, ...]:
    figures = each.oracle_best, each.oracle_worst, each.generative, each.reranked_uas, each.reranked_las
    return str(each.k), f"{each.candidates:.1f}", *(f"{100 * figure:.2f}" for figure in figures)


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
