"""What the commands make of pipelines with a head_outward_parser."""

import pytest
import spacy
import srsly
from command_line import run
from spacy.tokens import DocBin


@pytest.fixture(scope="module")
def folder(toy, tmp_path_factory):
    """Treebanks, and a pipeline whose tagger gives all words the same tag."""
    folder = tmp_path_factory.mktemp("head_outward")
    nlp = spacy.blank("en")
    nlp.add_pipe("easy_first_tagger", config={"model": {"places": 2**13}})
    nlp.add_pipe("head_outward_parser")
    sentences = toy.sentences(90)
    confused = [
        toy.sentence(each.words, ["NN"] * len(each.words), each.heads, each.deps)
        for each in sentences
    ]
    nlp.get_pipe("easy_first_tagger").initialize(lambda: toy.examples(nlp, confused), nlp=nlp)
    nlp.get_pipe("head_outward_parser").initialize(lambda: toy.examples(nlp, sentences), nlp=nlp)
    for _ in range(3):
        nlp.update(toy.examples(nlp, sentences), exclude=["easy_first_tagger"])
        nlp.update(toy.examples(nlp, confused), exclude=["head_outward_parser"])
    nlp.to_disk(folder / "trained")
    # Few know nothing of the tags of one sentence.
    new = toy.sentences(120)[90:]
    parts = {
        "train": sentences,
        "dev": new,
        "few": sentences[2:20],
        "hard": [toy.non_projective, *new],
    }
    for name, part in parts.items():
        DocBin(docs=[toy.doc(nlp.vocab, *part[i : i + 3]) for i in range(0, len(part), 3)]).to_disk(
            folder / f"{name}.spacy"
        )
    return folder


def test_evaluation_with_gold_tags_takes_the_tagger_out(folder, tmp_path):
    found = {}
    for name, options in (
        ("own", []),
        ("gold", ["--gold-tags"]),
        ("mbr", ["--gold-tags", "--components.head_outward_parser.decoding", "mbr", "-t", 2]),
    ):
        output = tmp_path / f"{name}.json"
        run(
            "hpyp",
            "evaluate",
            folder / "trained",
            folder / "dev.spacy",
            "--output",
            output,
            *options,
        )
        found[name] = srsly.read_json(output)
    assert found["own"]["tag_acc"] < 0.5
    assert found["own"]["dep_uas"] < found["gold"]["dep_uas"]
    for name in ("gold", "mbr"):
        assert found[name]["dep_uas"] > 0.9
        assert found[name]["dep_las"] > 0.9
        assert found[name]["complete_match"] > 0.7
    done = run("hpyp", "evaluate", folder / "trained", folder / "dev.spacy", "-K", 10, exit_code=1)
    assert "particles needs an hpyp_parser" in " ".join(done.output.split())


def test_its_probabilities_can_be_calibrated(folder, tmp_path):
    files, output = (folder / "trained", folder / "dev.spacy"), tmp_path / "scores.json"
    table = run("hpyp", "evaluate", "--calibration", *files, "-o", output, "-t", 2).output
    found = srsly.read_json(output)["calibration"]
    assert 0.0 <= found["heads"]["expected_calibration_error"] <= 1.0
    assert found["heads"]["tokens"] > 100
    assert found["tags"]["tokens"] == 0
    assert "AUROC" in table
