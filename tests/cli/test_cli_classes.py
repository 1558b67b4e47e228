"""The command `hpyp classes`."""

import gzip
import json
from functools import partial

import command_line
import pytest

from spacy_hpyp.text.word_classes import read_classes

run = partial(command_line.run, "hpyp")
TEXT = "".join(f"the {noun} {verb} .\n" for noun in ("dog", "cat", "hen") for verb in ("eats", "naps"))
RECORDS = "".join(json.dumps({"text": line}) + "\n" for line in TEXT.splitlines())


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.txt", TEXT.encode()), ("a.txt.gz", gzip.compress(TEXT.encode())), ("a.jsonl", RECORDS.encode())],
)
def test_classes_of_text_are_written_and_shown(write, tmp_path, name, data):
    path = write(data, name)
    result = run("classes", path, "-o", tmp_path / "classes.txt", "-n", 4, "--min-count", 1)
    found = {each.word: each.path for each in read_classes(tmp_path / "classes.txt")}
    assert found.keys() == {"the", "dog", "cat", "hen", "eats", "naps", "."}
    assert found["dog"] == found["cat"] == found["hen"]
    assert "dog" in result.stdout
    assert "4 classes of 7 words" in result.output


def test_every_nth_sentence_can_be_read(write, tmp_path):
    output = tmp_path / "classes.txt"
    run("classes", write(TEXT), "-o", output, "-n", 4, "--min-count", 1, "--every", 2)
    assert {each.word: each.count for each in read_classes(output)} == {
        **dict.fromkeys(("the", "eats", "."), 3),
        **dict.fromkeys(("dog", "cat", "hen"), 1),
    }


def test_enough_words_are_needed(write, tmp_path):
    result = run("classes", write(TEXT), "-o", tmp_path / "classes.txt", "-n", 50, exit_code=1)
    assert "There cannot be 50 classes" in result.output
