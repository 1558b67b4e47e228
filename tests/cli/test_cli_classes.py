"""The command `hpyp classes`."""

from functools import partial
from pathlib import Path

import command_line

from spacy_hpyp.text.word_classes import read_classes

run = partial(command_line.run, "hpyp")
TEXT = "".join(
    f"the {noun} {verb} .\n" for noun in ("dog", "cat", "hen") for verb in ("eats", "naps")
)


def test_classes_of_text_are_written_and_shown(write, tmp_path):
    result = run("classes", write(TEXT), "-o", tmp_path / "classes.txt", "-n", 4, "--min-count", 1)
    found = {each.word: each.path for each in read_classes(tmp_path / "classes.txt")}
    assert found.keys() == {"the", "dog", "cat", "hen", "eats", "naps", "."}
    assert found["dog"] == found["cat"] == found["hen"]
    assert "4 classes of 7 words" in result.output


def test_the_tokenizer_can_learn_from_a_treebank(write, tmp_path):
    treebank = Path(__file__).parents[2] / "assets" / "sample" / "en_sample-ud-train.conllu"
    options = "-o", tmp_path / "classes.txt", "-n", 2, "--min-count", 1
    run("classes", write("They don't know.\n" * 3), *options, "--treebank", treebank)
    assert "n't" in {each.word for each in read_classes(tmp_path / "classes.txt")}
