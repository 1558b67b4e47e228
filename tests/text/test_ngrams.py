"""N-grams within sentences."""

from collections import Counter
from itertools import chain

import pytest

from spacy_hpyp.text.ngrams import count_ngrams

TEXT = [["The", "cat", "sat"], ["The"], [], ["cat", "The", "cat", "\r", "a b"], ["sat"] * 9]


@pytest.mark.parametrize("waiting", [1, 1000])
@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_n_grams_give_each_word_and_sentence_end_its_history(monkeypatch, order, waiting):
    monkeypatch.setattr("spacy_hpyp.text.ngrams._WAITING", waiting)
    expected = Counter(
        tuple(own[i - j] for j in range(order))
        for own in ([""] * order + words + [""] for words in TEXT if words)
        for i in range(order, len(own))
    )
    found = count_ngrams(iter(TEXT), order)
    rows = [tuple(found.words[i] for i in row) for row in found.rows.tolist()]
    assert len(set(rows)) == len(rows)
    assert dict(zip(rows, found.counts.tolist())) == expected
    assert Counter(chain(*found.tokens())) == Counter(chain(*TEXT))
