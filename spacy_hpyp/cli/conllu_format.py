"""Parsed documents as sentences in CoNLL-U, and sentences in CoNLL-U as documents to parse.

The library `conllu` reads and writes the lines. What makes a sentence valid is checked here, since it takes much for valid: numbers,
the one root, and what labels, parts of speech and features look like (https://universaldependencies.org/format.html).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from spacy.tokens import Doc, Span, Token
from spacy.vocab import Vocab

from ..compat.spacy import nonproj

try:
    from conllu.exceptions import ParseException
    from conllu.models import Metadata, TokenList
    from conllu.models import Token as Line
    from conllu.parser import DEFAULT_FIELDS, parse_id_value, parse_pair_value
except ImportError as error:
    raise ImportError(
        "CoNLL-U is read and written by the library 'conllu', which is not installed: pip install 'spacy-hpyp[conllu]'."
    ) from error

#: The universal parts of speech.
UPOS = frozenset("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split())
_OTHER_UPOS = {"": "_", "CONJ": "CCONJ"}
_LABEL = re.compile(r"[a-z]+(:[a-z]+)?")
_FEATURE = re.compile(r"[A-Z0-9][A-Za-z0-9]*(\[[a-z0-9]+\])?=[A-Z0-9][A-Za-z0-9]*(,[A-Z0-9][A-Za-z0-9]*)*")
_ROOT, _ANY, _FURTHER, _PUNCTUATION = "root", "dep", "parataxis", "punct"
_PROBABILITIES = {"head_prob": "HeadProb", "label_prob": "LabelProb", "tag_prob": "TagProb"}
# The columns that a pipeline may find, and the attributes that they are in Docs.
_FOUND = {"lemma": "LEMMA", "upos": "POS", "xpos": "TAG", "feats": "MORPH"}
# What is written into MISC here, and what is replaced of it in a sentence that has it already.
_WRITTEN = ("Label", *_PROBABILITIES.values())
_SPACE_AFTER = "SpaceAfter=No"
_BYTE_ORDER_MARK = "\ufeff"


@dataclass
class Sentence:
    """A sentence as it was read, without its tree.

    comments (dict[str, str | None]): By what stands before the sign "=".
    words (list[Line]): Its words.
    ranges (dict[int, Line]): Its multiword tokens, by the number of their first word.
    empty_nodes (int): How many empty nodes have been left out.
    """

    comments: dict[str, str | None] = field(default_factory=dict)
    words: list[Any] = field(default_factory=list)
    ranges: dict[int, Any] = field(default_factory=dict)
    empty_nodes: int = 0


def read_sentences(lines: Iterable[str], name: str, *, tagged: bool = False) -> Iterator[Sentence]:
    """Read sentences, one after the other. Their heads, labels and enhanced graphs are not looked at.

    lines (Iterable[str]): Of a file.
    name (str): Of the file, for errors.
    tagged (bool): Whether parts of speech and features have to be valid: they will be written again.
    RAISES (ValueError): If something is not CoNLL-U, with the line.
    """
    sentence, last = Sentence(), 0
    for number, text in enumerate(lines, 1):
        line = (text.removeprefix(_BYTE_ORDER_MARK) if number == 1 else text).rstrip("\r\n")
        last = number
        try:
            if line.strip():
                _read_line(sentence, line, tagged=tagged)
            elif sentence.words or sentence.comments:
                yield _complete(sentence)
                sentence = Sentence()
        except (ValueError, ParseException) as error:
            raise ValueError(f"'{name}', line {number}: {error}") from error
    if sentence.words or sentence.comments:
        try:
            yield _complete(sentence)
        except ValueError as error:
            raise ValueError(f"'{name}', line {last}: {error}") from error


def _read_line(sentence: Sentence, line: str, *, tagged: bool) -> None:
    """RAISES (ValueError | ParseException): If the line does not go on with the sentence."""
    if line.startswith("#"):
        if sentence.words or sentence.ranges:
            raise ValueError("a comment stands among the words of a sentence. Is an empty line missing before it?")
        key, value = parse_pair_value(line[1:])
        sentence.comments[key if key not in sentence.comments else line[1:].strip()] = value
        return
    columns = line.split("\t")
    if len(columns) != len(DEFAULT_FIELDS):
        raise ValueError(
            f"a line of CoNLL-U has {len(DEFAULT_FIELDS)} columns with tabs between them, but this one has {len(columns)}"
        )
    for column, value in zip(DEFAULT_FIELDS, columns):
        if not value.strip():
            raise ValueError(f"the column {column.upper()} is empty; what is not there is written as '_'")
    found = Line(zip(DEFAULT_FIELDS, columns))
    place = found["id"] = parse_id_value(columns[0])
    expected = len(sentence.words) + 1
    match place:
        case (before, ".", _):
            if before != len(sentence.words):
                raise ValueError(f"the empty node {columns[0]} does not stand behind the word {before}")
            sentence.empty_nodes += 1
        case (first, "-", last):
            if first != expected or last == first or any(first <= each["id"][2] for each in sentence.ranges.values()):
                raise ValueError(f"the multiword token {columns[0]} does not stand before its words, or shares them")
            sentence.ranges[first] = found
        case _:
            if place != expected:
                raise ValueError(f"the number of this word should be {expected}, but it is '{columns[0]}'")
            if tagged:
                _check_tags(found)
            sentence.words.append(found)


def _check_tags(word: Any) -> None:
    if word["upos"] not in UPOS | {"_"}:
        raise ValueError(f"'{word['upos']}' is not a universal part of speech")
    if word["feats"] != "_" and _features(word["feats"]) is None:
        raise ValueError(f"'{word['feats']}' are not features in the form of Name=Value|Name=Value")


def _complete(sentence: Sentence) -> Sentence:
    """RAISES (ValueError): If something is missing at the end of the sentence."""
    if not sentence.words:
        raise ValueError("the sentence that ends here has no words")
    for each in sentence.ranges.values():
        if each["id"][2] > len(sentence.words):
            first, _, last = each["id"]
            raise ValueError(
                f"the multiword token {first}-{last} has words that are not there at the end of the sentence"
            )
    return sentence


def to_doc(sentence: Sentence, vocab: Vocab, *, tagged: bool = False) -> Doc:
    """A sentence as a document that is one sentence, to be parsed.

    tagged (bool): Whether it has the tags of the sentence.
    """
    spaces = [_SPACE_AFTER not in word["misc"].split("|") for word in sentence.words]
    for each in sentence.ranges.values():
        first, _, last = each["id"]
        spaces[first - 1 : last] = [False] * (last - first) + [_SPACE_AFTER not in each["misc"].split("|")]
    return Doc(
        vocab,
        words=[word["form"] for word in sentence.words],
        spaces=spaces,
        tags=tags_of(sentence) if tagged else None,
        sent_starts=[i == 0 for i in range(len(sentence.words))],
    )


def tags_of(sentence: Sentence) -> list[str]:
    """The tags of a sentence: of words without XPOS, their UPOS, as `spacy convert` does it."""
    return [word["upos"] if word["xpos"] == "_" else word["xpos"] for word in sentence.words]


def write_again(sentence: Sentence, doc: Doc, sent_id: str, *, tagged: bool = False) -> str:
    """A sentence that was read, with what a pipeline has found: its words and multiword tokens, comments and MISC are kept, and so are
    parts of speech, features and lemmas where the pipeline finds none.

    doc (Doc): Made by `to_doc`, and parsed.
    sent_id (str): Of a sentence that has none.
    tagged (bool): Whether it keeps its tags, features and lemmas in any case.
    RAISES (ValueError): If the document has no tree.
    """
    lines: list[Any] = []
    kept = ["form", *(column for column, attribute in _FOUND.items() if tagged or not doc.has_annotation(attribute))]
    for word, found in zip(sentence.words, _words(list(doc)), strict=True):
        found |= {name: _valid(name, word[name], found[name]) for name in kept}
        misc = [part for part in word["misc"].split("|") if part != "_" and part.split("=")[0] not in _WRITTEN]
        found["misc"] = _joined([*misc, *found["misc"]])
        if (each := sentence.ranges.get(found["id"])) is not None:
            # FORM and MISC; a multiword token has no more, but perhaps the feature Typo.
            lines.append({**each, **dict.fromkeys(("lemma", "upos", "xpos", "head", "deprel", "deps"), "_")})
        lines.append(found)
    comments = dict(sentence.comments)
    comments.setdefault("sent_id", sent_id)
    # A text that was written by hand is another one than what words make up only where they are wrong.
    comments.setdefault("text", _text_of(sentence))
    return _serialized(lines, comments, doc)


def write_sentence(span: Span, comments: dict[str, str | None]) -> str:
    """A sentence of a parsed document. White space is no word; a word that has some in it is written with "_" in its place.

    comments (dict[str, str | None]): What comes before its text and its log-probability.
    RETURNS (str): Nothing if there are no words.
    RAISES (ValueError): If the sentence has no tree.
    """
    tokens = [token for token in span if not token.is_space]
    if not tokens:
        return ""
    lines, text = _words(tokens), ""
    for token, line in zip(tokens, lines):
        line["form"] = "_".join(token.text.split())
        after = token.i + 1 == len(token.doc) or bool(token.whitespace_) or token.nbor().is_space
        text += line["form"] + " " * after
        line["misc"] = _joined([*line["misc"], *([] if after else [_SPACE_AFTER])])
    return _serialized(lines, {**comments, "text": text.strip()}, span)


def _text_of(sentence: Sentence) -> str:
    text, end = "", 0
    for number, word in enumerate(sentence.words, 1):
        if number <= end:
            continue
        whole = sentence.ranges.get(number, word)
        end = whole["id"][2] if whole is not word else number
        text += whole["form"] + " " * (_SPACE_AFTER not in whole["misc"].split("|"))
    return text.strip()


def _serialized(lines: list[Any], comments: dict[str, str | None], found: Doc | Span) -> str:
    comments.pop("log_prob", None)
    log_prob = found._.log_prob if found.has_extension("log_prob") else None
    if log_prob is not None:
        comments["log_prob"] = f"{log_prob:.4f}"
    return TokenList([Line(line) for line in lines], Metadata(comments)).serialize()


def _words(tokens: list[Token]) -> list[dict[str, Any]]:
    """The lines of some words, which are a sentence. MISC is a list.

    RAISES (ValueError): If they have no tree.
    """
    if not tokens[0].doc.has_annotation("DEP"):
        raise ValueError("The pipeline finds no trees: it has no parser.")
    heads = _heads(tokens)
    root = heads.index(0)
    lines = []
    for i, (token, head) in enumerate(zip(tokens, heads)):
        label, misc = token.dep_.split(nonproj.DELIMITER)[0], []
        if head == 0:
            deprel = _ROOT
        elif head - 1 == root and _is_root(token):
            # A tree has one root alone.
            deprel = _PUNCTUATION if token.is_punct else _FURTHER
        elif _LABEL.fullmatch(label) and label.split(":")[0] != _ROOT:
            deprel = label
        else:
            deprel = _ANY
            misc = [f"Label={_plain(label)}"] if label.lower() != _ROOT and label else []
        for name, written in _PROBABILITIES.items():
            value = token._.get(name) if token.has_extension(name) else None
            misc += [] if value is None else [f"{written}={value:.4f}"]
        upos = token.pos_ or (token.tag_ if token.tag_ in UPOS else "")
        lines.append(
            {
                "id": i + 1,
                "form": token.text,
                "lemma": _plain(token.lemma_),
                "upos": upos if upos in UPOS else _OTHER_UPOS.get(upos, "X"),
                "xpos": "_".join(token.tag_.split()) or "_",
                "feats": _features(str(token.morph), drop=True) or "_",
                "head": head,
                "deprel": deprel,
                "deps": "_",
                "misc": misc,
            }
        )
    return lines


def _is_root(token: Token) -> bool:
    head = token.head
    while head.is_space and head.head.i != head.i:
        head = head.head
    return head.is_space or head.i == token.i


def _heads(tokens: list[Token]) -> list[int]:
    """The numbers of the heads of some words, 0 for the one that is the root; a word hangs on what the white space hangs on that it
    hangs on.
    """
    number = {token.i: i + 1 for i, token in enumerate(tokens)}
    heads = []
    for token in tokens:
        head = token.head
        while head.is_space and head.head.i != head.i:
            head = head.head
        heads.append(0 if _is_root(token) else number.get(head.i, 0))
    roots = [i for i, head in enumerate(heads) if head == 0]
    true = next((i for i in roots if tokens[i].head.i == tokens[i].i), roots[0])
    return [true + 1 if head == 0 and i != true else head for i, head in enumerate(heads)]


def _valid(column: str, value: str, found: str) -> str:
    """What is kept of a column: not what could not be read again."""
    if column == "feats":
        return _features(value, drop=True) or "_"
    return found if column == "upos" and value not in UPOS | {"_"} else value


def _features(text: str, *, drop: bool = False) -> str | None:
    """Features in the order of their names.

    drop (bool): Whether to leave out what has not the form of a feature; else there is nothing then.
    """
    parts = [part for part in text.split("|") if part and part != "_"]
    good = [part for part in parts if _FEATURE.fullmatch(part)]
    if len(good) < len(parts) and not drop:
        return None
    return "|".join(sorted(good, key=lambda part: part.split("=")[0].lower()))


def _plain(text: str) -> str:
    """What may stand in a column."""
    return "_".join(text.replace("|", "/").split()) or "_"


def _joined(misc: list[str]) -> str:
    return "|".join(misc) or "_"
