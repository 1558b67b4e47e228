"""`hpyp classes`: what it reads, writes and prints."""

import gzip
import json
from functools import partial

import command_line
import numpy as np
import pytest
import spacy

from spacy_hpyp.text.word_classes import read_classes

run = partial(command_line.run, "hpyp")
TEXT = "\n".join(f"the {noun} {verb} ." for noun in ("dog", "cat", "hen") for verb in ("eats", "naps")) + "\n"


def write_text(path):
    path.write_text(TEXT, encoding="utf8")


def write_gzip(path):
    path.write_bytes(gzip.compress(TEXT.encode()))


def write_records(path):
    path.write_text("".join(json.dumps({"text": line}) + "\n" for line in TEXT.splitlines()), encoding="utf8")


@pytest.mark.parametrize(
    ("name", "write"), [("a.txt", write_text), ("a.txt.gz", write_gzip), ("a.jsonl", write_records)]
)
def test_classes_of_text_are_written_and_shown(tmp_path, name, write):
    write(tmp_path / name)
    result = run("classes", tmp_path / name, "-o", tmp_path / "classes.txt", "-n", 4, "--min-count", 1)
    found = {each.word: each.path for each in read_classes(tmp_path / "classes.txt")}
    assert found.keys() == {"the", "dog", "cat", "hen", "eats", "naps", "."}
    assert found["dog"] == found["cat"] == found["hen"]
    assert "dog" in result.stdout
    assert "4 classes of 7 words" in result.output


def test_every_so_manieth_sentence_can_be_read_alone(tmp_path):
    write_text(tmp_path / "a.txt")
    run(
        "classes", tmp_path / "a.txt", "-o", tmp_path / "classes.txt", "-n", 4, "--min-count", 1, "--every", 2
    )
    assert {each.word: each.count for each in read_classes(tmp_path / "classes.txt")} == {
        **dict.fromkeys(("the", "eats", "."), 3),
        **dict.fromkeys(("dog", "cat", "hen"), 1),
    }


def test_classes_of_vectors(tmp_path):
    nlp = spacy.blank("en")
    for word, vector in (("a", [1, 0]), ("b", [1, 0.1]), ("c", [0, 1]), ("d", [0.1, 1])):
        nlp.vocab.set_vector(word, np.array(vector, dtype=np.float32))
    nlp.to_disk(tmp_path / "vectors")
    run("classes", "--vectors", tmp_path / "vectors", "-o", tmp_path / "classes.txt", "-n", 2)
    found = {each.word: each.path for each in read_classes(tmp_path / "classes.txt")}
    assert found["a"] == found["b"] != found["c"] == found["d"]


def test_text_or_vectors_are_needed_and_enough_words(tmp_path):
    assert "Either texts" in run("classes", "-o", tmp_path / "classes.txt", exit_code=2).output
    write_text(tmp_path / "a.txt")
    result = run("classes", tmp_path / "a.txt", "-o", tmp_path / "classes.txt", "-n", 50, exit_code=1)
    assert "There cannot be 50 classes" in result.output
