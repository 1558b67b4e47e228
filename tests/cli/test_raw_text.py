"""Sentences of files: gold sentences, lines, or sentences found by a pipeline, read lazily."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from spacy_hpyp.cli import raw_text
from spacy_hpyp.cli.raw_text import locate_paragraphs, read_sentences
from spacy_hpyp.text import paragraphs


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("en")


def test_tokenized_lines_are_split_at_white_space(write):
    path = write("Do n't  stop .\n\n \t\nA\u00a0B C\r\nlast line")
    expected = ["Do n't stop .", "A B C", "last line"]
    assert list(read_sentences(path)) == [line.split() for line in expected]


def test_a_tokenizer_finds_the_words_of_a_line_but_no_sentences(write, nlp):
    path = write("Don't stop.  Go on!\n\n  \nYes.")
    expected = ["Do n't stop . Go on !", "Yes ."]
    assert list(read_sentences(path, nlp)) == [line.split() for line in expected]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_byte_order_mark_is_not_part_of_the_first_word(write, nlp, line_end):
    path = write(line_end.join(["\ufeffThe cat sleeps.", "The \ufeffdog", ""]))
    expected = [["The", "cat", "sleeps."], ["The", "\ufeffdog"]]
    assert list(read_sentences(path)) == expected
    tokens = [["The", "cat", "sleeps", "."], ["The", "\ufeffdog"]]
    assert list(read_sentences(path, nlp)) == tokens


def test_long_paragraphs_are_cut_between_words_if_possible(write, monkeypatch):
    monkeypatch.setattr(paragraphs, "_LONGEST", 50)
    words = [f"word{i}" for i in range(100)]
    for space in (" ", "\n"):
        found = [text for _, text in locate_paragraphs(write(space.join(words)))]
        assert [word for text in found for word in text.split()] == words
        assert max(map(len, found)) <= 50
    found = [text for _, text in locate_paragraphs(write("x" * 120))]
    assert found == ["x" * 50, "x" * 50, "x" * 20]


def test_gold_sentences_are_read_without_white_space(tmp_path):
    vocab = spacy.blank("en").vocab
    docs = [
        Doc(vocab, words=["A", "\n", "b", " ", "C"], sent_starts=[True, False, False, True, False]),
        Doc(vocab, words=["no", "boundaries"]),
        Doc(vocab, words=["\n"]),
        Doc(vocab),
    ]
    (tmp_path / "more").mkdir()
    DocBin(docs=docs).to_disk(tmp_path / "b.spacy")
    DocBin(docs=docs[:1]).to_disk(tmp_path / "more" / "a.spacy")
    expected = [["A", "b"], ["C"], ["no", "boundaries"]]
    assert list(read_sentences(tmp_path / "b.spacy")) == expected
    assert list(read_sentences(tmp_path)) == expected + expected[:2]


def test_text_is_read_lazily(write, nlp, monkeypatch):
    path = write("A sentence here.\n\n" * 1000)
    asked = []

    def counted(path, lines_of=raw_text.lines_of):
        for line in lines_of(path):
            asked.append(line)
            yield line

    monkeypatch.setattr(raw_text, "lines_of", counted)
    for arguments in [{}, {"nlp": nlp}]:
        asked.clear()
        next(read_sentences(path, **arguments))
        assert len(asked) < 50


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("b.txt", b"tea\n" * 9 + b"caf\xe9\n", r"not text in UTF-8 \(line 10\)"),
        ("a.spacy", b"abc", "not a .spacy file"),
    ],
)
def test_errors_name_the_unreadable_file(write, nlp, name, text, problem):
    path = write(text, name)
    for arguments in [{}, {"nlp": nlp}]:
        with pytest.raises(ValueError, match=problem) as error:
            list(read_sentences(path, **arguments))
        assert str(path) in str(error.value)


def test_missing_files_and_empty_directories_are_named(tmp_path):
    with pytest.raises(ValueError, match="no file"):
        read_sentences(tmp_path / "none")
    with pytest.raises(ValueError, match=r"no \.conllu or \.spacy file"):
        list(read_sentences(tmp_path))
