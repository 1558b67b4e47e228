"""Projection of gold trees onto the tokens of a pipeline's tokenizer, by `Example.alignment`.

* A token that holds several gold words takes the tag, the arc and the label of their head.
* If a gold word is cut into several tokens, the first takes its tag, arc and label. The others have
  its tag and are attached to the first, as punctuation if they have no letter and no digit.
* A token that holds words of two sentences belongs to the first. Dependents of words that the
  second loses are attached to the heads of these; where the root is lost, the first dependent
  becomes the root of the others.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from spacy.attrs import DEP, HEAD, IS_SPACE, ORTH, TAG
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.documents import (
    NO_LABEL,
    ROOT,
    GoldDocument,
    RawSentence,
    located_sentences,
    problem_of,
    raw_sentences,
    rows_of_spaces,
    unannotated,
    with_words,
    words_in_trees,
)
from ..annotation.syntactic_words import (
    depths,
    has_multiword_tokens,
    multiword_tokens,
    spelled_apart,
    words_as_tokens,
)
from ..compiled import NONE

#: The labels of the tokens that a gold word was cut into, but for the first: of words, and of what
#: is none.
PIECE_LABEL, PUNCTUATION_LABEL = "dep", "punct"


def example_of_words(example: Example, tokens: str = "tokenizer") -> Example:
    """Return an example whose tokens are the syntactic words of `example_of_shared_words`."""
    shared = example_of_shared_words(example, tokens)
    if not has_multiword_tokens(shared.reference):
        return shared
    return Example(words_as_tokens(shared.predicted), words_as_tokens(shared.reference))


def example_of_shared_words(example: Example, tokens: str = "tokenizer") -> Example:
    """Return an example whose documents have the same words under tokens, or none.

    Tokens of the predicted document that have other words than in the reference stay whole, see
    `spelled_apart`: French *du* is one token for a tokenizer that does not take it for *de* and
        *le*.

    tokens (str): See `sentences_of`. With "gold" the predicted document is the reference without
    annotation.
    """
    predicted, reference = example.predicted, example.reference
    if not (has_multiword_tokens(reference) or has_multiword_tokens(predicted)):
        return example
    if tokens == "gold":
        return Example(with_words(reference), reference)
    forms = [_forms_below(doc) for doc in (predicted, reference)]
    shared = {idx for idx, known in forms[0].items() if forms[1].get(idx) == known}
    return Example(spelled_apart(predicted, shared), spelled_apart(reference, shared))


def _forms_below(doc: Doc) -> dict[int, tuple[str, ...]]:
    """Return the text of each multiword token and of its words, by its first character."""
    return {
        token.idx: (token.text, *(word.form for word in words))
        for token, words in multiword_tokens(doc)
    }


def example_of_tokens(example: Example) -> Example:
    """Return an example whose reference has no words under tokens, unless the predicted document
    has.
    """
    if has_multiword_tokens(example.predicted):
        return example
    return Example(example.predicted, spelled_apart(example.reference))


def sentences_of(example: Example, tokens: str = "tokenizer") -> Iterator[RawSentence]:
    """Return the sentences of an example as a parser learns them, without white space.

    A gold sentence without a complete tree is returned unchanged; `annotation.documents.read_gold`
    says why.

    example (Example): The reference has the annotation.
    tokens (str): "tokenizer" for the tokens of the predicted document, "gold" for those of the
    reference. RAISES (ValueError): If the two documents have different texts.
    """
    if tokens == "gold" or _has_gold_tokens(example):
        return raw_sentences(example.reference)
    return (sentence for sentence, _ in _carried_over(example))


def annotated_document(
    example: Example, tokens: str
) -> tuple[Doc, list[RawSentence], list[np.ndarray]]:
    """Return the gold document of an example on the tokens that a parser learns.

    A gold sentence without a complete tree stays unchanged if it has the same tokens; else it has
    no annotation.

    tokens (str): See `sentences_of`.
    RETURNS (tuple[Doc, list[RawSentence], list[int64[*]]]): A new document, all its sentences, and
        the positions of their words.
    """
    if tokens == "gold" or _has_gold_tokens(example):
        located = located_sentences(example.reference)
        return (
            example.reference.copy(),
            [sentence for sentence, _ in located],
            [place for _, place in located],
        )
    predicted = example.predicted
    doc = unannotated(predicted)
    orths = doc.to_array(ORTH).view(np.int64)
    rows = rows_of_spaces(doc, np.flatnonzero(doc.to_array(IS_SPACE) == 0)).view(np.int64)
    found, places = [], []
    for sentence, place in _carried_over(example):
        if len(place) == 0:
            continue
        if problem_of(sentence.rows) is not None:
            # See `Block.complete`.
            incomplete = np.zeros((len(place), 4), dtype=np.int64)
            incomplete[:, 0], incomplete[:, 3] = orths[place], place[0] - place
            incomplete[0, 2] = ROOT if len(place) > 1 else NO_LABEL
            sentence = RawSentence(incomplete, doc.vocab)
        rows[place, :2] = sentence.rows[:, 1:3]
        rows[place, 2] = place[np.arange(len(place)) + sentence.rows[:, 3]] - place
        found.append(sentence)
        places.append(place)
    return doc.from_array([TAG, DEP, HEAD], rows.view(np.uint64)), found, places


def tokens_in_trees(example: Example) -> tuple[np.ndarray, np.ndarray]:
    """Return which tokens have to do with sentences that have complete trees.

    RETURNS (tuple[bool[tokens], bool[gold]]): Predicted tokens, but for those that hold nothing but
        gold words of other sentences; and gold words of these sentences.
    """
    gold, held = words_in_trees(example.reference), example.alignment.x2y
    own = np.bincount(
        np.repeat(np.arange(len(held.lengths)), held.lengths), gold[held.data], len(held.lengths)
    )
    return (held.lengths == 0) | (own > 0), gold


def _has_gold_tokens(example: Example) -> bool:
    """Whether the predicted document has the same tokens as the reference."""
    return np.array_equal(
        example.predicted.to_array([ORTH, IS_SPACE]), example.reference.to_array([ORTH, IS_SPACE])
    )


def _carried_over(example: Example) -> Iterator[tuple[RawSentence, np.ndarray]]:
    """Yield the sentences of an example on the predicted tokens, with the positions of these
    (int64[*]).
    """
    predicted = example.predicted.to_array([ORTH, IS_SPACE]).view(np.int64)
    reference = example.reference.to_array([ORTH, IS_SPACE]).view(np.int64)
    located = located_sentences(example.reference)
    sentence_of, number = np.full(len(reference), NONE), np.full(len(reference), NONE)
    for i, (_, words) in enumerate(located):
        sentence_of[words], number[words] = i, np.arange(len(words))
    first_word, home, owner = _align(example, predicted[:, 1] == 0, sentence_of)
    tokens = np.flatnonzero(home != NONE)
    token_bounds = np.searchsorted(home[tokens], np.arange(len(located) + 1))
    for i, (sentence, own_words) in enumerate(located):
        own_tokens = tokens[token_bounds[i] : token_bounds[i + 1]]
        if problem_of(sentence.rows) is not None:
            yield sentence, own_tokens
        elif len(own_tokens) > 0:
            place = np.searchsorted(own_tokens, owner[own_words])
            holder = np.where(owner[own_words] == NONE, NONE, place)
            rows = _carry_over(
                sentence.rows,
                holder,
                number[first_word[own_tokens]],
                predicted[own_tokens, 0],
                example,
            )
            yield RawSentence(rows, sentence.vocab), own_tokens


def _align(
    example: Example, is_word: np.ndarray, sentence_of: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Align tokens and gold words.

    is_word (bool[tokens]): Which tokens are not white space.
    sentence_of (int64[gold]): The sentence of each gold token, `NONE` for white space.
    RETURNS (tuple): For each token its first gold word and that word's sentence; for each gold
        token the first token of its sentence that holds a part of it (int64[*]); `NONE` where there
        is none.
    """
    held, holding = example.alignment.x2y, example.alignment.y2x
    first_word = np.full(len(is_word), NONE)
    some = is_word & (held.lengths > 0)
    first_word[some] = held.data[(np.cumsum(held.lengths) - held.lengths)[some]]
    home = np.where(first_word == NONE, NONE, sentence_of[first_word])
    owner = np.full(len(sentence_of), NONE)
    words = np.repeat(np.arange(len(sentence_of)), holding.lengths)
    own = (home[holding.data] == sentence_of[words]) & (sentence_of[words] != NONE)
    # Of several tokens the first is to be written last.
    owner[words[own][::-1]] = holding.data[own][::-1]
    return first_word, home, owner


