"""The table selects the head child of each phrase."""

import pytest

from spacy_hpyp.treebanks.penn import HEAD_RULES, PUNCTUATION, category, find_head, function_tags


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


#: Children of phrases; a star marks the head. Punctuation is a head only among punctuation.
CHILDREN = {
    "S": ["NP VP*", "S CC S*", "SBAR NP VP*"],
    "VP": ["MD* VP", "TO VP*", "VBD* NP PP", "ADVP VBG* NP", "VP* CC VP"],
    "NP": ["DT NN*", "NNP POS*", "NP* PP", "NP CC NP*", "NNP* CD", "DT JJ*", "JJR* CD"],
    "NML": ["NN NN*"],
    "UCP": ["ADJP* CC NP"],
    "PP": ["IN* NP", "ADVP IN* NP"],
    "SBAR": ["IN* S", "RB IN* S"],
    "SBARQ": ["WHNP SQ*"],
    "SQ": ["VBD* NP VP"],
    "SINV": ["S VP* NP"],
    "QP": ["JJR IN* CD", "$* CD CD", "CD CD*"],
    "WHNP": ["WDT* NN", "WHNP* PP"],
    "WHPP": ["IN* WHNP"],
    "WHADVP": ["WRB* JJ"],
    "ADJP": ["RB JJ*", "NP JJ*"],
    "ADVP": ["NP IN*", "RB* RB"],
    "PRN": ["NP VP*", ", NP* ,"],
    "X": ["DT NN*", ": :*"],
    "unheard-of": ["DT NN*"],
    "LST": ["-LRB- LS* -RRB-"],
}


@pytest.mark.parametrize(
    ("phrase", "children"), [(phrase, each) for phrase in CHILDREN for each in CHILDREN[phrase]]
)
def test_heads_follow_the_table(phrase, children):
    marked = children.split()
    names = [child.rstrip("*") for child in marked]
    head = find_head(phrase, names, [name in PUNCTUATION for name in names])
    assert marked[head] == f"{names[head]}*"


def test_the_table_has_the_phrases_of_the_penn_treebank():
    phrases = "S SBAR SBARQ SINV SQ ADJP ADVP CONJP FRAG INTJ LST NAC NP NX PP PRN PRT QP RRC UCP "
    phrases += "VP X NML WHADJP WHADVP WHNP WHPP"
    assert set(HEAD_RULES) == set(phrases.split())
    assert {direction for direction, _ in HEAD_RULES.values()} == {"left", "right"}
