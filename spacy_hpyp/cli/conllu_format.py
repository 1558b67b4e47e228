"""Parsed documents as sentences in CoNLL-U, and sentences in CoNLL-U as documents to parse.

What makes a sentence valid is checked here: the one root, and what labels, parts of speech and features look
like (https://universaldependencies.org/format.html).
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from spacy.tokens import Doc, Span, Token
from spacy.vocab import Vocab

from ..annotation.extensions import probabilities_of
from ..annotation.syntactic_words import multiword_tokens, word_spans, words_as_tokens
from ..compat.spacy import nonproj
from ..treebanks.conllu import COLUMNS, EMPTY, Block, blocks_of
from .raw_text import lines_of

#: The universal parts of speech.
UPOS = frozenset("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split())
# Universal parts of speech that are tags of other tagsets as well.
_IN_OTHER_TAGSETS = frozenset({"SYM", "X"})
_OTHER_UPOS = {"CONJ": "CCONJ"}
# That of words of which a pipeline that finds parts of speech has found none.
_NO_UPOS = "X"
_LABEL = re.compile(r"[a-z]+(:[a-z]+)?")
_FEATURE = re.compile(r"[A-Z0-9][A-Za-z0-9]*(\[[a-z0-9]+\])?=[A-Z0-9][A-Za-z0-9]*(,[A-Z0-9][A-Za-z0-9]*)*")
_ROOT, _ANY, _FURTHER, _PUNCTUATION = "root", "dep", "parataxis", "punct"
_PROBABILITIES = {"head_prob": "HeadProb", "label_prob": "LabelProb", "tag_prob": "TagProb"}
#: The columns that a pipeline may find, and the attributes that they are in Docs.
FOUND = {"lemma": "LEMMA", "upos": "POS", "xpos": "TAG", "feats": "MORPH"}
# What is written into MISC here, and what is replaced of it in a sentence that has it already.
_WRITTEN = ("Label", *_PROBABILITIES.values())
_SPACE_AFTER = "SpaceAfter=No"
_SURE = ("log_prob", "head_prob", "tag_prob")
#: The columns of a table of words. A paragraph is known by its place in the file; `start` and `end` count its
#: characters.
ROW = (*"file paragraph sentence token start end text lemma upos tag feats head deprel".split(), *_SURE)
#: The columns of a line, by name.
Line = dict[str, Any]
#: By what stands before the sign "=".
Comments = dict[str, str | None]
#: The last word and the text of each multiword token, by its first word.
Ranges = dict[int, tuple[int, str]]


def checked_blocks(lines: Iterable[str], name: str, *, tagged: bool = False) -> Iterator[Block]:
    """Read sentences, one after the other. Their heads, labels and enhanced graphs are not looked at.

    name (str): Of the file, for errors.
    tagged (bool): Whether parts of speech and features have to be valid: they will be written again.
    RAISES (ValueError): If something is not CoNLL-U, with the line.
    """
    for block in blocks_of(lines, name):
        for i, row in enumerate(block.rows):
            for column, value in zip(COLUMNS, row):
                if not value.strip():
                    problem = f"the column {column.upper()} is empty; what is not there is written as '_'"
                    raise block.wrong(i, name, problem)
            if tagged and row[0].isdigit() and (problem := _wrong_tags(dict(zip(COLUMNS, row)))):
                raise block.wrong(i, name, problem)
        yield block


def conllu_sentences(path: Path, *, tagged: bool = False) -> Iterator[Block]:
    """The sentences of a file or of stdin, see `checked_blocks`."""
    yield from checked_blocks((line for _, line in lines_of(path)), str(path), tagged=tagged)


def comments_of(sentence: Block) -> Comments:
    """What a sentence is said to be, by what stands before the sign "="."""
    found: Comments = {}
    for comment in sentence.comments:
        key, equals, value = (part.strip() for part in comment.partition("="))
        if key in found:
            found[comment] = None
        else:
            found[key] = value if equals else None
    return found


def _wrong_tags(word: Line) -> str | None:
    """What keeps a word's part of speech or features from being written again, if anything does."""
    if word["upos"] not in UPOS | {"_"}:
        return f"'{word['upos']}' is not a universal part of speech"
    if word["feats"] != "_" and _features(word["feats"]) is None:
        return f"'{word['feats']}' are not features in the form of Name=Value|Name=Value"
    return None


def to_doc(sentence: Block, vocab: Vocab, *, tagged: bool = False) -> Doc:
    """A sentence as a document that is one sentence, to be parsed; perhaps with its tags."""
    words = [(row[1], space and row is rows[-1]) for _, space, rows in sentence.tokens() for row in rows]
    starts, tags = [i == 0 for i in range(len(words))], tags_of(sentence) if tagged else None
    return Doc(
        vocab, [form for form, _ in words], [space for _, space in words], tags=tags, sent_starts=starts
    )


