"""`hpyp rank`: the sentences in which a parser expects the most wrong arcs, to be corrected next."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest, nsmallest
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import minibatch

from ..components.hpyp_parser import HPYPParser
from ..components.rating import rate_labels
from ..treebanks.conllu import Block
from .app import prepare_output, prepared
from .conllu_format import comments_of, conllu_sentences, write_again, write_sentence
from .options import Particles, PerLine, Pipeline, Threads, argument, option
from .output import json_line, writing
from .parse import parse_each
from .progress import Bar
from .raw_text import existing, is_conllu, locate_paragraphs, parse_documents, read_documents

# How many paragraphs or documents are parsed together.
_BATCH = 64
_DIGITS = 4
# Comments that say where a sentence stands, and hold no more where it is ranked.
_OF_PLACE = ("rank", "newdoc", "newdoc id", "newpar", "newpar id")


def rank(
    model: Pipeline,
    texts: Annotated[
        list[Path], argument("Texts in UTF-8, '-' for stdin, .spacy or .conllu files", callback=existing)
    ],
    *,
    output: Annotated[Path | None, option("File to write, instead of stdout", "-o", dir_okay=False)] = None,
    top: Annotated[int | None, option("Only so many sentences", "-n", least=1)] = None,
    by: Annotated[
        Literal["arcs", "tags", "both", "rate"], option("By expected wrong arcs, tags, both, or arcs a word")
    ] = "arcs",
    surest: Annotated[
        bool, option("Those with the fewest, to be learned from as if they were annotated")
    ] = False,
    form: Annotated[
        Literal["jsonl", "conllu"], option("JSON, an object a line, or CoNLL-U", "--format -f")
    ] = "jsonl",
    per_line: PerLine = False,
    labels_per_arc: Annotated[int, option("How many labels of an arc an hpyp_parser compares", least=1)] = 2,
    particles: Particles = None,
    threads: Threads = None,
) -> None:
    """Rank sentences by how many wrong arcs the parser expects in them: which to correct next, when a
    treebank is to grow.

    An arc is wrong if its head or its label is, or where nobody says how probable labels are, if its head is.
    Sentences of .spacy and .conllu files are kept as they are, if they are marked; those of texts are found
    by the pipeline. What is read and written as CoNLL-U keeps its multiword tokens and comments. Only the
    sentences to write are kept in memory.
    """
    prepare_output(output, texts, f".{form}", ".txt")
    nlp, found = prepared(model, threads=threads, particles=particles)
    for parser in found:
        if isinstance(parser, HPYPParser):
            parser.marginals = True
    sentences = chain.from_iterable(
        rank_sentences(nlp, path, per_line=per_line, labels_per_arc=labels_per_arc, conllu=form == "conllu")
        for path in texts
    )
    with Bar(sentences, unit=" sentences") as bar:
        ranked = select(bar, by, top, surest=surest)
    if not ranked:
        raise ValueError(f"There is no sentence in {', '.join(map(repr, map(str, texts)))}.")
    with writing(output, f"{len(ranked)} sentences") as file:
        for place, rated in enumerate(ranked, 1):
            file.write(_json_of(place, rated) if form == "jsonl" else f"# rank = {place}\n{rated.conllu}")


@dataclass(frozen=True)
class Rated:
    """A parsed sentence with what its parser expects to be wrong.

    file (str): Where it stands.
    number (int): Its place among the file's sentences, from 1.
    text (str): As it stands there.
    wrong_arcs (float): The expected number of words with a wrong head or label; without probabilities of
        labels, with a wrong head.
    wrong_tags (float | None): The expected number of words with a wrong tag; None if nobody says how probable
        tags are.
    tokens (list[dict]): "text", "tag", "pos", "morph", "label", "head" (a place in the sentence; None for
        roots), "head_prob", "label_prob", "tag_prob" and "space", whether a space comes after it. White space
        has none.
    conllu (str): The sentence in CoNLL-U, with expected errors as comments; empty if that is not asked for.
    """

    file: str
    number: int
    text: str
    wrong_arcs: float
    wrong_tags: float | None
    tokens: list[dict[str, Any]]
    conllu: str = ""


#: What sentences are ranked by.
_KEYS: dict[str, Callable[[Rated], Any]] = {
    "arcs": lambda rated: rated.wrong_arcs,
    "tags": lambda rated: rated.wrong_tags,
    "both": lambda rated: rated.wrong_arcs + rated.wrong_tags,
    "rate": lambda rated: rated.wrong_arcs / len(rated.tokens),
}


def rank_sentences(
    nlp: Language, path: Path, *, per_line: bool = False, labels_per_arc: int = 2, conllu: bool = False
) -> Iterator[Rated]:
    """Parse a file, and say of each sentence how many wrong arcs are expected. The file is not held in
    memory.

    nlp (Language): A pipeline whose parser sets `token._.head_prob`.
    labels_per_arc (int): How many labels of an arc its hpyp_parser compares.
    conllu (bool): Whether they are wanted in CoNLL-U, too.
    RAISES (ValueError): If the file is not what its name says, or nobody says how probable arcs are.
    """
    parsers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser)]
    number = 0
    for docs, read in _parsed(nlp, path, per_line=per_line):
        if parsers:
            rate_labels(parsers[-1], docs, labels_per_arc=labels_per_arc)
        for doc, own in zip(docs, read):
            for sentence in doc.sents:
                rated = _rate(sentence, str(path), number + 1)
                if rated is not None:
                    number += 1
                    yield replace(rated, conllu=_written(rated, sentence, own)) if conllu else rated


def _parsed(nlp: Language, path: Path, *, per_line: bool) -> Iterator[tuple[list[Doc], Sequence[object]]]:
    """The documents of a file, parsed, some at a time, with what was read: of CoNLL-U, which needs no trees,
    the sentences.
    """
    if path.suffix == ".spacy":
        for some in minibatch(
            parse_documents(read_documents(path, nlp.vocab, document_words=1), nlp), _BATCH
        ):
            docs = [doc for doc in some if len(doc)]
            yield docs, docs
        return
    paragraphs = (text for _, text in locate_paragraphs(path, per_line=per_line))
    for some in minibatch(conllu_sentences(path) if is_conllu(path) else paragraphs, _BATCH):
        with nlp.memory_zone():
            docs = list(parse_each(nlp, some, whole=per_line))
            yield docs, some
            del docs


def _written(rated: Rated, found: Span, read: object) -> str:
    """A sentence in CoNLL-U; one that was read so keeps its multiword tokens, comments and MISC."""
    name = f"{Path(rated.file).name}-{rated.number}"
    wrong = {"expected_wrong_arcs": rated.wrong_arcs, "expected_wrong_tags": rated.wrong_tags}
    comments = {key: f"{value:.{_DIGITS}f}" for key, value in wrong.items() if value is not None}
    if not isinstance(read, Block):
        return write_sentence(found, {"sent_id": name, **comments})
    kept = {key: value for key, value in comments_of(read).items() if key not in _OF_PLACE}
    return write_again(read, found.doc, name, {**kept, **comments})


def _rate(sentence: Span, file: str, number: int) -> Rated | None:
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
    arcs = [token["head_prob"] if token["label_prob"] is None else token["label_prob"] for token in tokens]
    if None in arcs:
        raise ValueError(
            f"Nobody says how probable the arcs of '{file}' are: the last parser sets no token._.head_prob."
        )
    tags = [token["tag_prob"] for token in tokens]
    wrong_tags = None if None in tags else sum(1.0 - p for p in tags)
    return Rated(file, number, sentence.text.strip(), sum(1.0 - p for p in arcs), wrong_tags, tokens)


def select(sentences: Iterable[Rated], by: str, top: int | None, *, surest: bool = False) -> list[Rated]:
    """Some sentences in their order, or all, those with the most expected errors first, or with the fewest;
    of equals, the first. Only what is kept is in memory.

    by (str): What they are ranked by, a key of `_KEYS`.
    RAISES (ValueError): If they are to be ranked by tags and nobody says how probable those are.
    """

    def key(rated: Rated) -> float:
        if by in ("tags", "both") and rated.wrong_tags is None:
            raise ValueError(
                "Sentences cannot be ranked by their tags: the pipeline does not set token._.tag_prob."
            )
        return _KEYS[by](rated)

    if top is None:
        return sorted(sentences, key=key, reverse=not surest)
    return (nsmallest if surest else nlargest)(top, sentences, key=key)


def _json_of(rank: int, rated: Rated) -> str:
    row = {
        "rank": rank,
        "expected_wrong_arcs": rated.wrong_arcs,
        "expected_wrong_tags": rated.wrong_tags,
        "words": len(rated.tokens),
        "file": rated.file,
        "sentence": rated.number,
        "text": rated.text,
        "tokens": [{name: _rounded(value) for name, value in token.items()} for token in rated.tokens],
    }
    return json_line({name: _rounded(value) for name, value in row.items()})


def _rounded(value: Any) -> Any:
    return round(value, _DIGITS) if isinstance(value, float) else value
