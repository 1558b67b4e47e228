"""Phrase structure trees become dependency trees by the rules. The sentences are invented."""

from pathlib import Path

import pytest

from spacy_hpyp.treebanks.penn import read_sentences, relation, section_of


def convert(path):
    (words,) = read_sentences(path)
    return words


def arcs(sentence):
    """Each word with its label and its head's form, in one line."""
    forms = ["", *(f"<{word.form}" for word in sentence)]
    return " ".join(f"{word.form}:{word.deprel}{forms[word.head]}" for word in sentence)


TREES = {
    "auxiliaries, objects and adjuncts": (
        "( (S (NP-SBJ (PRP$ Her) (NN aunt)) (VP (MD might) (VP (VB have) (VP (VBN sold) (NP (DT "
        "the) (NN boat)) (NP-TMP (NN yesterday)) (PP-LOC (IN in) (NP (NNP Hull)))))) (. .)) )",
        "Her:NMOD<aunt aunt:SUB<might might:ROOT have:VC<might sold:VC<have the:NMOD<boat "
        "boat:OBJ<sold yesterday:VMOD<sold in:VMOD<sold Hull:PMOD<in .:P<might",
    ),
    "traces go with the phrases that they leave empty": (
        "( (S (NP-SBJ-1 (NNS Goats)) (VP (VBD were) (VP (VBN seen) (NP (-NONE- *-1)) (S (NP-SBJ "
        "(-NONE- *-1)) (VP (TO to) (VP (VB climb)))))) (. .)) )",
        "Goats:SUB<were were:ROOT seen:VC<were to:VMOD<climb climb:VMOD<seen .:P<were",
    ),
    "relative clauses": (
        "( (NP (NP (DT a) (NN cook)) (SBAR (WHNP-1 (WP who)) (S (NP-SBJ (-NONE- *T*-1)) (VP (VBZ "
        "sings))))) )",
        "a:NMOD<cook cook:ROOT who:NMOD<cook sings:SBAR<who",
    ),
    "complementizers": (
        "( (S (NP-SBJ (PRP We)) (VP (VBD hoped) (SBAR (IN that) (S (NP-SBJ (PRP it)) (VP (VBD "
        "rained)))))) )",
        "We:SUB<hoped hoped:ROOT that:VMOD<hoped it:SUB<rained rained:SBAR<that",
    ),
    "possessives": (
        "( (NP (NP (DT the) (NN tailor) (POS 's)) (JJ red) (NN hat)) )",
        "the:NMOD<'s tailor:NMOD<'s 's:NMOD<hat red:NMOD<hat hat:ROOT",
    ),
    "coordination of verb phrases": (
        "( (S (NP-SBJ (PRP She)) (VP (VP (VBZ sews) (NP (NNS nets))) (CC and) (VP (VBZ sails)))) )",
        "She:SUB<sews sews:ROOT nets:OBJ<sews and:VMOD<sews sails:VMOD<sews",
    ),
    "coordination of unlike phrases": (
        "( (S (NP-SBJ (PRP She)) (VP (VBZ is) (UCP-PRD (ADJP (JJ old)) (CC and) (NP (DT a) (NN "
        "sailor))))) )",
        "She:SUB<is is:ROOT old:PRD<is and:DEP<old a:NMOD<sailor sailor:DEP<old",
    ),
    "quantities": (
        "( (NP (QP (JJR fewer) (IN than) (CD ten)) (NNS cups)) )",
        "fewer:AMOD<than than:NMOD<cups ten:AMOD<than cups:ROOT",
    ),
    "questions": (
        "( (SBARQ (WHNP-1 (WP What)) (SQ (VBD did) (NP-SBJ (DT the) (NN cat)) (VP (VB eat) (NP "
        "(-NONE- *T*-1)))) (. ?)) )",
        "What:DEP<did did:ROOT the:NMOD<cat cat:SUB<did eat:VMOD<did ?:P<did",
    ),
    "fragments and parentheses keep their tokens": (
        "( (FRAG (NP (NP (NN Rain)) (PRN (-LRB- -LRB-) (ADVP (RB again)) (-RRB- -RRB-))) (: --) "
        "(NP (NN snow)) (. .)) )",
        "Rain:ROOT -LRB-:P<again again:NMOD<Rain -RRB-:P<again --:P<Rain snow:DEP<Rain .:P<Rain",
    ),
    "measures in adjective and adverb phrases": (
        "( (S (NP-SBJ (PRP It)) (VP (VBZ is) (ADJP-PRD (NP (CD 1\\/2) (NN mile)) (JJ long)) (ADVP "
        "(NP (DT a) (NN lot)) (RB now)))) )",
        "It:SUB<is is:ROOT 1\\/2:NMOD<mile mile:AMOD<long long:PRD<is a:NMOD<lot lot:AMOD<now "
        "now:VMOD<is",
    ),
    "subjects that are clauses": (
        "( (S (S-NOM-SBJ (NP-SBJ (-NONE- *)) (VP (VBG Rowing))) (VP (VBZ tires) (NP (PRP us)))) )",
        "Rowing:SUB<tires tires:ROOT us:OBJ<tires",
    ),
    "quotations before the verb": (
        "( (SINV (`` ``) (S-TPC-1 (NP-SBJ (PRP It)) (VP (VBZ sinks))) (, ,) ('' '') (VP (VBD said) "
        "(SBAR (-NONE- 0) (S (-NONE- *T*-1)))) (NP-SBJ (NNP Ada)) (. .)) )",
        "``:P<said It:SUB<sinks sinks:VMOD<said ,:P<said '':P<said said:ROOT Ada:SUB<said .:P<said",
    ),
    "chains of single children": ("(TOP (S (VP (VP (VB Go)))) )", "Go:ROOT"),
    "a phrase of punctuation": (
        "( (S (NP-SBJ (PRP I)) (VP (VBP am) (X (: --)) )) )",
        "I:SUB<am am:ROOT --:P<am",
    ),
    "several trees in the outer bracket": (
        "( (INTJ (UH Oh)) (S (VP (VB go))) (. .) )",
        "Oh:DEP<go go:ROOT .:P<go",
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_arcs_follow_from_the_rules_and_are_projective(write, name):
    text, expected = TREES[name]
    sentence = convert(write(text))
    assert arcs(sentence) == expected
    heads = [word.head for word in sentence]
    spans = [sorted((i, head)) for i, head in enumerate(heads, start=1)]
    assert heads.count(0) == 1
    assert not any(a < c < b < d for a, b in spans for c, d in spans)


def test_tags_are_copied_from_the_treebank(write):
    sentence = convert(write("( (NP (PRP$ her) (-LRB- -LRB-) (NN dog) (-NONE- *) (. .)) )"))
    assert [word.xpos for word in sentence] == ["PRP$", "-LRB-", "NN", "."]
    assert {word.upos for word in sentence} == {"_"}


def test_trees_may_be_deep_or_without_words(write):
    assert arcs(convert(write("(NP " * 5000 + "(NN word)" + ")" * 5000))) == "word:ROOT"
    assert convert(write("( (S (NP-SBJ (-NONE- *)) (VP (-NONE- *?*))) )")) == []


@pytest.mark.parametrize(
    ("mother", "dependent", "head_is_word", "label"),
    [
        ("VP", "NP", True, "OBJ"),
        ("VP", "NP-TMP", True, "VMOD"),
        ("VP", "NP", False, "VMOD"),
        ("VP", "VP", True, "VC"),
        ("VP", "VP", False, "VMOD"),
        ("PP", "S-NOM", True, "PMOD"),
        ("SBAR-ADV", "S", False, "SBAR"),
        ("SBAR", "ADVP", True, "VMOD"),
        ("NAC", "NNP", True, "NMOD"),
        ("WHADVP", "JJ", True, "AMOD"),
        ("CONJP", "RB", True, "DEP"),
    ],
)
def test_labels_follow_from_phrase_and_child(mother, dependent, head_is_word, label):
    assert relation(mother, dependent, head_is_word=head_is_word) == label


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("wsj/02/wsj_0203.mrg", 2),
        ("WSJ/24/WSJ_2454.MRG", 24),
        ("02.mrg", 2),
        ("wsj_02-21.mrg", None),
        ("2024/trees.mrg", None),
    ],
)
def test_sections_are_read_from_file_or_folder_names(name, section):
    assert section_of(Path(name)) == section
