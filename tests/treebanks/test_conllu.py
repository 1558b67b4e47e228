"""CoNLL-U round-trips, and errors name the file and the line."""

import re

import pytest

from spacy_hpyp.treebanks.conllu import ConlluWord, block_of, read_blocks, write_blocks

SHE, SAILS = ConlluWord("She", "PRON", "PRP", 2, "nsubj"), ConlluWord("sails", "_", "_", 0, "root")
NUMBER = ConlluWord("1\u00a01/2", "_", "CD", 0, "ROOT")
SENTENCES = [block_of([SHE, SAILS], ("newdoc id = a",)), block_of([NUMBER], ("sent_id = a-2",))]


def line(index, form, head, label="dep"):
    return f"{index}\t{form}\t_\t_\tNN\t_\t{head}\t{label}\t_\t_\n"


def test_written_sentences_can_be_read_back(tmp_path):
    path = tmp_path / "some.conllu"
    write_blocks(path, SENTENCES)
    for found, sentence in zip(read_blocks(path), SENTENCES, strict=True):
        assert (found.rows, found.comments) == (sentence.rows, sentence.comments)
    lines = path.read_text("utf8").split("\n")
    assert {len(each.split("\t")) for each in lines if each and each[0] != "#"} == {10}


@pytest.mark.parametrize(
    ("heads", "problem"),
    [
        ((2, "_"), "a head is missing"),
        ((2, 1), "there are 0 roots"),
        ((0, 0), "there are 2 roots"),
        ((0, 3, 2), "the arcs form a cycle"),
        ((2, 0), None),
    ],
)
def test_heads_that_do_not_form_a_tree_are_reported(write, heads, problem):
    text = "0.1\t_" + "\t_" * 8 + "\n1-2\tau" + "\t_" * 8 + "\n"
    text += "".join(line(i, "a", head) for i, head in enumerate(heads, 1))
    (sentence,) = read_blocks(write(text))
    assert sentence.problem == problem
    assert sentence.complete().problem is None


@pytest.mark.parametrize(
    ("labels", "problem"),
    [(("det", "root"), None), (("_", "_"), None), (("_", "root"), "a label is missing")],
)
def test_all_labels_may_be_missing(write, labels, problem):
    rows = (line(i, "a", head, label) for i, head, label in zip((1, 2), (2, 0), labels))
    (sentence,) = read_blocks(write("".join(rows)))
    assert sentence.problem == problem


@pytest.mark.parametrize(
    ("text", "number", "problem"),
    [
        ("1\tno columns\n", 1, "10 columns"),
        (line(1, "a", 0) + "\n" + line(2, "b", 0), 3, "number of this word should be 1"),
        (line(1, "a", 0) + line(2, "b", 3), 1, "the head '3' is none of the 2 words"),
        ("# sent_id = 1\n\n" + line(1, "a", 0), 1, "has no words"),
        (line(1, "a", 0) + "# note\n", 2, "a comment stands among words"),
        (line(1, "a", 0).encode() + b"\xff", 2, "not text in UTF-8"),
    ],
)
def test_errors_name_the_line_of_malformed_files(write, text, number, problem):
    path = write(text)
    named = re.escape(f"'{path}', line {number}: ")
    with pytest.raises(ValueError, match=named + ".*" + re.escape(problem)):
        list(read_blocks(path))


def test_a_file_without_sentences_raises_an_error(write):
    for text in ("", "\n\n"):
        with pytest.raises(ValueError, match="has no sentences"):
            list(read_blocks(write(text)))
