"""`hpyp evaluate --errors`: what a parser gets wrong in a treebank."""

import command_line
import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin
from spacy.training import Example


@pytest.fixture(scope="module", name="folder")
def files(toy, trained, tmp_path_factory):
    """A pipeline of this package and one with spaCy's own parser, both trained too little, and
    treebanks.
    """
    folder = tmp_path_factory.mktemp("errors")
    trained.to_disk(folder / "pipeline")
    sentences = toy.sentences(60)
    # "zebra" is a word that training does not have.
    sentences[-1] = toy.sentence(
        ["the", "zebra", "sleeps"], ["DT", "NN", "VBZ"], [1, 2, 2], ["det", "nsubj", "ROOT"]
    )
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger")
    nlp.add_pipe("parser")
    gold = [toy.doc(nlp.vocab, sentence) for sentence in sentences]
    nlp.initialize(lambda: [Example(nlp.make_doc(doc.text), doc) for doc in gold[:10]])
    nlp.to_disk(folder / "of_spacy")
    spacy.blank("en").to_disk(folder / "blank")
    docs = {
        "dev": [toy.doc(nlp.vocab, *sentences[i : i + 3]) for i in range(30, 60, 3)],
        "tagged": [
            Doc(nlp.vocab, words=sentence.words, tags=sentence.tags) for sentence in sentences
        ],
        "none": [],
    }
    for name, found in docs.items():
        DocBin(docs=found).to_disk(folder / f"{name}.spacy")
    return folder


def errors(folder, model, *options, data="dev.spacy"):
    output = folder / "errors.json"
    done = command_line.run(
        "hpyp", "evaluate", "--errors", folder / model, folder / data, "-o", output, *options
    )
    scores = srsly.read_json(output)
    return {**scores.pop("errors"), "scores": scores}, done.stdout


def test_words_under_a_token_of_conllu_have_their_own_tags_in_all_tables(toy, folder):
    path, text = folder / "dev.conllu", ""
    for doc in DocBin().from_disk(folder / "dev.spacy").get_docs(spacy.blank("en").vocab):
        for sentence in doc.sents:
            text += f"1-2\t{sentence[0]}{sentence[1]}" + "\t_" * 8 + "\n"
            for i, token in enumerate(sentence, 1):
                head = 0 if token.dep_ == "ROOT" else token.head.i - sentence.start + 1
                label = token.dep_.replace("ROOT", "root")
                text += f"{i}\t{token}\t_\t_\t{token.tag_}\t_\t{head}\t{label}\t_\t_\n"
            text += "\n"
    path.write_text(text, encoding="utf8")
    of_words, expected = (
        errors(folder, "pipeline", data=name)[0] for name in ("dev.conllu", "dev.spacy")
    )
    for scores in (of_words, expected):
        del scores["scores"]
    assert of_words == expected
    for command in ("evaluate --calibration", "rank --top 2"):
        command_line.run("hpyp", *command.split(), folder / "pipeline", path)


def test_errors_are_those_of_the_scores(folder):
    found, shown = errors(folder, "pipeline")
    assert f"{100 * found['scores']['dep_las']:.2f}" in shown
    by_label = {row["name"].lower(): row for row in found["By label"]}
    for label, expected in found["scores"]["dep_las_per_type"].items():
        assert by_label[label]["las"] == pytest.approx(expected["r"])
    by_length = found["By length of the arc"]
    assert sum(row["tokens"] for row in by_length) == sum(
        row["tokens"] for row in by_label.values()
    )
    assert [(row["name"], row["tokens"]) for row in found["By whether the word is known"][1:]] == [
        ("unknown", 1)
    ]


@pytest.mark.parametrize("model", ["pipeline", "of_spacy"])
def test_a_sentence_without_a_tree_is_left_out_alone_whatever_the_scorer(folder, model):
    vocab = spacy.blank("en").vocab
    docs = list(DocBin().from_disk(folder / "dev.spacy").get_docs(vocab))
    words = ["a"] * 9
    incomplete = Doc(vocab, words=words, tags=["DT"] * 9, heads=[0] * 9, deps=["ROOT", *[""] * 8])
    DocBin(docs=[incomplete, *docs]).to_disk(folder / "incomplete.spacy")
    with pytest.warns(UserWarning, match="leave out 1 of 31 sentences"):
        found = errors(folder, model, data="incomplete.spacy")[0]
    expected = errors(folder, model)[0]
    assert found["By label"] == expected["By label"]
    for name in ("dep_uas", "dep_las", "complete_match"):
        assert found["scores"][name] == expected["scores"][name]


def test_any_parser_will_do(folder):
    found, shown = errors(folder, "of_spacy")
    assert "By whether the word is known" not in found
    assert found["Confusions of labels"][0]["example"] in shown


@pytest.mark.parametrize(
    ("model", "data", "problem"),
    [
        ("pipeline", "tagged.spacy", "no token has a gold head"),
        ("pipeline", "none.spacy", "There is nothing to evaluate"),
        ("blank", "dev.spacy", "should have a parser"),
    ],
)
def test_what_cannot_be_analysed_is_refused(folder, model, data, problem):
    done = command_line.run(
        "hpyp", "evaluate", "--errors", folder / model, folder / data, exit_code=1
    )
    assert problem in " ".join(done.stderr.split())


def test_settings_of_the_config_can_be_overridden_and_calibration_is_measured(folder):
    output = folder / "found.json"
    options = "--components.hpyp_parser.particles", 1, "--calibration", "-o", output
    done = command_line.run("hpyp", "evaluate", folder / "pipeline", folder / "dev.spacy", *options)
    assert "head_prob, raw documents" in done.stdout
    # One particle is always sure.
    assert srsly.read_json(output)["calibration"]["heads"]["confidence"] == 1.0
    assert (
        "must be"
        in command_line.run(
            "hpyp", "evaluate", folder / "pipeline", folder / "dev.spacy", "-K", 0, exit_code=1
        ).stderr
    )
