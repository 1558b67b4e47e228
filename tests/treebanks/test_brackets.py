"""Trees in brackets are read with any line breaks; errors name the file and the line."""

import re

import pytest

from spacy_hpyp.treebanks.penn import read_sentences

DOG = "(S (NP-SBJ (DT the) (NN dog)) (VP (VBZ barks)) (. .))"


def forms(path):
    return [" ".join(word.form for word in words) for words in read_sentences(path)]


@pytest.mark.parametrize(
    "text",
    [
        f"({DOG})({DOG})",
        "\n\n" + f"( {DOG} )\n\n( {DOG} )\n".replace(" ", "\n  "),
        f"( {DOG} )\r\n( {DOG} )\r\n",
        f"\ufeff( {DOG} )\n( {DOG} )",
    ],
    ids=["no space", "many lines", "carriage returns", "byte order mark"],
)
def test_line_breaks_and_spaces_do_not_matter(write, text):
    assert forms(write(text)) == ["the dog barks ."] * 2


def test_outer_brackets_are_optional_and_notices_are_skipped(write):
    notice = "*x*x*x*x*x*\n*x* (C) by (nobody) *x*\n*x*x*x*x*x*\n\n"
    assert forms(write(f"{notice}{DOG}\n{notice}{DOG}")) == ["the dog barks ."] * 2


def test_a_no_break_space_is_part_of_a_word(write):
    assert forms(write("(NP (CD 1\u00a01/2))")) == ["1\u00a01/2"]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (f"{DOG}\n(S (NP (NN dog))\n\n{DOG}", 4, "a bracket is never closed"),
        (f"{DOG}\n{DOG})\n", 2, "')'"),
        (f"{DOG}\nwords (S (NN dog))", 2, "'words'"),
        ("\n(S (NP (NN)))", 2, "')'"),
        ("(S (NN hot dog))", 1, "'dog'"),
        ("(S dog\n(NN barks))", 2, "'('"),
        (b"(S (NN dog))\n(S (NN caf\xe9))\n", 2, "not text in UTF-8"),
    ],
)
def test_errors_name_the_line_of_malformed_trees(write, text, line, problem):
    path = write(text)
    named = re.escape(f"'{path}', line {line}: ")
    with pytest.raises(ValueError, match=named + ".*" + re.escape(problem)):
        list(read_sentences(path))


def test_a_file_without_trees_raises_an_error(write):
    with pytest.raises(ValueError, match="has no trees"):
        list(read_sentences(write("*x*x* nothing *x*\n")))
