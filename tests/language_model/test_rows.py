"""Rows of surprisals, from handmade scores."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hpyp.language_model.surprisal import (
    Coverage,
    Frequencies,
    Scores,
    passage_rows,
    table_rows,
)
from spacy_hpyp.language_model.tables import Alignment, make_passages, read_passages

WORDS = "The dog does n't sleep , Kim ! – Ada waits .".split()
TEXT = "The dog doesn't sleep, Kim! – Ada waits."


def scores_of(passage, unknown=()):
    """Scores with surprisal 2 ** i of word i, and entropy 10 - i before it."""
    text, spans, place = passage.text, [], 0
    for word in WORDS:
        start = text.index(word, place)
        place = start + len(word)
        spans.append((start, place))
    count = np.arange(len(WORDS))
    starts = [i in (0, 9) for i in count]
    doc = Doc(spacy.blank("en").vocab, words=WORDS, sent_starts=starts)
    classes = ["RARE" if i in unknown else "" for i in count]
    entropies = {"next": np.stack([10.0 - count, 9.0 - count], axis=1)}
    return Scores(doc, np.array(spans), {"surprisal": 2.0**count}, classes, None, entropies)


def rows_of(passage, **settings):
    return [row for _, row in passage_rows(scores_of(passage), passage, **settings)]


@pytest.fixture
def passage():
    regions = "The dog does|n't | sleep, Kim! – | Ada waits."
    (passage,) = make_passages([("x", {"item": 7, "regions": regions})])
    assert passage.text == TEXT
    return passage


def test_tokens_are_numbered_in_words_sentences_and_regions(passage):
    rows = rows_of(passage)
    assert [row["text"] for row in rows] == WORDS
    assert [TEXT[row["start"] : row["end"]] for row in rows] == WORDS
    assert [row["token"] for row in rows] == list(range(1, 13))
    assert [row["word"] for row in rows] == [1, 2, 3, 4, 5, 5, 6, 6, 7, 8, 9, 9]
    assert [row["region"] for row in rows] == [1, 1, 1, 2, 3, 3, 3, 3, 3, 4, 4, 4]
    assert [row["sentence"] for row in rows] == [1] * 9 + [2] * 3
    assert {row["reduction_next"] for row in rows} == {1.0}


@pytest.mark.parametrize("punctuation", [True, False])
@pytest.mark.parametrize("by", ["word", "region"])
def test_words_and_regions_sum_their_tokens(passage, by, punctuation):
    tokens = rows_of(passage)
    rows = rows_of(passage, by=by, punctuation=punctuation)
    kept = [token for token in tokens if punctuation or token["text"] not in ",!–."]
    for row in rows:
        own = [token for token in kept if token[by] == row[by]]
        assert row["tokens"] == len(own)
        assert row["surprisal"] == sum(token["surprisal"] for token in own)
        assert row["entropy_next"] == own[-1]["entropy_next"]
        assert row["text"].replace(" ", "")[: len(own[0]["text"])] == own[0]["text"]
    texts = {
        ("word", True): ["The", "dog", "does", "n't", "sleep,", "Kim!", "–", "Ada", "waits."],
        ("word", False): ["The", "dog", "does", "n't", "sleep", "Kim", "Ada", "waits"],
        ("region", True): ["The dog does", "n't", "sleep, Kim! –", "Ada waits."],
        ("region", False): ["The dog does", "n't", "sleep, Kim", "Ada waits"],
    }
    assert [row["text"] for row in rows] == texts[by, punctuation]


def test_a_region_boundary_inside_a_token_raises_an_error():
    (passage,) = make_passages([("line 2", {"item": 1, "regions": TEXT.replace("eep", "ee|p")})])
    with pytest.raises(ValueError, match=r"Region 1 of line 2 ends inside the token 'sleep'"):
        rows_of(passage)


def test_the_context_of_a_stimulus_has_no_rows(passage):
    stimulus = {"item": 7, "text": TEXT[4:], "before": "The"}
    (after,) = make_passages([("x", stimulus)], context="before")
    rows = rows_of(after)
    assert [row["surprisal"] for row in rows] == [row["surprisal"] for row in rows_of(passage)[1:]]
    assert [row["token"] for row in rows] == list(range(1, 12))
    assert [TEXT[4:][row["start"] : row["end"]] for row in rows] == WORDS[1:]


def table_of(write):
    lines = [f"b\t{word}\t{100 + i}" for i, word in enumerate(TEXT.split())]
    lines.insert(2, "b\t\t5")
    path = write("story\tword\tsurprisal\n" + "\n".join(lines), "t.tsv")
    (text,) = read_passages(path, text_by="story")
    return text


def test_word_rows_include_lagged_values_of_previous_words(write):
    text, frequencies = table_of(write), Frequencies({"the": 3, "dog": 1})
    scores = scores_of(text)
    rows = list(table_rows(scores, text, frequencies, lags=2, punctuation=False))
    assert list(rows[0])[:5] == ["story", "word", "input_surprisal", "sentence", "tokens"]
    assert [row["word"] for row in rows] == [*TEXT.split()[:2], "", *TEXT.split()[2:]]
    repeated = ["surprisal", "entropy_next", "reduction_next", "length", "log_frequency"]
    repeated += ["final_punctuation", "comma_dash", "quote"]
    assert list(rows[0])[-16:] == [f"{name}_lag{lag}" for lag in (1, 2) for name in repeated]
    # The row without a word and the dash do not count as previous words.
    said = [row for row in rows if row["word"] not in ("", "–")]
    for i, row in enumerate(said):
        for lag in (1, 2):
            for name in repeated:
                assert row[f"{name}_lag{lag}"] == (said[i - lag][name] if i >= lag else None)
    assert [row["surprisal"] is None for row in rows] == [row not in said for row in rows]
    assert [row["length"] for row in said] == [3, 3, 6, 5, 3, 3, 5]
    assert [row["position"] for row in said] == [1, 2, 3, 4, 5, 7, 8]
    assert [row["position_in_sentence"] for row in said] == [1, 2, 3, 4, 5, 1, 2]
    assert [row["final_punctuation"] for row in said] == [0, 0, 0, 0, 1, 0, 1]
    assert [row["comma_dash"] for row in said] == [0, 0, 0, 1, 0, 0, 0]


def test_word_rows_include_values_of_another_model(write):
    text = table_of(write)
    other = write("word,lp\n" + "\n".join(f"{word},1" for word in WORDS[:5]), "o.csv")
    alignment = Alignment(other, "word", "lp")
    rows = table_rows(scores_of(text), text, Frequencies({"a": 1}), alignment=alignment, lags=1)
    found = [(row["o_lp"], row["o_lp_lag1"]) for row in rows if row["word"]]
    assert found == [(1, None), (1, 1), (2, 1), (None, 2)] + [(None, None)] * 4


def test_frequencies_are_on_the_zipf_scale_ignoring_case_and_variants():
    found = Frequencies({"The": 2, "the": 1, "dog": 1, "can": 1})
    asked = ("“The", []), ("D\xadOG!", []), ("cannot", ["can", "not"])
    values = [found.of(*each) for each in asked]
    # Each count is increased by one: 5 words and 3 types.
    np.testing.assert_allclose(values, np.log10(np.array([4, 2, 1]) / 8 * 1e9))


def test_unknown_words_and_critical_regions_are_counted(passage):
    coverage = Coverage()
    critical = passage._replace(columns={"critical": "4"})
    for text, unknown in ((passage, [1]), (critical, [1]), (critical, [10])):
        coverage.add(scores_of(text, unknown), text)
    ((message, is_warning),) = coverage.messages()
    assert "3 of 36 words (8.3 %)" in message
    assert "2 of 6 (critical) regions" in message
    assert is_warning
