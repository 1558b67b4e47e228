"""The table selects the head child of each phrase."""

import pytest

from spacy_hpyp.treebanks.penn import HEAD_RULES, category, find_head, function_tags


@pytest.mark.parametrize(
    ("label", "first", "tags"),
    [
        ("NP", "NP", []),
        ("PP-LOC-PRD-12", "PP", ["LOC", "PRD"]),
        ("NP-SBJ=2", "NP", ["SBJ"]),
        ("ADVP-TMP|PRT", "ADVP", ["TMP"]),
        ("-LRB-", "-LRB-", []),
        ("PRP$", "PRP$", []),
        ("", "", []),
    ],
)
def test_a_label_has_a_category_and_function_tags(label, first, tags):
    assert category(label) == first
    assert function_tags(label) == tags


@pytest.mark.parametrize(
    ("phrase", "children", "head"),
    [
        ("S", "NP VP", 1),
        ("S", "S CC S", 2),
        ("S", "SBAR NP VP", 2),
        ("VP", "MD VP", 0),
        ("VP", "TO VP", 1),
        ("VP", "VBD NP PP", 0),
        ("VP", "ADVP VBG NP", 1),
        ("VP", "VP CC VP", 0),
        ("NP", "DT NN", 1),
        ("NP", "NNP POS", 1),
        ("NP", "NP PP", 0),
        ("NP", "NP CC NP", 2),
        ("NP", "NNP CD", 0),
        ("NP", "DT JJ", 1),
        ("NP", "JJR CD", 0),
        ("NML", "NN NN", 1),
        ("UCP", "ADJP CC NP", 0),
        ("PP", "IN NP", 0),
        ("PP", "ADVP IN NP", 1),
        ("SBAR", "IN S", 0),
        ("SBAR", "RB IN S", 1),
        ("SBARQ", "WHNP SQ", 1),
        ("SQ", "VBD NP VP", 0),
        ("SINV", "S VP NP", 1),
        ("QP", "JJR IN CD", 1),
        ("QP", "$ CD CD", 0),
        ("QP", "CD CD", 1),
        ("WHNP", "WDT NN", 0),
        ("WHNP", "WHNP PP", 0),
        ("WHPP", "IN WHNP", 0),
        ("WHADVP", "WRB JJ", 0),
        ("ADJP", "RB JJ", 1),
        ("ADJP", "NP JJ", 1),
        ("ADVP", "NP IN", 1),
        ("ADVP", "RB RB", 0),
        ("PRN", "NP VP", 1),
        ("X", "DT NN", 1),
        ("unheard-of", "DT NN", 1),
    ],
)
def test_heads_follow_the_table(phrase, children, head):
    children = children.split()
    assert find_head(phrase, children, [False] * len(children)) == head


@pytest.mark.parametrize(
    ("phrase", "children", "head"),
    [("PRN", ", NP ,", 1), ("LST", "-LRB- LS -RRB-", 1), ("X", ": :", 1)],
)
def test_punctuation_is_a_head_only_among_punctuation(phrase, children, head):
    children = children.split()
    skipped = [child in {",", ":", "``", "''", "-LRB-", "-RRB-"} for child in children]
    assert find_head(phrase, children, skipped) == head


def test_the_table_has_the_phrases_of_the_penn_treebank():
    clauses = "S SBAR SBARQ SINV SQ".split()
    phrases = "ADJP ADVP CONJP FRAG INTJ LST NAC NP NX PP PRN PRT QP RRC UCP VP X NML".split()
    questions = "WHADJP WHADVP WHNP WHPP".split()
    assert set(HEAD_RULES) == {*clauses, *phrases, *questions}
    assert {direction for direction, _ in HEAD_RULES.values()} == {"left", "right"}
