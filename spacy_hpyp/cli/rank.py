"""`hpyp rank`: the sentences in which a parser expects the most wrong arcs, to be corrected next."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from heapq import nlargest
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, TextIO

import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc, Span, Token
from spacy.util import minibatch
from tqdm import tqdm
from wasabi import msg

from ..components.hpyp_parser import HPYPParser
from ..components.rating import rate_labels
from ..storage.files import prepare_folder, replacing
from .app import hpyp, load_pipeline, parsers_of, set_threads
from .documents import parse_documents, read_documents
from .raw_text import locate_paragraphs

# How many paragraphs or documents are parsed together.
_BATCH = 64
_DIGITS = 4


class By(str, Enum):
    """What sentences are ranked by."""

    arcs = "arcs"
    tags = "tags"
    both = "both"
    rate = "rate"


class Format(str, Enum):
    """What is written."""

    jsonl = "jsonl"
    conllu = "conllu"


@hpyp.command("rank")
def rank_cli(
    model: str = typer.Argument(..., help="Name or path of a trained pipeline with a parser of this package"),
    texts: list[Path] = typer.Argument(
        ..., help="Text files in UTF-8, or .spacy or .conllu files", exists=True, dir_okay=False
    ),
    output: Path | None = typer.Option(None, "--output", "-o", help="File to write, instead of stdout", dir_okay=False),
    top: int | None = typer.Option(None, "--top", "-n", help="Only so many sentences", min=1),
    by: By = typer.Option(
        By.arcs, "--by", help="Rank by expected wrong arcs, wrong tags, both together, or wrong arcs for each word"
    ),
    form: Format = typer.Option(Format.jsonl, "--format", "-f", help="A JSON object a line, or CoNLL-U with comments"),
    per_line: bool = typer.Option(False, "--per-line", "-l", help="Each line of a text is one sentence"),
    labels_per_arc: int = typer.Option(
        2, "--labels-per-arc", help="How many labels of an arc an hpyp_parser compares", min=1
    ),
    particles: int | None = typer.Option(
        None, "--particles", "-K", help="Particles of an hpyp_parser, instead of the pipeline's setting"
    ),
    threads: int | None = typer.Option(None, "--threads", "-t", help="Threads, instead of the pipeline's setting"),
) -> None:
    """Rank sentences by how many wrong arcs the parser expects in them: which to correct next, when a treebank is to grow.

    An arc is wrong if its head or its label is. How probable that is the columns of each word tell: head_prob is the confidence in
    the arc, label_prob that in the arc with its label, tag_prob that in the tag. Without an hpyp_parser there is no label_prob, and
    wrong heads are expected instead of wrong arcs. Sentences of .spacy and .conllu files are kept as they are, if they are marked;
    those of texts are found by the pipeline. Only the sentences to write are kept in memory.
    """
    nlp = load_pipeline(model)
    found = parsers_of(nlp, model)
    for parser in found.hpyp:
        parser.change(marginals=True, **({} if particles is None else {"particles": particles}))
    if particles is not None and not found.hpyp:
        raise ValueError(f"'particles' is a setting of hpyp_parser, which the pipeline '{model}' does not have.")
    set_threads(nlp, threads)
    if output is not None:
        prepare_folder(output.parent)
    # A bar only where somebody looks on.
    sentences = chain.from_iterable(
        rank_sentences(nlp, path, per_line=per_line, labels_per_arc=labels_per_arc) for path in texts
    )
    with tqdm(sentences, unit=" sentences", leave=False, disable=None) as bar:
        ranked = select(bar, by, top)
    if not ranked:
        raise ValueError(f"There is no sentence in {', '.join(map(repr, map(str, texts)))}.")
    write = write_jsonl if form == Format.jsonl else write_conllu
    if output is None:
        write(typer.get_text_stream("stdout", encoding="utf8"), ranked)
        return
    with replacing(output, "w", encoding="utf8", newline="") as file:
        write(file, ranked)
    msg.good(f"Saved {len(ranked)} sentences to {output}")


@dataclass(frozen=True)
class Rated:
    """A parsed sentence with what its parser expects to be wrong.

    file (str): Where it stands.
    number (int): Its place among the file's sentences, from 1.
    text (str): As it stands there.
    wrong_arcs (float): The expected number of words with a wrong head or label; without probabilities of labels, with a wrong head.
    wrong_tags (float | None): The expected number of words with a wrong tag; None if nobody says how probable tags are.
    tokens (list[dict]): "text", "tag", "pos", "morph", "label", "head" (a place in the sentence; None for roots), "head_prob", "label_prob",
        "tag_prob" and "space", whether a space comes after it. White space has none.
    """

    file: str
    number: int
    text: str
    wrong_arcs: float
    wrong_tags: float | None
    tokens: list[dict[str, Any]]

    @property
    def both(self) -> float:
        """The expected number of wrong arcs and wrong tags."""
        return self.wrong_arcs + (self.wrong_tags or 0.0)

    @property
    def rate(self) -> float:
        """The expected number of wrong arcs for each word."""
        return self.wrong_arcs / len(self.tokens)


_KEYS = {
    By.arcs: attrgetter("wrong_arcs"),
    By.tags: attrgetter("wrong_tags"),
    By.both: attrgetter("both"),
    By.rate: attrgetter("rate"),
}


def rank_sentences(nlp: Language, path: Path, *, per_line: bool = False, labels_per_arc: int = 2) -> Iterator[Rated]:
    """Parse a file, and say of each sentence how many wrong arcs are expected. The file is not held in memory.

    nlp (Language): A pipeline whose parser sets `token._.head_prob`.
    path (Path): Text in UTF-8, or a .spacy or .conllu file.
    per_line (bool): Whether each line of a text is one sentence.
    labels_per_arc (int): How many labels of an arc its hpyp_parser compares.
    RETURNS (Iterator[Rated]): The sentences in their order.
    RAISES (ValueError): If the file is not what its name says, or nobody says how probable arcs are.
    """
    parsers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser)]
    number = 0
    for docs in _parsed(nlp, path, per_line=per_line):
        if parsers:
            rate_labels(parsers[-1], docs, labels_per_arc=labels_per_arc)
        for sentence in (sentence for doc in docs for sentence in doc.sents):
            rated = _rate(sentence, str(path), number + 1)
            if rated is not None:
                number += 1
                yield rated


def _parsed(nlp: Language, path: Path, *, per_line: bool) -> Iterator[list[Doc]]:
    """The documents of a file, parsed, some at a time."""
    if path.suffix in (".spacy", ".conllu"):
        for docs in minibatch(parse_documents(read_documents(path, nlp.vocab, document_words=1), nlp), _BATCH):
            yield [doc for doc in docs if len(doc)]
        return
    for paragraphs in minibatch(locate_paragraphs(path, per_line=per_line), _BATCH):
        with nlp.memory_zone():
            docs = [nlp.make_doc(text) for _, text in paragraphs]
            if per_line:
                for doc in docs:
                    for token in doc:
                        token.is_sent_start = token.i == 0
            docs = list(nlp.pipe(docs))
            yield docs
            del docs


def _rate(sentence: Span, file: str, number: int) -> Rated | None:
    """A sentence with what is expected to be wrong; None for white space."""
    words = [token for token in sentence if not token.is_space]
    if not words:
        return None
    place = {token.i: i for i, token in enumerate(words)}
    tokens = [
        {
            "text": token.text,
            "tag": token.tag_,
            "pos": token.pos_,
            "morph": str(token.morph),
            "label": token.dep_,
            "head": None if token.head.i == token.i else place.get(token.head.i),
            "head_prob": token._.head_prob,
            "label_prob": token._.label_prob,
            "tag_prob": token._.tag_prob,
            "space": bool(token.whitespace_),
        }
        for token in words
    ]
    arcs = [_arc_probability(token) for token in words]
    if None in arcs:
        raise ValueError(
            f"Nobody says how probable the arcs of '{file}' are: the parser that comes last in the pipeline does not set "
            "token._.head_prob."
        )
    tags = [token["tag_prob"] for token in tokens]
    wrong_tags = None if None in tags else sum(1.0 - p for p in tags)
    return Rated(file, number, sentence.text.strip(), sum(1.0 - p for p in arcs), wrong_tags, tokens)


def _arc_probability(token: Token) -> float | None:
    return token._.head_prob if token._.label_prob is None else token._.label_prob


def select(sentences: Iterable[Rated], by: By, top: int | None) -> list[Rated]:
    """Some sentences in their order, those with the most expected errors first; of equals, the first.

    sentences (Iterable[Rated]): Those that are kept are in memory, not the others.
    by (By): What they are ranked by.
    top (int | None): How many; None for all.
    RAISES (ValueError): If they are to be ranked by tags and nobody says how probable those are.
    """

    def key(rated: Rated) -> float:
        if by in (By.tags, By.both) and rated.wrong_tags is None:
            raise ValueError("Sentences cannot be ranked by their tags: the pipeline does not set token._.tag_prob.")
        return _KEYS[by](rated)

    return sorted(sentences, key=key, reverse=True) if top is None else nlargest(top, sentences, key=key)


def write_jsonl(file: TextIO, ranked: Iterable[Rated]) -> None:
    """Write a JSON object a line."""
    for rank, rated in enumerate(ranked, 1):
        row = {
            "rank": rank,
            "expected_wrong_arcs": round(rated.wrong_arcs, _DIGITS),
            "expected_wrong_tags": None if rated.wrong_tags is None else round(rated.wrong_tags, _DIGITS),
            "words": len(rated.tokens),
            "file": rated.file,
            "sentence": rated.number,
            "text": rated.text,
            "tokens": [{name: _rounded(value) for name, value in token.items()} for token in rated.tokens],
        }
        file.write(srsly.json_dumps(row) + "\n")


def write_conllu(file: TextIO, ranked: Iterable[Rated]) -> None:
    """Write sentences in CoNLL-U format, with expected errors as comments and probabilities in MISC."""
    for rank, rated in enumerate(ranked, 1):
        comments = {
            "sent_id": f"{Path(rated.file).name}-{rated.number}",
            "text": " ".join(rated.text.split()),
            "rank": rank,
            "expected_wrong_arcs": f"{rated.wrong_arcs:.{_DIGITS}f}",
            "expected_wrong_tags": "_" if rated.wrong_tags is None else f"{rated.wrong_tags:.{_DIGITS}f}",
        }
        file.writelines(f"# {name} = {value}\n" for name, value in comments.items())
        file.writelines(_conllu_line(i, token) for i, token in enumerate(rated.tokens, 1))
        file.write("\n")


def _conllu_line(i: int, token: dict[str, Any]) -> str:
    misc = [
        *(
            f"{name}={token[key]:.{_DIGITS}f}"
            for name, key in (("HeadProb", "head_prob"), ("LabelProb", "label_prob"), ("TagProb", "tag_prob"))
            if token[key] is not None
        ),
        *([] if token["space"] else ["SpaceAfter=No"]),
    ]
    head, label = (0, "root") if token["head"] is None else (token["head"] + 1, token["label"])
    fields = [token["text"], "_", token["pos"], token["tag"], token["morph"], head, label, "_", "|".join(misc)]
    return "\t".join([str(i), *("_".join(str(field).split()) or "_" for field in fields)]) + "\n"


def _rounded(value: Any) -> Any:
    return round(value, _DIGITS) if isinstance(value, float) else value