def tags_of(sentence: Block) -> list[str]:
    """The tags of a sentence: of words without XPOS, their UPOS, as `spacy convert` does it."""
    return [
        upos if xpos == EMPTY else xpos for index, _, _, upos, xpos, *_ in sentence.rows if index.isdigit()
    ]


def write_again(
    sentence: Block,
    doc: Doc,
    sent_id: str,
    comments: Comments | None = None,
    *,
    tagged: bool = False,
    bare: bool = False,
) -> str:
    """A sentence that was read, with what a pipeline has found: its words and multiword tokens, comments and
    MISC are kept, and so are parts of speech, features and lemmas where the pipeline finds none.

    doc (Doc): Made by `to_doc`, and parsed.
    sent_id (str): Of a sentence that has none.
    comments (Comments | None): Instead of its own.
    tagged (bool): Whether it keeps its tags, features and lemmas in any case.
    bare (bool): Whether it keeps none of them.
    RAISES (ValueError): If the document has no tree.
    """
    lines: list[Line] = []
    kept = [
        "form",
        *(column for column, attribute in FOUND.items() if tagged or not doc.has_annotation(attribute)),
    ]
    own = iter(_words(list(doc)))
    for word in (dict(zip(COLUMNS, row)) for row in sentence.rows):
        if "-" in word["id"]:
            # FORM and MISC; a multiword token has no more, but perhaps the feature Typo.
            lines.append(
                {**word, **dict.fromkeys(("lemma", "upos", "xpos", "head", "deprel", "deps"), EMPTY)}
            )
        elif word["id"].isdigit():
            found = next(own)
            word |= dict.fromkeys(FOUND, EMPTY) if bare else {}
            found |= {name: _valid(name, word[name], found[name]) for name in kept}
            misc = [
                part
                for part in word["misc"].split("|")
                if part != EMPTY and part.split("=")[0] not in _WRITTEN
            ]
            lines.append({**found, "misc": _joined([*misc, *found["misc"]])})
    # A text that was written by hand is another one than what words make up only where they are wrong.
    usual = {"sent_id": sent_id, "text": text_of(sentence)}
    comments = dict(comments_of(sentence) if comments is None else comments)
    return _serialized(
        lines, comments | {key: value for key, value in usual.items() if key not in comments}, doc
    )


def words_to_write(doc: Doc) -> tuple[Doc, Ranges]:
    """The syntactic words of a parsed document, as `words_as_tokens` gives them, and its multiword tokens."""
    ranges: Ranges = {}
    several = {token.i: len(analyses) for token, analyses in multiword_tokens(doc)}
    first = 0
    for token in doc if several else ():
        count = several.get(token.i, 1)
        if token.i in several:
            ranges[first] = first + count - 1, token.text
        first += count
    return words_as_tokens(doc), ranges


def write_sentence(span: Span, comments: Comments, ranges: Ranges | None = None) -> str:
    """A sentence of a parsed document whose tokens are syntactic words. White space is no word; in a word it
    is written as one blank.

    comments (dict[str, str | None]): What comes before its text and its log-probability.
    ranges (Ranges | None): The multiword tokens, if there are any.
    RETURNS (str): Nothing if there are no words.
    RAISES (ValueError): If the sentence has no tree.
    """
    tokens = [token for token in span if not token.is_space]
    if not tokens:
        return ""
    ranges = ranges or {}
    lines: list[Line] = []
    text, inside = "", -1
    for token, line in zip(tokens, _words(tokens)):
        lines.append(line)
        line["form"] = " ".join(token.text.split())
        if token.i <= inside:
            line["misc"] = _joined(line["misc"])
            continue
        inside, form = ranges.get(token.i, (token.i, token.text))
        last = token.doc[inside]
        after = last.i + 1 == len(last.doc) or bool(last.whitespace_) or last.nbor().is_space
        space = [] if after else [_SPACE_AFTER]
        if token.i in ranges:
            line["misc"] = _joined(line["misc"])
            span_of_words = f"{line['id']}-{line['id'] + inside - token.i}"
            form = " ".join(form.split())
            lines.insert(
                -1, {**dict.fromkeys(COLUMNS, "_"), "id": span_of_words, "form": form, "misc": _joined(space)}
            )
        else:
            line["misc"] = _joined([*line["misc"], *space])
            form = line["form"]
        text += form + " " * after
    return _serialized(lines, {**comments, "text": text.strip()}, span)


