"""`hpyp evaluate`: scores, errors and calibration of a pipeline."""

from dataclasses import replace

import command_line
import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin

from spacy_hpyp.cli.analysis import calibrate
from spacy_hpyp.pipeline.corpus import mark_sentence


@pytest.fixture(scope="module", name="folder")
def files(toy, trained, tmp_path_factory):
    """An undertrained pipeline of this package, one with spaCy's own parser, and treebanks."""
    folder = tmp_path_factory.mktemp("errors")
    trained.to_disk(folder / "pipeline")
    sentences = toy.sentences(60)
    nlp = spacy.blank("en")
    nlp.to_disk(folder / "blank")
    nlp.add_pipe("tagger")
    nlp.add_pipe("parser")
    toy.train(nlp, sentences[:10], sweeps=0).to_disk(folder / "of_spacy")
    docs = {
        "dev": [toy.doc(nlp.vocab, *sentences[i : i + 3]) for i in range(30, 60, 3)],
        "tagged": [Doc(nlp.vocab, words=one.words, tags=one.tags) for one in sentences],
    }
    for name, found in docs.items():
        DocBin(docs=found).to_disk(folder / f"{name}.spacy")
    return folder


def evaluate(folder, model, *options, data="dev.spacy", exit_code=0):
    output = folder / "scores.json"
    arguments = "--errors", folder / model, folder / data, "-o", output, *options
    done = command_line.run("hpyp", "evaluate", *arguments, exit_code=exit_code)
    return srsly.read_json(output) if exit_code == 0 else None, done


def test_syntactic_words_have_their_own_tags_in_all_tables(toy, folder):
    text = "".join(toy.conllu(sentence, [1]) for sentence in toy.sentences(60)[30:])
    (folder / "dev.conllu").write_text(text, encoding="utf8")
    of_words, of_tokens = (
        evaluate(folder, "pipeline", data=name)[0]["errors"] for name in ("dev.conllu", "dev.spacy")
    )
    assert of_words == of_tokens


def test_error_tables_match_the_scores(folder):
    scores, done = evaluate(folder, "pipeline")
    errors = scores["errors"]
    assert f"{100 * scores['dep_las']:.2f}" in done.stdout
    by_label = {row["name"].lower(): row for row in errors["By label"]}
    for label, expected in scores["dep_las_per_type"].items():
        assert by_label[label]["las"] == pytest.approx(expected["r"])
    by_length = errors["By length of the arc"]
    of_labels = sum(row["tokens"] for row in by_label.values())
    assert sum(row["tokens"] for row in by_length) == of_labels


@pytest.mark.parametrize("model", ["pipeline", "of_spacy"])
def test_every_scorer_skips_only_the_sentence_without_a_tree(folder, model):
    vocab = spacy.blank("en").vocab
    docs = list(DocBin().from_disk(folder / "dev.spacy").get_docs(vocab))
    tags, deps = ["DT"] * 9, ["ROOT", *[""] * 8]
    incomplete = Doc(vocab, words=["a"] * 9, tags=tags, heads=[0] * 9, deps=deps)
    DocBin(docs=[incomplete, *docs]).to_disk(folder / "incomplete.spacy")
    with pytest.warns(UserWarning, match="leave out 1 of 31 sentences"):
        found = evaluate(folder, model, data="incomplete.spacy")[0]
    expected = evaluate(folder, model)[0]
    assert found["errors"]["By label"] == expected["errors"]["By label"]
    for name in ("dep_uas", "dep_las", "complete_match"):
        assert found[name] == expected[name]


@pytest.mark.parametrize(
    ("model", "data", "options", "problem"),
    [
        ("pipeline", "tagged.spacy", (), "has a gold head"),
        ("blank", "dev.spacy", (), "should have a parser"),
        ("of_spacy", "dev.spacy", ("--calibration",), "head_prob"),
    ],
)
def test_unfit_data_and_models_are_rejected(folder, model, data, options, problem):
    _, done = evaluate(folder, model, *options, data=data, exit_code=1)
    assert problem in " ".join(done.stderr.split())


def test_calibration_uses_the_probabilities_of_the_parser(toy, trained, folder):
    scores, done = evaluate(folder, "pipeline", "--calibration")
    assert "heads, raw documents" in done.stdout
    nlp = toy.copy(trained, decoding="mbr")
    choices = []
    for doc in DocBin().from_disk(folder / "dev.spacy").get_docs(nlp.vocab):
        for gold in (sentence.as_doc() for sentence in doc.sents):
            parsed = nlp(mark_sentence(Doc(nlp.vocab, [token.text for token in gold])))
            choices += [
                (token._.head_prob, token.head.i == own.head.i)
                for token, own in zip(parsed, gold)
                if own.dep_ != "punct"
            ]
    found, expected = scores["calibration"]["heads"], calibrate(choices)
    for name in ("tokens", "confidence", "accuracy", "expected_calibration_error", "auroc"):
        assert found[name] == pytest.approx(expected[name])
    # A single particle is always certain.
    settings = "--calibration", "--components.hpyp_parser.particles", 1
    scores, _ = evaluate(folder, "pipeline", *settings)
    assert scores["calibration"]["heads"]["confidence"] == 1.0


def test_gold_tags_replace_the_tagger(toy, folder):
    nlp = spacy.blank("en")
    nlp.add_pipe("easy_first_tagger", config={"model": {"places": 2**13}})
    nlp.add_pipe("head_outward_parser")
    sentences = toy.sentences(60)
    confused = [replace(each, tags=["NN"] * len(each.words)) for each in sentences]
    for name, learned in (("easy_first_tagger", confused), ("head_outward_parser", sentences)):
        component = nlp.get_pipe(name)
        component.initialize(lambda learned=learned: toy.examples(nlp, learned), nlp=nlp)
        for _ in range(3):
            component.update(toy.examples(nlp, learned), sgd=nlp.create_optimizer())
    nlp.to_disk(folder / "head_outward")
    own = evaluate(folder, "head_outward")[0]
    gold = evaluate(folder, "head_outward", "--gold-tags")[0]
    given = evaluate(folder, "head_outward", "--tags-from", folder / "pipeline")[0]
    assert own["tag_acc"] < 0.5
    assert own["dep_uas"] < gold["dep_uas"]
    assert min(gold["dep_las"], given["dep_las"], gold["tag_acc"]) > 0.85
