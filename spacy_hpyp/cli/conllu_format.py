"""Parsed documents as valid sentences in CoNLL-U, and sentences in CoNLL-U as documents to
parse.
"""

import re
from collections.abc import Iterable

from spacy.tokens import Doc, Span, Token
from spacy.vocab import Vocab

from ..annotation.extensions import probabilities_of
from ..annotation.syntactic_words import multiword_tokens, words_as_tokens
from ..treebanks.conllu import EMPTY, Block

#: The universal parts of speech.
UPOS = frozenset(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
)
# Universal parts of speech that are tags of other tagsets, too.
_IN_OTHER_TAGSETS = frozenset({"SYM", "X"})
_LABEL = re.compile(r"[a-z]+(:[a-z]+)?")
# The attributes of Docs by columns that a pipeline may leave as they are.
_KEPT = {2: "LEMMA", 3: "POS", 4: "TAG", 5: "MORPH"}
_PROBABILITIES = {"head_prob": "HeadProb", "tag_prob": "TagProb"}
_WRITTEN = ("Label", *_PROBABILITIES.values())
#: The last word and the text of each multiword token, by its first word.
Ranges = dict[int, tuple[int, str]]


def to_doc(block: Block, vocab: Vocab) -> Doc:
    """Return a sentence as a document to parse."""
    words = [
        (row[1], space and row is rows[-1]) for _, space, rows in block.tokens() for row in rows
    ]
    forms, spaces = zip(*words)
    return Doc(vocab, list(forms), list(spaces), sent_starts=[i == 0 for i in range(len(words))])


def write_block(
    block: Block,
    doc: Doc,
    sent_id: str,
    comments: Iterable[str] | None = None,
    *,
    bare: bool = False,
) -> str:
    """Write a sentence with new annotation. It keeps its multiword tokens, comments and MISC, and
    its lemmas, tags and features if the pipeline does not find any.

    doc (Doc): The parsed document of `to_doc`.
    sent_id (str): Its name, if it has none.
    comments (Iterable[str] | None): Instead of its own.
    bare (bool): Whether lemmas, tags and features are not kept.
    """
    found, rows = iter(_rows(list(doc))), []
    for row in block.rows:
        if "-" in row[0]:
            rows.append([*row[:2], EMPTY, EMPTY, EMPTY, row[5], EMPTY, EMPTY, EMPTY, [row[9]]])
        elif row[0].isdigit():
            new = next(found)
            new[1] = row[1]
            for column, attribute in _KEPT.items():
                if not bare and not doc.has_annotation(attribute):
                    new[column] = row[column]
            new[3] = new[3] if new[3] in UPOS else "X"
            kept = [
                part for part in row[9].split("|") if part.split("=")[0] not in (EMPTY, *_WRITTEN)
            ]
            rows.append([*new[:9], kept + new[9]])
    own = block.comments if comments is None else comments
    return _serialized(rows, own, sent_id, block.text().strip(), doc)


def write_doc(
    doc: Doc, name: str, number: int, comments: Iterable[str] = (), *, whole: bool = False
) -> list[str]:
    """Write the sentences of a parsed document.

    name (str), number (int): They are called after the name, with the numbers that follow this one.
    comments (Iterable[str]): Comments on the first sentence.
    whole (bool): Whether the document is one sentence.
    """
    words, ranges, more = words_as_tokens(doc), {}, 0
    for token, analyses in multiword_tokens(doc):
        first = token.i + more
        more += len(analyses) - 1
        ranges[first] = token.i + more, token.text
    sentences: list[str] = []
    for span in [words[:]] if whole else words.sents:
        sent_id = f"{name}-{number + len(sentences) + 1}"
        if written := write_sentence(span, sent_id, () if sentences else comments, ranges):
            sentences.append(written)
    return sentences


