"""`hpyp split`: the parts of a treebank, and replacements for missing ones."""

import pytest
from command_line import run, said
from spacy.vocab import Vocab

from spacy_hpyp.pipeline.corpus import read_treebank
from spacy_hpyp.treebanks.conllu import read_blocks, select

WORD = "1\tw{0}\t_\tX\t_\t_\t0\troot\t_\t_\n"


def without_tree(text, count=-1):
    return text.replace("0\troot", "_\t_", count)


def treebank(folder, **counts):
    """A treebank with the given number of sentences in each part."""
    folder.mkdir(exist_ok=True)
    for part, count in counts.items():
        text = "".join(f"# sent_id = {part}-{i}\n{WORD.format(i)}\n" for i in range(count))
        (folder / f"xx-ud-{part}.conllu").write_text(text, encoding="utf8")
    return folder / "xx-ud"


def ids(folder, part):
    return [
        block.comments[0].removeprefix("sent_id = ")
        for block in read_blocks(folder / f"xx-ud-{part}.conllu")
    ]


def test_existing_parts_are_copied_unchanged(tmp_path):
    name = treebank(tmp_path / "bank", train=7, dev=2, test=3)
    shown = run("hpyp", "split", name, tmp_path / "out").stdout
    assert "7 to train, 2 to dev, 3 to test" in " ".join(shown.split())
    for part in ("train", "dev", "test"):
        file = f"xx-ud-{part}.conllu"
        assert (tmp_path / "out" / file).read_bytes() == (tmp_path / "bank" / file).read_bytes()


@pytest.mark.parametrize("option", [(), ("--train-on-all",)])
@pytest.mark.parametrize(
    ("train", "held_out"), [(50, [5, 15, 25, 35, 45]), (3, [2]), (250, [10, 11, 30, 31])]
)
def test_a_missing_development_part_is_sampled_across_the_training_part(
    train, held_out, option, tmp_path
):
    done = run("hpyp", "split", treebank(tmp_path / "bank", train=train), tmp_path / "out", *option)
    everything, dev = [f"train-{i}" for i in range(train)], ids(tmp_path / "out", "dev")
    assert dev[: len(held_out)] == [f"train-{i}" for i in held_out]
    assert len(dev) == pytest.approx(train / 10, abs=1)
    assert ids(tmp_path / "out", "test") == dev
    kept = everything if option else [name for name in everything if name not in dev]
    assert ids(tmp_path / "out", "train") == kept
    assert f"{len(dev)} sentences of train become dev" in " ".join(done.stderr.split())
    assert "test is dev" in done.stderr


def test_held_out_documents_have_trees_and_their_successors_begin_documents(tmp_path, write):
    text = ""
    for i in range(100):
        word = WORD.format(i) if i % 10 == 7 else without_tree(WORD.format(i))
        text += f"# newdoc id = d{i}\n# sent_id = {i}\n{word}\n{word}\n"
    run("hpyp", "split", write(text, "x-train.conllu"), tmp_path / "out")
    (dev, *_) = blocks = list(read_blocks(tmp_path / "out" / "x-dev.conllu"))
    assert (len(blocks), dev.comments) == (2, ["newdoc id = d57", "sent_id = 57"])
    chosen = select(blocks, lambda block: block is not dev)
    assert [block.comments for block in chosen] == [["newdoc id = d57"]]


def test_white_space_that_a_treebank_omits_is_unknown(tmp_path):
    words = "1\tw\t_\tX\t_\t_\t0\troot\t_\t_\n2\t.\t_\tX\t_\t_\t1\tpunct\t_\t_\n\n"
    for name in ("train", "dev"):
        (tmp_path / f"a b-{name}.conllu").write_text(words * 20, encoding="utf8")
    assert "space is unknown" in said("hpyp", "split", tmp_path, tmp_path / "out", exit_code=0)
    run("hpyp", "convert", tmp_path / "out" / "a b-train.conllu", tmp_path)
    for path in (tmp_path / "out" / "a b-train.conllu", tmp_path / "a b-train.spacy"):
        docs = read_treebank(path, Vocab())
        assert [(len(doc), doc.has_unknown_spaces) for doc in docs] == [(20, True)] * 2
    (tmp_path / "c-train.conllu").write_bytes(b"1\t\xff")
    assert "2 files" in said("hpyp", "split", tmp_path)
    assert "c-train.conllu" in said("hpyp", "split", tmp_path / "c")


