"""N-grams within sentences."""

from collections import Counter

import numpy as np
import pytest

from spacy_hpyp.text.ngrams import count_ngrams

TEXT = [["The", "cat", "sat"], ["The"], [], ["cat", "The", "cat", "\r", "a b"], ["sat"] * 9]


def named(found):
    assert len(np.unique(found.rows, axis=0)) == len(found.rows)
    return {
        tuple(found.words[i] for i in row): count
        for row, count in zip(found.rows.tolist(), found.counts.tolist())
    }


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
    assert named(found) == expected
    assert Counter(word for own in found.tokens() for word in own) == Counter(
        word for words in TEXT for word in words
    )
