"""Tables of surprisals, for readers of a text file: one row a token, or one row a word between white space."""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc

#: The last columns of a table that is made with a mixture.
MIXED = ("surprisal_ngram", "surprisal_mixed")


class TokenRow(NamedTuple):
    """A token and its surprisal.

    file (str): The file.
    paragraph (int): Number of the paragraph in the file, from 1.
    sentence, word, token (int): Numbers in the paragraph, from 1, of the sentence, the word between white space, and the token.
    start, end (int): Where the token stands in the file, in characters: its text is `file[start:end]`.
    text, tag (str): The token, and the tag that the parser gave it.
    surprisal, surprisal_lexical, surprisal_syntactic (float): The parser's in bits, see `register_extensions`.
    log_prob (float): The parser's in nats, with the ends of sentences.
    surprisal_ngram, surprisal_mixed (float | None): Those of an n-gram model, and of its mixture with the parser, in bits; see
        `spacy_hpyp.language_model.interpolation`.
    """

    file: str
    paragraph: int
    sentence: int
    word: int
    token: int
    start: int
    end: int
    text: str
    tag: str
    surprisal: float
    surprisal_lexical: float
    surprisal_syntactic: float
    log_prob: float
    surprisal_ngram: float | None = None
    surprisal_mixed: float | None = None


class WordRow(NamedTuple):
    """A word between white space. Its surprisal is the sum of its tokens', by the chain rule; the rest is as in `TokenRow`.

    sentence (int): The sentence of its first token.
    tokens (int): How many tokens it has.
    """

    file: str
    paragraph: int
    sentence: int
    word: int
    tokens: int
    start: int
    end: int
    text: str
    surprisal: float
    surprisal_lexical: float
    surprisal_syntactic: float
    log_prob: float
    surprisal_ngram: float | None = None
    surprisal_mixed: float | None = None


def token_rows(doc: Doc, file: str, paragraph: int, offset: int, mixed: np.ndarray | None = None) -> Iterator[TokenRow]:
    """The tokens of a parsed paragraph. White space has no row.

    file (str), paragraph (int): Which paragraph it is, see `TokenRow`.
    offset (int): How many characters of the file come before it.
    mixed (float64[tokens, 2] | None): What the columns `MIXED` are to have.
    """
    word, number, end = 0, 0, -1
    for sentence, span in enumerate(doc.sents, 1):
        for token in span:
            if token.is_space:
                continue
            word += token.idx != end
            number += 1
            end = token.idx + len(token)
            yield TokenRow(
                file=file,
                paragraph=paragraph,
                sentence=sentence,
                word=word,
                token=number,
                start=offset + token.idx,
                end=offset + end,
                text=token.text,
                tag=token.tag_,
                surprisal=token._.surprisal,
                surprisal_lexical=token._.surprisal_lexical,
                surprisal_syntactic=token._.surprisal_syntactic,
                log_prob=token._.log_prob,
                **({} if mixed is None else dict(zip(MIXED, mixed[token.i].tolist()))),
            )


def sum_words(rows: Iterator[TokenRow]) -> Iterator[WordRow]:
    """Add up the tokens of each word between white space: a verb and its clitic, a word and the comma behind it.

    rows (Iterator[TokenRow]): The tokens in their order.
    RETURNS (Iterator[WordRow]): The words.
    """
    for _, group in groupby(rows, key=lambda row: (row.file, row.paragraph, row.word)):
        tokens = list(group)
        first = tokens[0]
        yield WordRow(
            file=first.file,
            paragraph=first.paragraph,
            sentence=first.sentence,
            word=first.word,
            tokens=len(tokens),
            start=first.start,
            end=tokens[-1].end,
            text="".join(token.text for token in tokens),
            surprisal=sum(token.surprisal for token in tokens),
            surprisal_lexical=sum(token.surprisal_lexical for token in tokens),
            surprisal_syntactic=sum(token.surprisal_syntactic for token in tokens),
            log_prob=sum(token.log_prob for token in tokens),
            **{name: _sum_if_known([getattr(token, name) for token in tokens]) for name in MIXED},
        )


def _sum_if_known(values: list[float | None]) -> float | None:
    return None if None in values else sum(values)