def test_a_test_part_without_a_development_part_is_kept(tmp_path):
    run("hpyp", "split", treebank(tmp_path / "bank", train=20, test=4), tmp_path / "out")
    assert ids(tmp_path / "out", "test") == [f"test-{i}" for i in range(4)]
    assert len(ids(tmp_path / "out", "dev")) == 2


def test_missing_and_tiny_training_parts_are_reported(tmp_path):
    name = treebank(tmp_path / "bank", dev=2)
    assert "There is no file" in said("hpyp", "split", name, tmp_path / "out")
    name = treebank(tmp_path / "one", train=1)
    assert "too few" in said("hpyp", "split", name, tmp_path / "out")
    run("hpyp", "split", name, tmp_path / "out", "--train-on-all")
    assert ids(tmp_path / "out", "train") == ids(tmp_path / "out", "dev") == ["train-0"]


def test_parts_without_trees_are_replaced(tmp_path):
    name = treebank(tmp_path, train=20, dev=3, test=3)
    for part in ("dev", "test"):
        file = tmp_path / f"xx-ud-{part}.conllu"
        file.write_text(without_tree(file.read_text(encoding="utf8")), encoding="utf8")
    run("hpyp", "split", name, tmp_path / "out")
    assert ids(tmp_path / "out", "test") == ids(tmp_path / "out", "dev") == ["train-5", "train-15"]


def test_the_training_part_keeps_a_tree(tmp_path, write):
    """Only the first document of the treebank has trees."""
    word = WORD.format(0) + "\n"
    text = f"# newdoc\n{word}{word}" + f"# newdoc\n{without_tree(word)}" * 100
    run("hpyp", "split", write(text, "x-train.conllu"), tmp_path / "out")
    for part in ("train", "dev"):
        blocks = read_blocks(tmp_path / "out" / f"x-{part}.conllu")
        assert sum(block.problem is None for block in blocks) == 1


def test_sentences_without_trees_are_counted_and_kept(tmp_path):
    name = treebank(tmp_path / "bank", train=3, dev=1)
    file = tmp_path / "bank" / "xx-ud-train.conllu"
    file.write_text(without_tree(file.read_text(encoding="utf8"), 1), encoding="utf8")
    shown = said("hpyp", "split", name, tmp_path / "out", exit_code=0)
    assert "1 of 3 sentences have no complete tree: a head is missing" in shown
    assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes()


def test_parsed_sentences_become_training_documents_with_unknown_spaces(tmp_path):
    name = treebank(tmp_path / "bank", train=3, dev=1)
    treebank(tmp_path / "parsed", train=2)
    parsed = tmp_path / "parsed" / "xx-ud-train.conllu"
    run("hpyp", "split", name, tmp_path / "out", "--parsed", parsed)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"xx-ud-{part}.conllu" for part in ("dev", "test", "train")
    ]
    run("hpyp", "convert", tmp_path / "out" / "xx-ud-train.conllu", tmp_path)
    for path in (tmp_path / "out" / "xx-ud-train.conllu", tmp_path / "xx-ud-train.spacy"):
        docs = read_treebank(path, Vocab())
        found = [(len(doc), doc.has_unknown_spaces) for doc in docs]
        assert found == [(3, False), (1, True), (1, True)]
    assert len(list(read_blocks(tmp_path / "out" / "xx-ud-dev.conllu"))) == 1


def test_a_dry_run_prints_counts_and_writes_nothing(tmp_path):
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
    assert "line 1" in said("hpyp", "split", tmp_path / "x", "--dry-run")
