"""`hpyp evaluate`: tags, trees and speed on gold tokens and gold sentence boundaries; what is wrong, and how well that is known."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from ..annotation.calibration import PUNCTUATION
from ..annotation.errors import find_errors
from ..components.corpus import create_gold_corpus, mark_sentence
from .app import load_pipeline, prepared
from .calibration import Bins, calibrations, print_calibrations
from .errors import Examples, Rows, TrainingWords, known_words, print_errors
from .options import Data, GoldTags, Json, Particles, Punctuation, Threads, argument, option
from .output import percent, save_json

_ROWS = {
    "TAG": "tag_acc",
    "UAS": "dep_uas",
    "LAS": "dep_las",
    "SENT P": "sents_p",
    "SENT R": "sents_r",
    "SENT F": "sents_f",
    "MATCH": "complete_match",
}

Temperature = Annotated[float | None, option("Temperature, instead of the pipeline's setting", "--temperature -T")]


def evaluate(
    model: Annotated[str, argument("Name or path of a trained pipeline that parses or tags")],
    data_path: Data,
    *,
    output: Json = None,
    particles: Particles = None,
    algorithm: Annotated[
        str | None,
        option("particles or beam, which keeps -K derivations after each word, instead of the pipeline's setting"),
    ] = None,
    beam: Annotated[
        int | None, option("Beam width of easy_first_parser, instead of the pipeline's setting", "--beam -b")
    ] = None,
    decoding: Annotated[str | None, option("best or mbr, instead of the pipeline's setting")] = None,
    temperature: Temperature = None,
    threads: Threads = None,
    gold_tags: GoldTags = False,
    tags_from: Annotated[
        str | None, option("Give the parser the tags of this pipeline's tagger; its time is not measured")
    ] = None,
    repeat: Annotated[int, option("Parse so many times, and take the speed of the fastest", least=1)] = 1,
    errors: Annotated[bool, option("Print what the parser gets wrong, too", "--errors")] = False,
    train: TrainingWords = None,
    rows: Rows = 15,
    examples: Examples = 1,
    calibration: Annotated[
        bool, option("Print how well probabilities of heads and tags are calibrated, too", "--calibration")
    ] = False,
    bins: Bins = 10,
    punctuation: Punctuation = False,
) -> dict[str, Any]:
    """Evaluate a pipeline on gold tokens and gold sentence boundaries, as parsers are compared in the literature.

    For raw documents, whose boundaries the model has to find, use 'spacy evaluate'.

    With --errors: scores by label, tag, length of arc, length of sentence, and for known and unknown words; then which labels and tags
    are confused, with examples: the word in brackets, its predicted and its gold head. Arcs of punctuation are left out, tags are not.
    Words are unknown that an hpyp_parser knows by their class only, or those that --train does not have.

    With --calibration: reliability tables of token._.head_prob and token._.tag_prob, their expected calibration error and their AUROC,
    first on raw documents, whose tokens and sentences the pipeline finds. A head is right whatever its label, and punctuation is left out.
    The expected calibration error is the mean over all tokens of the distance between confidence and accuracy in their bins; AUROC is how
    probable it is that a right choice is surer than a wrong one. Then how many choices are wrong among the surest of them.
    """
    nlp, found = prepared(
        model,
        others=True,
        threads=threads,
        particles=particles,
        algorithm=algorithm,
        decoding=decoding,
        beam=beam,
        temperature=temperature,
    )
    if gold_tags and tags_from is not None:
        raise ValueError("The parser is given either the gold tags or those of a tagger, not both.")
    given = gold_tags or tags_from is not None
    if given and not any(found):
        raise ValueError(f"Tags can be given to a parser, but the pipeline '{model}' has none.")
    for parser in found.hpyp:
        parser.tags = "given" if given else parser.tags
    gold = read_examples(nlp, data_path, gold_tags=gold_tags, heads=errors)
    if tags_from is not None:
        give_tags(gold, tags_from)
    known = known_words(nlp, train)
    parsers = [name for name, pipe in nlp.pipeline if any(pipe in kind for kind in found)]
    before = nlp.pipe_names[: nlp.pipe_names.index(parsers[-1])] if given else []
    scorer = ParsedScorer(nlp)
    with nlp.select_pipes(disable=[name for name in before if name not in parsers]):
        # What is compiled or read the first time is no part of the speed.
        nlp(gold[0].predicted.copy())
        copies = ([Example(each.predicted.copy(), each.reference) for each in gold] for _ in range(repeat))
        scores = max((nlp.evaluate(copy, scorer=scorer) for copy in copies), key=lambda found: found["speed"])
    words = sum(len(example.predicted) for example in gold)
    scores["sentences_per_second"] = scores["speed"] * len(gold) / words
    shown = {name: percent(scores[key]) for name, key in _ROWS.items() if scores.get(key) is not None}
    if scores.get("token_log_prob") is not None:
        shown["LOG PROB"] = f"{scores['token_log_prob']:.4f}"
    shown |= {"SPEED": f"{scores['speed']:.0f}", "SENTENCES/S": f"{scores['sentences_per_second']:.0f}"}
    msg.table(shown, title="Results (gold sentences)")
    if errors:
        wrong = find_errors(scorer.parsed(model), known=known, punctuation=punctuation, show=examples)
        print_errors(wrong, rows=rows)
        scores["errors"] = asdict(wrong)
    if calibration:
        raw, exact = calibrations(nlp, found, data_path, bins=bins, punctuation=punctuation)
        print_calibrations(raw, exact)
        scores["calibration"] = {**exact.to_dict(), "raw": raw.to_dict()}
    save_json(output, scores, "results")
    return scores


def read_examples(nlp: Language, data_path: Path, *, gold_tags: bool = False, heads: bool = False) -> list[Example]:
    """Read sentences to evaluate a pipeline on, with gold tokens.

    nlp (Language): The pipeline.
    data_path (Path): A .spacy file or a directory of them.
    gold_tags (bool): Whether the documents to be parsed have the gold tags.
    heads (bool): Whether tags are not enough.
    RETURNS (list[Example]): One sentence in each, at least one.
    RAISES (ValueError): If there is nothing to evaluate or to compare with.
    """
    examples = list(create_gold_corpus(data_path, gold_tags=gold_tags)(nlp))
    if not examples:
        raise ValueError(f"There is nothing to evaluate in '{data_path}'.")
    if not any(gold.has_dep() or (gold.tag and not heads) for example in examples for gold in example.reference):
        missing = "head" if heads else "tag or a gold head"
        raise ValueError(f"There is nothing to compare with in '{data_path}': no token has a gold {missing}.")
    return examples


def give_tags(examples: Sequence[Example], model: str | Path) -> None:
    """Give predicted documents, each of them a sentence, the tags that a pipeline finds for their tokens.

    examples (Sequence[Example]): Their predicted documents are changed.
    model (str | Path): Name or path of the pipeline.
    RAISES (ValueError): If it does not tag.
    """
    tagger = load_pipeline(model)
    docs = [
        Doc(tagger.vocab, words=[token.text for token in doc], spaces=[bool(token.whitespace_) for token in doc])
        for doc in (example.predicted for example in examples)
    ]
    for example, tagged in zip(examples, tagger.pipe(map(mark_sentence, docs))):
        if not tagged.has_annotation("TAG"):
            raise ValueError(f"The pipeline '{model}' does not tag: it has {tagger.pipe_names}.")
        for token, found in zip(example.predicted, tagged):
            token.tag_ = found.tag_


class ParsedScorer(Scorer):
    """spaCy's scores, and the part of the sentences whose heads are all right. It remembers what it was given: `nlp.evaluate` parses
    copies of the examples.
    """

    def __init__(self, nlp: Language) -> None:
        super().__init__(nlp)
        self._nlp = nlp
        self._examples: list[Example] = []

    def score(self, examples: Iterable[Example], *, per_component: bool = False) -> dict[str, Any]:
        """Score parsed examples, each of them a sentence."""
        self._examples = list(examples)
        scores = super().score(self._examples, per_component=per_component)
        return {**scores, "complete_match": _complete_match(self._examples)}

    def parsed(self, name: str | Path) -> list[Example]:
        """What has been scored last.

        name (str | Path): The pipeline's, for errors.
        RAISES (ValueError): If it has no parser.
        """
        if not any(example.predicted.has_annotation("DEP") for example in self._examples):
            raise ValueError(f"The pipeline '{name}' finds no trees: it has no parser. It has {self._nlp.pipe_names}")
        return self._examples


def parse_examples(
    nlp: Language, examples: Sequence[Example], name: str | Path
) -> tuple[dict[str, Any], list[Example]]:
    """Parse sentences and score the parses.

    nlp (Language): A pipeline with a parser of any kind.
    examples (Sequence[Example]): One sentence in each; they are not changed.
    name (str | Path): The pipeline's, for errors.
    RETURNS (tuple[dict[str, Any], list[Example]]): The scores of `nlp.evaluate` and "complete_match", and the parsed examples.
    RAISES (ValueError): If there is no parser in the pipeline.
    """
    scorer = ParsedScorer(nlp)
    return nlp.evaluate(examples, scorer=scorer), scorer.parsed(name)


def _complete_match(examples: Sequence[Example]) -> float | None:
    """The part of the examples, each of them a sentence with a gold tree, whose heads are all right."""
    right = total = 0
    for example in examples:
        heads, labels = example.get_aligned_parse(projectivize=False)
        if None in heads:
            continue
        total += 1
        right += all(
            label.lower() in PUNCTUATION or token.head.i == head
            for token, head, label in zip(example.predicted, heads, labels)
        )
    return right / total if total else None