def write_sentence(
    span: Span, sent_id: str, comments: Iterable[str] = (), ranges: Ranges | None = None
) -> str:
    """Write a parsed sentence of syntactic words. White space is no word.

    RAISES (ValueError): If the sentence has no tree.
    """
    tokens = [token for token in span if not token.is_space]
    if not tokens:
        return ""
    rows: list[list] = []
    text, inside = "", -1
    for token, row in zip(tokens, _rows(tokens)):
        rows.append(row)
        if token.i <= inside:
            continue
        inside, form = (ranges or {}).get(token.i, (token.i, row[1]))
        form, last = " ".join(form.split()), token.doc[inside]
        if inside > token.i:
            row = [f"{row[0]}-{int(row[0]) + inside - token.i}", form, *[EMPTY] * 7, []]
            rows.insert(-1, row)
        after = last.i + 1 == len(last.doc) or bool(last.whitespace_) or last.nbor().is_space
        row[9] += [] if after else ["SpaceAfter=No"]
        text += form + " " * after
    return _serialized(rows, comments, sent_id, text.strip(), span)


def _serialized(
    rows: list[list], comments: Iterable[str], sent_id: str, text: str, found: Doc | Span
) -> str:
    kept = [comment for comment in comments if _key(comment) != "log_prob"]
    keys = set(map(_key, kept))
    kept += [
        f"{key} = {value}"
        for key, value in (("sent_id", sent_id), ("text", text))
        if key not in keys
    ]
    if found.has_extension("log_prob") and found._.log_prob is not None:
        kept.append(f"log_prob = {found._.log_prob:.4f}")
    return Block(0, kept, [[*row[:9], "|".join(row[9]) or EMPTY] for row in rows]).lines()


def _key(comment: str) -> str:
    return comment.partition("=")[0].strip()


def _rows(tokens: list[Token]) -> list[list]:
    """Return the columns of the words of a sentence, the last one a list."""
    if not tokens[0].doc.has_annotation("DEP"):
        raise ValueError("The pipeline finds no trees: it has no parser.")
    heads, roots = _heads(tokens)
    root = heads.index(0)
    # A treebank without tags of its own has parts of speech as tags.
    tags = {token.tag_ for token in tokens if token.tag_}
    has_own_tags = bool(tags - UPOS) or tags <= _IN_OTHER_TAGSETS
    sure = {name: probabilities_of(own, tokens) for own, name in _PROBABILITIES.items()}
    rows = []
    for i, (token, head) in enumerate(zip(tokens, heads)):
        # Behind a bar is what restores crossing arcs.
        label, misc = token.dep_.split("||")[0], []
        if head == 0:
            deprel = "root"
        elif head - 1 == root and i in roots:
            # A tree has one root alone.
            deprel = "punct" if token.is_punct else "parataxis"
        elif _LABEL.fullmatch(label) and label.split(":")[0] != "root":
            deprel = label
        else:
            deprel = "dep"
            plain = "_".join(label.replace("|", "/").split())
            misc = [f"Label={plain}"] if plain and label.lower() != "root" else []
        misc += [
            f"{name}={values[i]:.4f}" for name, values in sure.items() if values[i] is not None
        ]
        upos = token.pos_ or (token.tag_ if token.tag_ in UPOS else "")
        upos = "CCONJ" if upos == "CONJ" else upos
        lemma = " ".join(token.lemma_.split()) or EMPTY
        tag = "_".join(token.tag_.split()) * has_own_tags or EMPTY
        columns = (
            upos if upos in UPOS else "X",
            tag,
            str(token.morph) or EMPTY,
            str(head),
            deprel,
            EMPTY,
        )
        rows.append([str(i + 1), " ".join(token.text.split()), lemma, *columns, misc])
    return rows


def _heads(tokens: list[Token]) -> tuple[list[int], set[int]]:
    """Return the numbers of heads, 0 for the one root, and the places of the pipeline's roots."""
    number = {token.i: i + 1 for i, token in enumerate(tokens)}
    heads, roots = [], []
    for i, token in enumerate(tokens):
        head = token.head
        # A word may hang on white space.
        while head.is_space and head.head.i != head.i:
            head = head.head
        is_root = head.is_space or head.i == token.i
        roots += [i] * is_root
        heads.append(0 if is_root else number.get(head.i, 0))
    cut_off = [i for i, head in enumerate(heads) if head == 0]
    root = next((i for i in cut_off if tokens[i].head.i == tokens[i].i), cut_off[0])
    return [root + 1 if head == 0 and i != root else head for i, head in enumerate(heads)], set(
        roots
    )
