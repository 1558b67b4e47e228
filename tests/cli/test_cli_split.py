"""`hpyp split`: the parts of a treebank, whichever of them it has."""

import pytest
from command_line import run
from spacy.vocab import Vocab

from spacy_hpyp.components.documents import read_treebank
from spacy_hpyp.treebanks.conllu import read_blocks

WORD = "1\tw{0}\t_\tX\t_\t_\t0\troot\t_\t_\n"


def treebank(folder, **counts):
    """A treebank with so many sentences of each part."""
    folder.mkdir(exist_ok=True)
    for part, count in counts.items():
        text = "".join(f"# sent_id = {part}-{i}\n{WORD.format(i)}\n" for i in range(count))
        (folder / f"xx-ud-{part}.conllu").write_text(text, encoding="utf8")
    return folder / "xx-ud"


def ids(folder, part):
    return [
        block.comments[0].removeprefix("sent_id = ") for block in read_blocks(folder / f"xx-ud-{part}.conllu")
    ]


def test_parts_that_are_there_are_written_as_they_are(tmp_path):
    name = treebank(tmp_path / "bank", train=7, dev=2, test=3)
    shown = run("hpyp", "split", name, tmp_path / "out").stdout
    assert "7 to train, 2 to dev, 3 to test" in " ".join(shown.split())
    for part in ("train", "dev", "test"):
        file = f"xx-ud-{part}.conllu"
        assert (tmp_path / "out" / file).read_bytes() == (tmp_path / "bank" / file).read_bytes()


@pytest.mark.parametrize(("train", "held_out"), [(50, 5), (3, 1)])
def test_without_a_development_part_the_end_of_the_training_part_is_held_out(train, held_out, tmp_path):
    done = run("hpyp", "split", treebank(tmp_path / "bank", train=train), tmp_path / "out")
    expected = [f"train-{i}" for i in range(train)]
    assert ids(tmp_path / "out", "train") == expected[:-held_out]
    assert ids(tmp_path / "out", "dev") == ids(tmp_path / "out", "test") == expected[-held_out:]
    assert f"the last {held_out} sentences" in " ".join(done.stderr.split())
    assert "test is dev" in done.stderr


def test_a_test_part_alone_is_kept(tmp_path):
    run("hpyp", "split", treebank(tmp_path / "bank", train=20, test=4), tmp_path / "out")
    assert ids(tmp_path / "out", "test") == [f"test-{i}" for i in range(4)]
    assert len(ids(tmp_path / "out", "dev")) == 2


def test_what_cannot_be_split_is_said(tmp_path):
    name = treebank(tmp_path / "bank", dev=2)
    assert "There is no file" in run("hpyp", "split", name, tmp_path / "out", exit_code=1).stderr
    name = treebank(tmp_path / "one", train=1)
    assert "too few" in run("hpyp", "split", name, tmp_path / "out", exit_code=1).stderr


def test_sentences_without_trees_are_counted_and_kept(tmp_path):
    name = treebank(tmp_path / "bank", train=3, dev=1)
    file = tmp_path / "bank" / "xx-ud-train.conllu"
    file.write_text(file.read_text(encoding="utf8").replace("\t0\troot", "\t_\t_", 1), encoding="utf8")
    done = run("hpyp", "split", name, tmp_path / "out")
    assert "1 of 3 sentences teach no tree: a head is missing" in " ".join(done.stderr.split())
    assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes()


def test_parsed_sentences_are_to_be_trained_on_each_a_document_of_unknown_spaces(tmp_path):
    name = treebank(tmp_path / "bank", train=3, dev=1)
    treebank(tmp_path / "parsed", train=2)
    parsed = tmp_path / "parsed" / "xx-ud-train.conllu"
    run("hpyp", "split", name, tmp_path / "out", "--parsed", parsed, "--name", "xx-self")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"xx-self-{part}.conllu" for part in ("dev", "test", "train")
    ]
    docs = list(read_treebank(tmp_path / "out" / "xx-self-train.conllu", Vocab()))
    run("hpyp", "convert", tmp_path / "out" / "xx-self-train.conllu", tmp_path)
    converted = list(read_treebank(tmp_path / "xx-self-train.spacy", Vocab()))
    for found in (docs, converted):
        assert [(len(doc), doc.has_unknown_spaces) for doc in found] == [(3, False), (1, True), (1, True)]
    assert len(list(read_blocks(tmp_path / "out" / "xx-self-dev.conllu"))) == 1


def test_a_dry_run_prints_what_is_there_and_writes_nothing(tmp_path):
    words = "".join(
        f"{i}\tw{i}\t_\tX\t_\t_\t{head}\tdep\t_\t_\n" for i, head in enumerate((3, 4, 0, 3, 3), 1)
    )
    train = f"# newdoc\n1-2\tw1w2\t_\t_\t_\t_\t_\t_\t_\t_\n{words}\n" + WORD
    (tmp_path / "x-train.conllu").write_text(train, encoding="utf8")
    (tmp_path / "x-dev.conllu").write_text(f"{words}\n", encoding="utf8")
    done = run("hpyp", "split", tmp_path / "x", tmp_path / "out", "--dry-run")
    shown = " ".join(done.output.split())
    for figures in ("documents 1 0", "sentences 2 1", "tokens 5 5", "words 6 5"):
        assert figures in shown
    assert "1 sentences are also in train, which flatters scores (line 1)" in shown
    assert not (tmp_path / "out").exists()
    (tmp_path / "x-dev.conllu").write_text(words.replace("\t_", "", 1), encoding="utf8")
    assert "line 1" in run("hpyp", "split", tmp_path / "x", "--dry-run", exit_code=1).stderr
