"""Projection of gold trees onto the tokens of a pipeline's tokenizer, by `Example.alignment`.

* A token that holds several gold words takes the tag, the arc and the label of their head.
* If a gold word is cut into several tokens, the first takes its tag, arc and label. The others have
  its tag and are attached to the first, as punctuation if they have no letter and no digit.
* A token that holds words of two sentences belongs to the first. Dependents of words that the
  second loses are attached to the heads of these; where the root is lost, the first dependent
  becomes the root of the others.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from spacy.attrs import DEP, HEAD, IS_SPACE, ORTH, TAG
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..annotation.encoding import raw_sentences, rows_of_spaces, words_in_trees
from ..annotation.sentences import COLUMNS, NO_LABEL, ROOT, RawSentence, problem_of
from ..annotation.syntactic_words import (
    Analysis,
    depths,
    has_multiword_tokens,
    multiword_tokens,
    spelled_apart,
    to_word_doc,
    write_back,
    write_words,
)
from ..compiled import NONE

#: The labels of a split gold word's later tokens: with a letter or digit, and without.
PIECE_LABEL, PUNCTUATION_LABEL = "dep", "punct"


def unannotated(doc: Doc, vocab: Vocab | None = None) -> Doc:
    """Return a new Doc of the same tokens, with the same vocabulary or another."""
    spaces = None if doc.has_unknown_spaces else [bool(token.whitespace_) for token in doc]
    return Doc(doc.vocab if vocab is None else vocab, [token.text for token in doc], spaces)


def with_words(doc: Doc) -> Doc:
    """Return a new Doc with the same tokens and words under them, without annotation."""
    new = unannotated(doc)
    for token, words in multiword_tokens(doc):
        write_words(new, token.i, [Analysis(word.form) for word in words])
    return new


def with_tokens_of(doc: Doc, words: Doc) -> Doc:
    """Return annotated words under the tokens of a Doc: a new Doc if a token has several."""
    if not has_multiword_tokens(doc):
        return words
    new = with_words(doc)
    write_back(words, new)
    return new


def example_of_words(example: Example, tokens: str = "tokenizer") -> Example:
    """Return an example whose tokens are the syntactic words of `example_of_shared_words`."""
    shared = example_of_shared_words(example, tokens)
    if not has_multiword_tokens(shared.reference):
        return shared
    return Example(to_word_doc(shared.predicted), to_word_doc(shared.reference))


def example_of_shared_words(example: Example, tokens: str = "tokenizer") -> Example:
    """Return an example whose documents have the same words under tokens, or none.

    If the words of a token differ, those that spell it become tokens; otherwise it stays whole, as
    French *du* for a tokenizer that does not take it for *de* and *le*. See `spelled_apart`.

    tokens (str): See `gold_sentences`. With "gold" the predicted document is the reference without
        annotation.
    """
    docs = example.predicted, example.reference
    if not any(map(has_multiword_tokens, docs)):
        return example
    if tokens == "gold":
        return Example(with_words(example.reference), example.reference)
    forms = [
        {token.idx: (token.text, *(word.form for word in words)) for token, words in found}
        for found in map(multiword_tokens, docs)
    ]
    shared = {idx for idx, known in forms[0].items() if forms[1].get(idx) == known}
    return Example(*(spelled_apart(doc, shared) for doc in docs))


def example_of_tokens(example: Example) -> Example:
    """Remove multiword tokens from the reference, unless the predicted document has some."""
    if has_multiword_tokens(example.predicted):
        return example
    return Example(example.predicted, spelled_apart(example.reference))


def gold_sentences(example: Example, tokens: str) -> list[RawSentence]:
    """Return the sentences to learn from an example.

    A gold sentence without all tags and a complete tree is unchanged, and may have more or fewer
    positions than words. Complete ones without tokens are left out.

    example (Example): The reference has the annotation.
    tokens (str): "tokenizer" for the tokens of the predicted document, "gold" for those of the
        reference.
    RAISES (ValueError): If the two documents have different texts.
    """
    if tokens == "gold" or _has_gold_tokens(example):
        return raw_sentences(example.reference)
    return list(_carried_over(example))


def _has_gold_tokens(example: Example) -> bool:
    predicted, reference = (
        doc.to_array([ORTH, IS_SPACE]) for doc in (example.predicted, example.reference)
    )
    return np.array_equal(predicted, reference)


def annotated_document(example: Example, tokens: str) -> tuple[Doc, list[RawSentence]]:
    """Return the gold document of an example on the tokens that a parser learns.

    A gold sentence without all tags and a complete tree stays unchanged on the gold document's
    tokens; on others it gets neither tags nor a tree. See `gold_sentences` for the arguments.

    RETURNS (tuple[Doc, list[RawSentence]]): A new document, and its sentences.
    """
    sentences = [each for each in gold_sentences(example, tokens) if len(each.place)]
    if tokens == "gold" or _has_gold_tokens(example):
        return example.reference.copy(), sentences
    doc = unannotated(example.predicted)
    orths = doc.to_array(ORTH).view(np.int64)
    rows = rows_of_spaces(doc, np.flatnonzero(doc.to_array(IS_SPACE) == 0)).view(np.int64)
    for i, sentence in enumerate(sentences):
        annotated, place = sentence.rows, sentence.place
        if problem_of(annotated) is not None:
            # See `Block.complete`.
            annotated = np.zeros((len(place), COLUMNS), dtype=np.int64)
            annotated[:, 0], annotated[:, 3] = orths[place], -np.arange(len(place))
            annotated[0, 2] = ROOT if len(place) > 1 else NO_LABEL
            sentences[i] = RawSentence(annotated, doc.vocab, place)
        rows[place, :2] = annotated[:, 1:3]
        rows[place, 2] = place[np.arange(len(place)) + annotated[:, 3]] - place
    return doc.from_array([TAG, DEP, HEAD], rows.view(np.uint64)), sentences


def tokens_in_trees(example: Example) -> tuple[np.ndarray, np.ndarray]:
    """Return which tokens have to do with sentences that have complete trees.

    RETURNS (tuple[bool[tokens], bool[gold]]): Predicted tokens, but for those that hold nothing but
        gold words of other sentences; and gold words of these sentences.
    """
    gold, held = words_in_trees(example.reference), example.alignment.x2y
    token = np.repeat(np.arange(len(held.lengths)), held.lengths)
    in_tree = np.bincount(token, gold[held.data], len(held.lengths))
    return (held.lengths == 0) | (in_tree > 0), gold


def _carried_over(example: Example) -> Iterator[RawSentence]:
    """Yield the sentences of an example on the predicted tokens."""
    tokens = example.predicted.to_array([ORTH, IS_SPACE]).view(np.int64)
    held, holding = example.alignment.x2y, example.alignment.y2x
    sentences = raw_sentences(example.reference)
    # The sentence of each gold word, and its number in it.
    sentence_of, number = np.full((2, len(example.reference)), NONE)
    for i, sentence in enumerate(sentences):
        sentence_of[sentence.place], number[sentence.place] = i, np.arange(len(sentence.place))
    # The first gold word of each token, and its sentence.
    first_word = np.full(len(tokens), NONE)
    is_aligned = (tokens[:, 1] == 0) & (held.lengths > 0)
    first_word[is_aligned] = held.data[(np.cumsum(held.lengths) - held.lengths)[is_aligned]]
    home = np.where(first_word == NONE, NONE, sentence_of[first_word])
    # The first token of its sentence that holds a part of each gold word; it is written last.
    owner = np.full(len(sentence_of), NONE)
    words = np.repeat(np.arange(len(sentence_of)), holding.lengths)
    is_home = (home[holding.data] == sentence_of[words]) & (sentence_of[words] != NONE)
    owner[words[is_home][::-1]] = holding.data[is_home][::-1]
    at_home = np.flatnonzero(home != NONE)
    bounds = np.searchsorted(home[at_home], np.arange(len(sentences) + 1))
    for i, sentence in enumerate(sentences):
        place, owners = at_home[bounds[i] : bounds[i + 1]], owner[sentence.place]
        if problem_of(sentence.rows) is not None:
            yield replace(sentence, place=place)
        elif len(place):
            holder = np.where(owners == NONE, NONE, np.searchsorted(place, owners))
            first, orths = number[first_word[place]], tokens[place, 0]
            rows = _project(sentence.rows, holder, first, orths, sentence.vocab.strings)
            yield RawSentence(rows, sentence.vocab, place)


def _project(
    rows: np.ndarray,
    holder: np.ndarray,
    first_word: np.ndarray,
    orths: np.ndarray,
    strings: StringStore,
) -> np.ndarray:
    """Project a complete tree of gold words onto tokens.

    rows (int64[words, COLUMNS]): The gold sentence, see `RawSentence`.
    holder (int64[words]): The token of each word, `NONE` for words lost to another sentence.
    first_word, orths (int64[tokens]): The first word of each token, and its ORTH.
    RETURNS (int64[tokens, COLUMNS]): The sentence of the tokens. The depth of the highest word of a
        token decreases on the way to the root, so there is no cycle.
    """
    n, places = len(rows), np.arange(len(orths))
    if np.array_equal(holder, places):
        return np.column_stack([orths, rows[:, 1:]])
    head = np.arange(n) + rows[:, 3]
    depth = depths(head)
    # The highest word of each token, the first of equally high ones, is written last.
    order = np.lexsort((-np.arange(n), -depth))
    order = order[holder[order] != NONE]
    highest = np.full(len(orths), NONE)
    highest[holder[order]] = order
    # Lost heads are replaced by their own heads.
    above = head
    while np.any(is_lost := (holder[above] == NONE) & (head[above] != above)):
        above = np.where(is_lost, head[above], above)
    is_piece = highest == NONE
    source = np.where(is_piece, first_word, highest)
    heads = holder[np.where(is_piece, first_word, above[source])]
    rootless = np.flatnonzero(heads == NONE)
    if len(rootless):
        heads[rootless] = rootless[depth[source[rootless]].argmin()]
    projected = np.column_stack([orths, rows[source, 1:3], heads - places, rows[source, 4:]])
    for token in np.flatnonzero(is_piece).tolist():
        form = strings[int(np.uint64(orths[token]))]
        label = PIECE_LABEL if any(map(str.isalnum, form)) else PUNCTUATION_LABEL
        projected[token, 2] = np.uint64(strings.add(label)).astype(np.int64)
    return projected