def word_rows(doc: Doc, columns: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The syntactic words of a parsed document as rows of a table with the columns `ROW`; some all of them
    have in common.
    """
    words, spans, number = words_as_tokens(doc), word_spans(doc).tolist(), 0
    for sentence in words.sents:
        tokens = [token for token in sentence if not token.is_space]
        if not tokens:
            continue
        number += 1
        sure = [probabilities_of(name, tokens) for name in _SURE]
        for token, line, *values in zip(tokens, _words(tokens), *sure):
            start, end = spans[token.i]
            row = {
                **columns,
                "sentence": number,
                "token": line["id"],
                "start": start,
                "end": end,
                "text": line["form"],
            }
            own = {
                "tag" if name == "xpos" else name: line[name]
                for name in ("lemma", "upos", "xpos", "feats", "head", "deprel")
            }
            yield row | own | dict(zip(_SURE, values))


def text_of(sentence: Block) -> str:
    """The text of a sentence that was read: its tokens, and the spaces between them."""
    return _with_space(sentence).strip()


def lines_of_text(sentences: Iterable[Block]) -> Iterator[str]:
    """The text of sentences as it was before it was cut: an empty line before each document and paragraph but
    the first.
    """
    for i, sentence in enumerate(sentences):
        if i and sentence.begins("newdoc", "newpar"):
            yield "\n"
        yield _with_space(sentence)


def _with_space(sentence: Block) -> str:
    return "".join(text + " " * space for text, space, _ in sentence.tokens())


def _serialized(lines: list[Line], comments: Comments, found: Doc | Span) -> str:
    comments.pop("log_prob", None)
    log_prob = found._.log_prob if found.has_extension("log_prob") else None
    if log_prob is not None:
        comments["log_prob"] = f"{log_prob:.4f}"
    written = [f"# {key} = {value}" if value else f"# {key}" for key, value in comments.items()]
    written += ["\t".join(str(line[column]) for column in COLUMNS) for line in lines]
    return "\n".join(written) + "\n\n"


def _words(tokens: list[Token]) -> list[Line]:
    """The lines of some words, which are a sentence. MISC is a list."""
    if not tokens[0].doc.has_annotation("DEP"):
        raise ValueError("The pipeline finds no trees: it has no parser.")
    heads = _heads(tokens)
    root = heads.index(0)
    lines = []
    missing = _NO_UPOS if tokens[0].doc.has_annotation("POS") else EMPTY
    # Where the treebank has no tags of its own, words have their parts of speech as tags.
    tags = {token.tag_ for token in tokens if token.tag_}
    has_own_tags = bool(tags - UPOS) or tags <= _IN_OTHER_TAGSETS
    sure = {written: probabilities_of(name, tokens) for name, written in _PROBABILITIES.items()}
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
        misc += [f"{written}={value[i]:.4f}" for written, value in sure.items() if value[i] is not None]
        upos = token.pos_ or (token.tag_ if token.tag_ in UPOS else "")
        lines.append(
            {
                "id": i + 1,
                "form": token.text,
                "lemma": _plain(token.lemma_),
                "upos": upos if upos in UPOS else _OTHER_UPOS.get(upos, _NO_UPOS if upos else missing),
                "xpos": "_".join(token.tag_.split()) * has_own_tags or "_",
                "feats": _features(str(token.morph), drop=True) or "_",
                "head": head,
                "deprel": deprel,
                "deps": "_",
                "misc": misc,
            }
        )
    return lines


def _head_of(token: Token) -> Token:
    """What a word hangs on, or what the white space hangs on that it hangs on."""
    head = token.head
    while head.is_space and head.head.i != head.i:
        head = head.head
    return head


def _is_root(token: Token) -> bool:
    head = _head_of(token)
    return head.is_space or head.i == token.i


def _heads(tokens: list[Token]) -> list[int]:
    """The numbers of the heads of some words, 0 for the one that is the root."""
    number = {token.i: i + 1 for i, token in enumerate(tokens)}
    heads = [0 if _is_root(token) else number.get(_head_of(token).i, 0) for token in tokens]
    roots = [i for i, head in enumerate(heads) if head == 0]
    true = next((i for i in roots if tokens[i].head.i == tokens[i].i), roots[0])
    return [true + 1 if head == 0 and i != true else head for i, head in enumerate(heads)]


def _valid(column: str, value: str, found: str) -> str:
    """What is kept of a column: not what could not be read again."""
    if column == "feats":
        return _features(value, drop=True) or "_"
    return found if column == "upos" and value not in UPOS | {"_"} else value


@lru_cache(1 << 12)
def _features(text: str, *, drop: bool = False) -> str | None:
    """Features in the order of their names; nothing if one has not the form of a feature and is not to be
    dropped.
    """
    parts = [part for part in text.split("|") if part and part != "_"]
    good = [part for part in parts if _FEATURE.fullmatch(part)]
    if len(good) < len(parts) and not drop:
        return None
    return "|".join(sorted(good, key=lambda part: part.split("=")[0].lower()))


def _plain(text: str) -> str:
    return "_".join(text.replace("|", "/").split()) or "_"


def _joined(misc: list[str]) -> str:
    return "|".join(misc) or "_"
