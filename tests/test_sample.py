"""The workflows of the project on its sample treebank, and the output that pages show."""

import re
import shlex
from pathlib import Path

import pytest
import spacy
import srsly
from command_line import run
from spacy import displacy
from spacy.cli.train import train
from spacy.matcher import Matcher
from weasel.util import load_project_config

from spacy_hpyp.treebanks.conllu import read_blocks

PROJECT = Path(__file__).parent.parent
SAMPLE = PROJECT / "assets" / "sample"
# Characters of every Unicode plane except surrogates, control and zero-width characters, text in
# no language, and text without spaces.
CHARACTERS = (0x21, 0x1F5, 0x1F60, 0xA015, 0xF600, 0xFFFD)
CONTROLS = " a\u200bb \u200d\ufeff\u2066c\u2069 \u0301\u0301 \x7f\x85\u2028d"
BAD = [
    "".join(chr(plane << 16 | number) for plane in range(17) for number in CHARACTERS),
    "".join(map(chr, range(32))) + CONTROLS,
    "Qwx zrblg ptkfh mnw, vvv? Xyzzy grmpf. " * 20,
    "theferryleavesatnoonandtheharbourisempty" * 100,
    "\u200b" * 1000 + "\u00a0" * 1000,
]
SENTENCES = [
    "The ferry leaves at noon.",
    "Do not forget the bread.",
    "My sister sold her old boat to a friend.",
]
RAW = " ".join(SENTENCES)
PATHS = {f"paths.{part}": str(SAMPLE / f"en_sample-ud-{part}.conllu") for part in ("train", "dev")}
#: Differences from the project's own training: fewer sweeps and particles for the pipeline that no
#: page shows.
QUICK = {"paper": {"training.max_epochs": 9, "training.eval_frequency": 4}, "pool": {}}
QUICK["paper"]["components.hpyp_parser.particles"] = 100
#: Settings for the sample: small weight tables and few folds.
SMALL = {
    **{
        f"components.easy_first_{name}.model.places": 2**17
        for name in ("senter", "tagger", "morphologizer", "lemmatizer")
    },
    **{f"components.easy_first_parser.model.{name}_places": 2**17 for name in ("arc", "label")},
    "components.easy_first_parser.folds": 3,
}
#: Examples in a page: code or a command that uses the project's pipeline, followed by its output.
_EXAMPLE = re.compile(
    r"^```(python|)\n((?:(?!^```).)*?training/sample/(?:(?!^```).)*?)^```\n\n```\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_NUMBER = re.compile(r"-?\d+\.\d+")
EXAMPLES = [
    pytest.param(*found, id=f"{page.name}-{number}")
    for page in (PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md")))
    for number, found in enumerate(_EXAMPLE.findall(page.read_text(encoding="utf8")))
]


def convert(part, folder):
    """Write a part of the sample as a .spacy file with ten sentences a document, without splitting
    multiword tokens.
    """
    options = ("--converter", "conllu", "--n-sents", 10, "--merge-subtokens")
    run("convert", SAMPLE / f"en_sample-ud-{part}.conllu", folder, *options)
    return folder / f"en_sample-ud-{part}.spacy"


def evaluate(pipeline, data, output, *options, command=("hpyp", "evaluate")):
    """The scores of a pipeline."""
    run(*command, pipeline, data, "--output", output, *options)
    return srsly.read_json(output)


@pytest.fixture(scope="module", params=QUICK)
def trained(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("sample")
    convert("test", folder)
    overrides = {**PATHS, "components.hpyp_parser.guides": True, **QUICK[request.param]}
    train(PROJECT / "configs" / f"{request.param}.cfg", folder, overrides=overrides)
    return folder


@pytest.mark.parametrize("trained", ["pool"], indirect=True)
@pytest.mark.parametrize(("language", "example", "shown"), EXAMPLES)
def test_examples_in_pages_print_the_output_shown(
    trained, language, example, shown, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    # Input for the table in the page about surprisal.
    Path("story.txt").write_text("The ferry leaves at noon.\n", encoding="utf8")
    example = example.replace("training/sample", trained.as_posix())
    if language == "python":
        exec(example, {})
        printed = capsys.readouterr().out
    else:
        printed = run(*shlex.split(example.removeprefix("python -m spacy "))).output
    # Column widths may differ.
    both = printed, shown
    lines, expected = (
        [_NUMBER.sub("#", " ".join(line.split())) for line in each.splitlines() if line]
        for each in both
    )
    assert lines == expected, printed
    numbers, wanted = (list(map(float, _NUMBER.findall(each))) for each in both)
    # Processors differ in the last digits.
    assert numbers == pytest.approx(wanted, rel=0.01, abs=0.02), printed


def test_every_project_workflow_passes_a_dry_run(monkeypatch):
    # Read the project once, not for each command.
    project = load_project_config(PROJECT)
    monkeypatch.setattr("weasel.cli.run.load_project_config", lambda *_, **__: project)
    for workflow in project["workflows"]:
        printed = run("project", "run", workflow, PROJECT, "--dry", "--force").output
        assert "Running command" in printed


def test_training_writes_the_best_and_the_last_pipeline(trained):
    for name in ("model-best", "model-last"):
        nlp = spacy.load(trained / name)
        assert nlp.pipe_names == ["hpyp_parser", "attribute_ruler"]
        assert nlp.meta["performance"]["dep_las"] > 0.5


def test_raw_text_gets_correct_sentences_and_arcs(trained, assert_forest):
    doc = spacy.load(trained / "model-best")(RAW)
    assert_forest(doc)
    assert [sentence.text for sentence in doc.sents] == SENTENCES
    leaves = doc[2]
    assert leaves.dep_ == "ROOT"
    assert (doc[1].head, doc[1].dep_, doc[0].head) == (leaves, "nsubj", doc[1])
    assert doc._.log_prob == pytest.approx(sum(sentence._.log_prob for sentence in doc.sents))


def test_a_trained_pipeline_predicts_parts_of_speech_and_morphology(trained, tmp_path):
    nlp = spacy.load(trained / "model-best")
    assert nlp.meta["performance"]["pos_acc"] > 0.85
    assert nlp.meta["performance"]["morph_acc"] > 0.8
    doc = nlp(RAW)
    assert doc.has_annotation("POS")
    assert doc.has_annotation("MORPH")

    matcher = Matcher(nlp.vocab)
    matcher.add("noun phrase", [[{"POS": "DET"}, {"POS": "ADJ", "OP": "*"}, {"POS": "NOUN"}]])
    assert "The ferry" in [doc[start:end].text for _, start, end in matcher(doc)]
    assert "NOUN" in displacy.render(doc, style="dep", jupyter=False)
    data = trained / "en_sample-ud-test.spacy"
    scores = evaluate(trained / "model-best", data, tmp_path / "raw.json", command=["evaluate"])
    assert scores["pos_acc"] > 0.8
    assert scores["morph_acc"] > 0.8
    assert scores.get("lemma_acc") is None


def test_evaluation_reports_tags_arcs_sentences_and_log_probability(trained, tmp_path):
    best, data = trained / "model-best", SAMPLE / "en_sample-ud-test.conllu"
    tokens, output = trained / "en_sample-ud-test.spacy", tmp_path / "scores.json"
    raw = evaluate(best, tokens, output, command=["evaluate"])
    gold, tags = (evaluate(best, data, output, *options) for options in ([], ["--gold-tags"]))
    assert 0.5 < raw["sents_f"] <= 1.0
    assert gold["sents_f"] == 1.0
    # `raw` scores tokens, `gold` scores words.
    assert raw["dep_uas"] <= gold["dep_uas"] + 0.02
    assert 0.7 < gold["dep_las"] < gold["dep_uas"] < tags["dep_uas"] + 0.05
    assert tags["tag_acc"] == 1.0
    assert gold["token_log_prob"] < 0.0


@pytest.mark.parametrize("trained", ["pool"], indirect=True)
def test_the_guided_pipeline_trains_on_held_out_guides_and_parses_raw_text(
    trained, tmp_path, assert_forest
):
    annotated = trained / "en_sample-ud-train-guided.spacy"
    run("hpyp", "guides", trained / "model-best", SAMPLE / "en_sample-ud-train.conllu", annotated)
    overrides = {**PATHS, **SMALL, "paths.train": str(annotated), "training.max_epochs": 3}
    overrides["paths.parser"] = str(trained / "model-best")
    train(PROJECT / "configs" / "guided.cfg", tmp_path, overrides=overrides)
    nlp = spacy.load(tmp_path / "model-best")
    assert nlp.pipe_names == ["easy_first_senter", "hpyp_parser"] + [
        f"easy_first_{name}" for name in ("tagger", "parser", "morphologizer", "lemmatizer")
    ]
    doc = nlp(RAW)
    assert_forest(doc)
    words = [word.text for word in nlp("I don't know.")._.ud_words]
    assert words == ["I", "do", "n't", "know", "."]
    assert [token.pos_ for token in doc[:2]] == ["DET", "NOUN"]
    assert len(list(doc.sents)) == 3
    assert all(0.0 < token._.head_prob < 1.0 for token in doc)
    for text, found in zip(BAD, nlp.pipe(BAD)):
        assert found.text == text
        assert_forest(found)
    (tmp_path / "bad.txt").write_text("\n\n".join(BAD), encoding="utf8")
    best, test = tmp_path / "model-best", SAMPLE / "en_sample-ud-test.conllu"
    run("hpyp", "parse", best, tmp_path / "bad.txt", "-o", tmp_path / "bad.conllu")
    assert len(list(read_blocks(tmp_path / "bad.conllu"))) >= len(BAD)
    assert evaluate(best, test, tmp_path / "gold.json")["dep_las"] > 0.7
    assert evaluate(best, test, tmp_path / "tags.json", "--gold-tags")["tag_acc"] == 1.0
    paths = [tmp_path / f"{keep}.conllu" for keep in ("text", "sentences", "words")]
    for path in paths:
        run("hpyp", "parse", best, test, "--keep", path.stem, "-o", path)
    validator = pytest.importorskip("udtools.validator").Validator
    for path in paths:
        assert validator(lang="en", level=2, output=None).validate_files([str(path)]).passed()


def test_the_fast_pipeline_trains_without_another_pipeline(tmp_path, assert_forest):
    overrides = {**PATHS, "training.max_epochs": 3, **SMALL}
    train(PROJECT / "configs" / "easy_first.cfg", tmp_path, overrides=overrides)
    nlp = spacy.load(tmp_path / "model-best")
    assert_forest(nlp(RAW), generative=False)
    assert nlp.meta["performance"]["dep_las"] > 0.6


def test_the_head_outward_pipeline_gives_exact_probabilities(tmp_path, assert_forest):
    overrides = {f"paths.{part}": str(convert(part, tmp_path)) for part in ("train", "dev")}
    overrides |= {"training.max_epochs": 6, "training.batcher.parts": 10}
    train(PROJECT / "configs" / "head_outward.cfg", tmp_path, overrides=overrides)
    nlp = spacy.load(tmp_path / "model-best")
    doc = nlp(RAW)
    assert_forest(doc, generative=False)
    assert nlp.meta["performance"]["dep_las"] > 0.5
    assert doc._.log_prob == pytest.approx(sum(sentence._.log_prob for sentence in doc.sents))
    assert all(0.0 < token._.head_prob < 1.0 + 1e-9 for token in doc)
    assert nlp("The ferry leaves at noon.")._.log_prob > nlp("Ferry the noon at leaves.")._.log_prob
    best, data = tmp_path / "model-best", tmp_path / "en_sample-ud-dev.spacy"
    own = evaluate(best, data, tmp_path / "own.json")["dep_uas"]
    assert 0.6 < own <= evaluate(best, data, tmp_path / "gold.json", "--gold-tags")["dep_uas"]