def _carry_over(
    rows: np.ndarray,
    holder: np.ndarray,
    first_word: np.ndarray,
    forms: np.ndarray,
    example: Example,
) -> np.ndarray:
    """Project a complete tree of gold words onto tokens.

    rows (int64[words, 4]): The gold sentence, see `RawSentence`.
    holder (int64[words]): The token of each word, `NONE` for words lost to another sentence.
    first_word (int64[tokens]): The first word of each token.
    forms (int64[tokens]): ORTH of the tokens.
    RETURNS (int64[tokens, 4]): The sentence of the tokens. The depth of the highest word of a token
        decreases on the way to the root, so there is no cycle.
    """
    n, m = len(rows), len(forms)
    if np.array_equal(holder, np.arange(m)) and n == m:
        return np.column_stack([forms, rows[:, 1:]])
    gold_heads = (np.arange(n) + rows[:, 3]).tolist()
    depth = depths(np.array(gold_heads)).tolist()
    highest = [NONE] * m
    for word, token in enumerate(holder.tolist()):
        if token != NONE and (highest[token] == NONE or depth[word] < depth[highest[token]]):
            highest[token] = word
    heads = list(range(m))
    rootless = []
    for token, word in enumerate(highest):
        if word == NONE:
            heads[token] = int(holder[first_word[token]])
        elif gold_heads[word] != word:
            head = gold_heads[word]
            while holder[head] == NONE and gold_heads[head] != head:
                head = gold_heads[head]
            if holder[head] == NONE:
                rootless.append(token)
            else:
                heads[token] = int(holder[head])
    if rootless:
        root = min(rootless, key=lambda token: depth[highest[token]])
        for token in rootless:
            heads[token] = root
    source = np.where(np.array(highest) == NONE, first_word, highest)
    carried = np.column_stack([forms, rows[source, 1:3], np.array(heads) - np.arange(m)])
    strings = example.reference.vocab.strings
    for token, word in enumerate(highest):
        if word == NONE:
            form = strings[int(np.uint64(forms[token]))]
            label = (
                PIECE_LABEL if any(character.isalnum() for character in form) else PUNCTUATION_LABEL
            )
            carried[token, 2] = np.uint64(strings.add(label)).astype(np.int64)
    return carried


def gold_documents(examples: Iterable[Example], tokens: str) -> Iterator[GoldDocument]:
    """Yield the sentences to learn from each example, see `sentences_of`."""
    return (list(sentences_of(example, tokens)) for example in examples)
