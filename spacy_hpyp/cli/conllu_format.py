"""Parsed documents as valid CoNLL-U, and sentences in CoNLL-U as documents to parse."""

import re
from collections.abc import Iterable

from spacy.tokens import Doc, Token
from spacy.vocab import Vocab

from ..annotation.extensions import probabilities_of
from ..annotation.syntactic_words import multiword_tokens, to_word_doc
from ..treebanks.conllu import EMPTY, Block

#: The universal parts of speech.
UPOS = frozenset(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
)
# Universal parts of speech that are tags of other tagsets, too.
_IN_OTHER_TAGSETS = frozenset({"SYM", "X"})
# Labels that UD allows for arcs between words.
_LABEL = re.compile(r"(?!root(:|$))[a-z]+(:[a-z]+)?")
# Attributes of Docs that a pipeline may not set, by their columns.
_KEPT = {2: "LEMMA", 3: "POS", 4: "TAG", 5: "MORPH"}
_PROBABILITIES = {"head_prob": "HeadProb", "tag_prob": "TagProb"}
_WRITTEN = (EMPTY, "Label", *_PROBABILITIES.values())


def to_doc(block: Block, vocab: Vocab) -> Doc:
    """Return a sentence's words as a document to parse, marked as one sentence."""
    words, spaces = [], []
    for _, space, rows in block.tokens():
        words += [row[1] for row in rows]
        spaces += [False] * (len(rows) - 1) + [space]
    return Doc(vocab, words, spaces, sent_starts=[i == 0 for i in range(len(words))])


def write_block(block: Block, doc: Doc, sent_id: str) -> str:
    """Return a sentence in CoNLL-U with new annotation. It keeps its multiword tokens, comments and
    MISC, and its lemmas, tags and features if the pipeline does not find any.

    doc (Doc), sent_id (str): The parsed document of `to_doc`, and a name if the sentence has none.
    RAISES (ValueError): If the document has no tree.
    """
    return _write(block, list(doc), doc._.log_prob, sent_id)


def write_doc(
    doc: Doc, name: str, number: int, comments: Iterable[str] = (), *, whole: bool = False
) -> list[tuple[list[Token], str]]:
    """Return the words of each sentence of a parsed document, or if `whole` of the only one, and
    the sentence in CoNLL-U. White space is left out. The first sentence has the comments.

    name (str), number (int): They are called after the name, with the numbers after this one.
    RAISES (ValueError): If it has no trees, or no sentence boundaries.
    """
    words, ranges, more = to_word_doc(doc), {}, 0
    for token, analyses in multiword_tokens(doc):
        first = token.i + more
        more += len(analyses) - 1
        ranges[first] = token.i + more, token.text
    sentences: list[tuple[list[Token], str]] = []
    for span in [words[:]] if whole else words.sents:
        own = [word for word in span if not word.is_space]
        if own:
            block = Block(0, [] if sentences else [*comments], _token_rows(own, ranges))
            sent_id = f"{name}-{number + len(sentences) + 1}"
            sentences.append((own, _write(block, own, span._.log_prob, sent_id)))
    return sentences


def _token_rows(words: list[Token], ranges: dict[int, tuple[int, str]]) -> list[list[str]]:
    """Return rows for the tokens and words of a sentence, without annotation. Multiword tokens have
    their last word and text in `ranges`, by their first word.
    """
    rows, end = [], -1
    for i, word in enumerate(words, 1):
        if word.i > end:
            # A token: one word, or several words with a row for the token.
            end, form = ranges.get(word.i, (word.i, word.text))
            last = word.doc[end]
            is_spaced = end + 1 == len(word.doc) or last.whitespace_ or last.nbor().is_space
            misc = EMPTY if is_spaced else "SpaceAfter=No"
            if end > word.i:
                rows.append(_row(f"{i}-{i + end - word.i}", form, misc))
                misc = EMPTY
        rows.append(_row(str(i), word.text, misc))
    return rows


def _row(number: str, form: str, misc: str) -> list[str]:
    return [number, " ".join(form.split()), *[EMPTY] * 7, misc]


