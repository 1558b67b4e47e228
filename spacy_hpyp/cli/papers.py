"""What only the papers need: `hpyp papers head-outward`, `states` and `rerank`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
from spacy.tokens import Doc
from spacy.util import get_lang_class
from wasabi import msg

from ..annotation.documents import problem_of, raw_sentences
from ..annotation.uncased import UncasedWords, read_uncased, uncased_key
from ..components.corpus import create_gold_corpus
from ..components.head_outward_parser import HeadOutwardParser
from ..components.parse_reranker import ParseReranker, agreement
from ..head_outward.states import DEPENDENCIES, KINDS, LDA, OF_DOCUMENTS, OF_PARENTS, SEMANTIC, SYNTACTIC
from ..models.latent_states import LatentStates
from ..models.reranker import UNLEARNED
from ..settings import OneOf, check, whole
from ..text.unknown_words import unknown_words
from ..text.vocabulary import VocabularySettings
from ..training.state_study import StateFigures, study_states
from .app import load_pipeline
from .evaluate import give_tags
from .options import (
    FILE,
    Data,
    GoldTags,
    Json,
    Lang,
    MinClassCount,
    MinCount,
    Threads,
    TrainData,
    argument,
    option,
)
from .output import percent, print_table, read_numbers, save_json
from .progress import Bar
from .raw_text import parse_documents, read_corpus, read_documents

_FACTORY = "head_outward_parser"


#: Prior, counts and hyperparameters of the estimators of Wallach, Sutton & McCallum (2008), see
#: `spacy_hpyp.models.settings.EstimatorSettings`;
#: raw counts, which come first, have neither a seating nor anything to be sampled.
ESTIMATORS = (
    ("eisner", "minimal", "fixed"),
    *product(("dirichlet", "pitman-yor"), ("minimal", "sampled"), ("fixed", "sampled")),
)


@dataclass(frozen=True)
class Accuracy:
    """The parse accuracy of an estimator.

    prior, counts, hyperparameters (str): Which it is.
    dep_uas (float): The part of the words whose heads are right, punctuation left out.
    errors_fewer (float | None): By what part wrong heads are fewer than Eisner's; None if those are none.
    token_log_prob (float): The log-probability of a sentence's words and tags, summed over all projective
        trees, for each word in nats.
    """

    prior: str
    counts: str
    hyperparameters: str
    dep_uas: float
    errors_fewer: float | None
    token_log_prob: float


def head_outward(
    train_path: TrainData,
    dev_path: Data,
    *,
    output: Json = None,
    lang: Lang = "en",
    sweeps: Annotated[int, option("Gibbs sweeps over the training data, where anything is sampled")] = 10,
    decoding: Annotated[str, option("best, the paper's, or mbr")] = "best",
    tags_from: Annotated[str | None, option("Parse with this pipeline's tags, as the paper does")] = None,
    seed: Annotated[int, option("Fixes the figures")] = 0,
    threads: Annotated[int, option("Threads; the figures do not depend on it", "-t")] = 1,
) -> list[Accuracy]:
    """Compare the estimators of Wallach, Sutton & McCallum (2008): Eisner's, and hierarchical Dirichlet and
    Pitman-Yor processes.

    Each is trained on gold tokens, tags and trees, with the paper's context lists, and parses gold sentences
    with gold tags, or those of a tagger. UAS leaves punctuation out; "errors" is by how much wrong heads are
    fewer than with Eisner's estimator.
    """
    how = {"decoding": decoding, "seed": seed}
    figures = _compared(
        train_path, dev_path, lang, whole("sweeps", sweeps), tags_from, {**how, "threads": threads}
    )
    found = list(Bar(figures, total=len(ESTIMATORS), unit=" models"))
    header = ("prior", "counts", "hyperparameters", "UAS", "errors", "log prob")
    print_table(header, map(_accuracy_row, found), "Gold sentences", left=3)
    save_json(output, {"sweeps": sweeps, **how, "models": list(map(asdict, found))}, "results")
    return found


def _accuracy_row(found: Accuracy) -> tuple[str, ...]:
    fewer = "" if found.errors_fewer is None else f"{-100 * found.errors_fewer:+.1f} %"
    kind = found.counts, found.hyperparameters
    if found.prior == "eisner":
        # Raw counts know neither, and are what the others are compared with.
        kind, fewer = ("", ""), ""
    return found.prior, *kind, percent(found.dep_uas), fewer, f"{found.token_log_prob:.4f}"


def _compared(
    train_path: Path, dev_path: Path, lang: str, sweeps: int, tags_from: str | None, settings: dict[str, Any]
) -> Iterator[Accuracy]:
    nlp = get_lang_class(lang)()
    examples = read_corpus(train_path, nlp, tokens="gold")
    if not examples:
        raise ValueError(f"There is no document in '{train_path}'.")
    read_dev: Callable = create_gold_corpus(dev_path, gold_tags=True)
    if not any(True for _ in read_dev(nlp)):
        raise ValueError(f"There is nothing to parse in '{dev_path}'.")
    wrong_before = None
    for prior, counts, hyperparameters in ESTIMATORS:
        estimator = {"prior": prior, "counts": counts, "hyperparameters": hyperparameters}
        # Where nothing is sampled one sweep is as good as many.
        is_fixed = prior == "eisner" or (counts == "minimal" and hyperparameters == "fixed")
        parser = nlp.add_pipe(_FACTORY, config={**settings, "tokens": "gold", "model": estimator})
        assert isinstance(parser, HeadOutwardParser)
        parser.initialize(lambda: examples, nlp=nlp)
        for _ in range(1 if is_fixed else sweeps):
            parser.update(examples)
        gold = list(read_dev(nlp))
        if tags_from is not None:
            give_tags(gold, tags_from)
        docs = list(parser.pipe(example.predicted for example in gold))
        uas = parser.score(gold)["dep_uas"]
        if uas is None:
            raise ValueError(f"There is nothing to compare with in '{dev_path}': no token has a gold head.")
        wrong = 1.0 - uas
        wrong_before = wrong if wrong_before is None else wrong_before
        fewer = 1.0 - wrong / wrong_before if wrong_before else None
        words = sum(not token.is_space for doc in docs for token in doc)
        yield Accuracy(
            **estimator,
            dep_uas=uas,
            errors_fewer=fewer,
            token_log_prob=sum(doc._.log_prob for doc in docs) / words,
        )
        nlp.remove_pipe(_FACTORY)


# In the order of the paper's table.
_ORDER = (LDA, DEPENDENCIES, SYNTACTIC, SEMANTIC)


def states(
    corpus: Annotated[
        Path, argument("Documents: .conllu, .spacy, or tokenized text with one sentence a line", **FILE)
    ],
    *,
    kinds: Annotated[str, option("Kinds of models")] = ",".join(_ORDER),
    counts: Annotated[str, option("Numbers of states", "--states")] = "10,20,50",
    sweeps: Annotated[int, option("Gibbs sweeps over the corpus; the second half counts", least=2)] = 50,
    seed: Annotated[int, option("Fixes the figures", least=0)] = 0,
    dev: Annotated[
        Path | None, option("Other documents with trees: what part of the heads is found", **FILE)
    ] = None,
    parser: Annotated[
        str | None, option("Pipeline that parses the corpus, instead of the trees that it has")
    ] = None,
    sample_trees: Annotated[bool, option("Draw trees, too, and begin with those of the corpus")] = False,
    min_count: MinCount = 2,
    min_class_count: MinClassCount = 5,
    lang: Lang = "en",
    document_words: Annotated[
        int, option("Of text: words of a document where no empty line ends it", least=1)
    ] = 2000,
    top_words: Annotated[int, option("How many words of each state are shown", least=0)] = 10,
    output: Json = None,
) -> None:
    """Print bits a word, accuracy and top words of models of words with latent states (Wallach, Sutton &
    McCallum 2008).

    Bits a word are those of leaving one out: each word is predicted from all others. All models have the same
    vocabulary and the same words, so that they can be compared.
    """
    chosen, numbers = [kind.strip() for kind in kinds.split(",")], read_numbers("states", counts, 10_000)
    for kind in chosen:
        check("kinds", kind, OneOf(KINDS))
    blank = spacy.blank(lang)
    settings = VocabularySettings(unknown_words(lang), min_count, min_class_count)
    nlp = None if parser is None else load_pipeline(parser)
    docs = read_documents(corpus, blank.vocab if nlp is None else nlp.vocab, document_words=document_words)
    read = {
        uncased_key(doc): read_uncased(doc) for doc in (docs if nlp is None else parse_documents(docs, nlp))
    }
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
        msg.warn(
            f"All words of '{corpus}' are in one document, so that states that depend on it depend on "
            f"nothing."
        )
    unseen = [] if dev is None else _read_dev(dev, document_words)
    vocabulary = LatentStates(LDA, 1, settings).collect([text for _, text in texts])
    found: list[StateFigures] = []
    for kind in [kind for kind in _ORDER if kind in chosen]:
        for count in [1] if kind == DEPENDENCIES else sorted(set(numbers)):
            model = LatentStates(kind, count, settings)
            model.initialize(vocabulary)
            with Bar(total=sweeps, desc=f"{kind}, {count} states", unit=" sweeps") as bar:

                def show(bits: float, bar: Bar = bar) -> None:
                    bar.set_postfix({"bits": f"{bits:.3f}"}, refresh=False)
                    bar.update()

                how = {"sweeps": sweeps, "seed": seed, "top_words": top_words}
                sampled = sample_trees and model.reads_parents
                found.append(study_states(model, texts, unseen, **how, sample_trees=sampled, progress=show))
    rows = []
    for figures in found:
        row = {"MODEL": figures.kind, "STATES": "-" if figures.kind == DEPENDENCIES else str(figures.states)}
        row |= {"BITS A WORD": f"{figures.bits:.3f}", "HARMONIC": f"{figures.exact_bits:.3f}"}
        row |= {} if dev is None else {"UAS": percent(figures.accuracy)}
        if sample_trees:
            row["ACCEPTED"] = "-" if figures.accepted is None else f"{100 * figures.accepted:.1f}"
        rows.append(row)
    msg.table([row.values() for row in rows], header=[*rows[0]], divider=True)
    for figures in found:
        if figures.kind != DEPENDENCIES and top_words:
            title = f"{figures.kind}, {figures.states} states"
            rows = [
                (number, " ".join(word for word, _ in words))
                for number, words in enumerate(figures.top_words)
            ]
            msg.table(rows, title=title)
    save_json(output, [figures.to_dict() for figures in found], "the figures")


def _read_dev(path: Path, document_words: int) -> list[UncasedWords]:
    vocab = spacy.blank("xx").vocab
    texts = [
        read_uncased(doc).complete() for doc in read_documents(path, vocab, document_words=document_words)
    ]
    if not any(text.forms for text in texts):
        raise ValueError(f"There is nothing to compare with in '{path}': it has no complete trees.")
    return texts


#: Those of Sangati, Zuidema & Bod (2009, table 2).
LENGTHS = "1,2,3,4,5,6,7,8,9,10,100,1000"
_SCORES = "oracle_best", "oracle_worst", "generative", "reranked_uas", "reranked_las"


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
    lengths: Annotated[
        str, option("How many trees of a sentence to choose among, as 1,10,100", "--k -k")
    ] = LENGTHS,
    sources: Annotated[
        list[str] | None,
        option("The parser that finds them, not the component's; may be repeated", "--source -s"),
    ] = None,
    gold_tags: GoldTags = False,
    threads: Threads = None,
    output: Json = None,
) -> None:
    """Compare the k best trees of a parser with what a generative model chooses among them (Sangati, Zuidema
    & Bod 2009, table 2).

    On gold tokens and gold sentences. UAS leaves punctuation out; "generative" is the generative model alone,
    as in the paper, "reranked" what the component chooses. The first of the k trees is that of the parser
    itself.
    """
    counts = read_numbers("k", lengths, 1_000_000)
    nlp = load_pipeline(model)
    rerankers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, ParseReranker)]
    if len(rerankers) != 1:
        raise ValueError(
            f"The pipeline '{model}' should have one parse_reranker, but it has {nlp.pipe_names}."
        )
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
                f"There is nothing to compare with in '{data_path}': no sentence has a complete tree."
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
        rows = [
            (str(each.k), f"{each.candidates:.1f}", *(percent(getattr(each, name)) for name in _SCORES))
            for each in found
            if each.source == source
        ]
        print_table(header, rows, f"The k best trees of '{source}', UAS", left=0)
    weights = [(name, f"{weight:.3f}") for name, weight in found[-1].weights.items()]
    msg.table(weights, aligns=("l", "r"), title="Weights")
    save_json(output, [asdict(each) for each in found], "results")


def _choose(reranker: ParseReranker, parsed: Sequence[tuple[Doc, object]], k: int) -> Choice:
    sums = np.zeros(5)
    words = trees = 0
    for doc, gold in Bar(parsed, unit=" sentences", desc=f"k = {k}"):
        found = reranker.predict([doc], k=k)[0]
        # A parser may take what is one sentence for several; then there is one tree that is none, for each.
        for each in found if len(found) == 1 else []:
            right, labelled, counted = agreement(each.candidates, gold)
            alone = int(np.argmax(each.features @ UNLEARNED))
            sums += right.max(), right.min(), right[alone], right[each.chosen], labelled[each.chosen]
            words, trees = words + counted, trees + len(right)
    count = max(1, len(parsed))
    return Choice(reranker.source_name, k, trees / count, *(sums / max(1, words)).tolist(), reranker.weights)
