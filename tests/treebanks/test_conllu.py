"""CoNLL-U is written as it was read, and what is not CoNLL-U is an error with its file and line."""

import re

import pytest

from spacy_hpyp.treebanks.conllu import ConlluSentence, ConlluWord, read_conllu, write_conllu

SENTENCES = [
    ConlluSentence(
        [ConlluWord("She", "PRON", "PRP", 2, "nsubj"), ConlluWord("sails", "VERB", "VBZ", 0, "root")],
        ("newdoc id = a",),
    ),
    ConlluSentence([ConlluWord("1\u00a01/2", "_", "CD", 0, "ROOT")], ("sent_id = a-2",)),
]


def line(index, form, head, label="dep"):
    return f"{index}\t{form}\t_\t_\tNN\t_\t{head}\t{label}\t_\t_\n"


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "some.conllu"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "some.conllu"
    write_conllu(path, SENTENCES)
    assert read_conllu(path) == SENTENCES
    assert all(
        len(each.split("\t")) == 10 for each in path.read_text("utf8").split("\n") if each and each[0] != "#"
    )


def test_multiword_tokens_empty_nodes_and_comments_on_the_text_are_left_out(write):
    text = (
        "# newdoc id = x\n# text = au lit\n# sent_id = "
        "1\n0.1\t_\t_\t_\t_\t_\t_\t_\t_\t_\n1-2\tau\t_\t_\t_\t_\t_\t_\t_\t_\n"
        + line(1, "à", 3)
        + line(2, "le", 3)
        + "2.1\tvu\t_\t_\t_\t_\t_\t_\t_\t_\n"
        + line(3, "lit", 0)
    )
    (sentence,) = read_conllu(write(text))
    assert [(word.form, word.head) for word in sentence.words] == [("à", 3), ("le", 3), ("lit", 0)]
    assert sentence.comments == ("newdoc id = x", "sent_id = 1")


@pytest.mark.parametrize(
    ("text", "number", "problem"),
    [
        ("1\tno columns\n", 1, "10 columns"),
        (line(1, "a", 0) + "\n" + line(2, "b", 0), 3, "number of this word should be 1"),
        (line(1, "a", 0) + line(3, "b", 1), 2, "number of this word should be 2"),
        (line(1, "a", 2) + line(2, "b", "_"), 1, "a head is missing"),
        (line(1, "a", "-1"), 1, "the head '-1' is none of the 1 words"),
        (line(1, "x", 0) + "\n# sent_id = 2\n" + line(1, "a", 2) + line(2, "b", 1), 3, "there are 0 roots"),
        (line(1, "a", 0) + line(2, "b", 0), 1, "there are 2 roots"),
        (line(1, "a", 0) + line(2, "b", 3), 1, "the head '3' is none of the 2 words"),
        (line(1, "a", 0) + line(2, "b", 3) + line(3, "c", 2), 1, "a word is above itself"),
        ("# sent_id = 1\n\n" + line(1, "a", 0), 1, "has no words"),
        (line(1, "a", 0) + "# note\n", 2, "a comment stands among words"),
        (line(1, "a", 0).encode() + b"\xff", 2, "not text in UTF-8"),
    ],
)
def test_what_is_not_conllu_is_an_error_with_its_line(write, text, number, problem):
    path = write(text)
    with pytest.raises(ValueError, match=re.escape(f"'{path}', line {number}: ") + ".*" + re.escape(problem)):
        read_conllu(path)


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_sentences_is_an_error(write, text):
    with pytest.raises(ValueError, match="has no sentences"):
        read_conllu(write(text))