def _write(block: Block, words: list[Token], log_prob: float | None, sent_id: str) -> str:
    """Write the annotation of words into the rows of their sentence."""
    doc, annotated, rows = words[0].doc, iter(_rows(words)), []
    kept = [column for column, name in _KEPT.items() if not doc.has_annotation(name)]
    for row in block.rows:
        if "-" in row[0]:
            rows.append([*row[:2], EMPTY, EMPTY, EMPTY, row[5], EMPTY, EMPTY, EMPTY, row[9]])
        elif row[0].isdigit():
            new = next(annotated)
            for column in (1, *kept):
                if row[column] != EMPTY:
                    new[column] = row[column]
            new[3] = new[3] if new[3] in UPOS else "X"
            misc = [part for part in row[9].split("|") if part.split("=")[0] not in _WRITTEN]
            rows.append([*new[:9], "|".join(misc + new[9]) or EMPTY])
    comments = [comment for comment in block.comments if _key(comment) != "log_prob"]
    found = {"sent_id": sent_id, "text": block.text().strip()}
    keys = set(map(_key, comments))
    comments += [f"{key} = {value}" for key, value in found.items() if key not in keys]
    if log_prob is not None:
        comments.append(f"log_prob = {log_prob:.4f}")
    return Block(0, comments, rows).lines()


def _key(comment: str) -> str:
    return comment.partition("=")[0].strip()


def _rows(tokens: list[Token]) -> list[list]:
    """Return the columns of the words of a sentence; MISC is a list."""
    if not tokens[0].doc.has_annotation("DEP"):
        raise ValueError("The pipeline finds no trees: it has no parser.")
    heads, roots = _heads(tokens)
    # In a treebank without its own tags, parts of speech are the tags.
    tags = {token.tag_ for token in tokens if token.tag_}
    has_own_tags = bool(tags - UPOS) or tags <= _IN_OTHER_TAGSETS
    probabilities = {key: probabilities_of(name, tokens) for name, key in _PROBABILITIES.items()}
    rows = []
    for i, (token, head) in enumerate(zip(tokens, heads)):
        # The part after the bar restores crossing arcs.
        deprel, misc = token.dep_.split("||")[0], []
        if head == 0:
            deprel = "root"
        elif i in roots:
            # A tree has one root; the others are attached to it.
            deprel = "punct" if token.is_punct else "parataxis"
        elif not _LABEL.fullmatch(deprel):
            plain, deprel = "_".join(deprel.replace("|", "/").split()), "dep"
            misc = [f"Label={plain}"] if plain and plain.lower() != "root" else []
        misc += [f"{key}={p[i]:.4f}" for key, p in probabilities.items() if p[i] is not None]
        upos = "CCONJ" if token.pos_ == "CONJ" else token.pos_ or token.tag_
        lemma = " ".join(token.lemma_.split()) or EMPTY
        tag = "_".join(token.tag_.split()) * has_own_tags or EMPTY
        columns = lemma, upos, tag, str(token.morph) or EMPTY, str(head), deprel, EMPTY
        rows.append([str(i + 1), " ".join(token.text.split()), *columns, misc])
    return rows


def _heads(tokens: list[Token]) -> tuple[list[int], set[int]]:
    """Return the numbers of heads, 0 for the one root, and the places of the pipeline's roots."""
    number = {token.i: i + 1 for i, token in enumerate(tokens)}
    heads, roots = [], set()
    for i, token in enumerate(tokens):
        head = token.head
        # A word may be attached to white space.
        while head.is_space and head.head.i != head.i:
            head = head.head
        if head.is_space or head.i == token.i:
            roots.add(i)
        heads.append(0 if i in roots else number.get(head.i, 0))
    ends = [i for i, head in enumerate(heads) if head == 0]
    root = next((i for i in ends if tokens[i].head.i == tokens[i].i), ends[0])
    return [root + 1 if head == 0 and i != root else head for i, head in enumerate(heads)], roots
