"""Learning from raw text."""

import pytest
from typer.testing import CliRunner

from spacy_hpyp.cli import hpyp
from spacy_hpyp.training.raw_training import learn_from_text


@pytest.fixture(scope="module")
def pipeline(toy, tmp_path_factory):
    path = tmp_path_factory.mktemp("pipeline") / "model"
    toy.trained(**toy.pools).to_disk(path)
    return path


@pytest.fixture(scope="module")
def text(toy, tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(
        "\n".join(" ".join(s.words) for s in toy.sentences(60, seed=3)) + "\n", encoding="utf8"
    )
    return path


def words_of(text):
    return [line.split() for line in text.read_text(encoding="utf8").splitlines()]


def run(*arguments):
    return CliRunner().invoke(hpyp, ["learn-text", *map(str, arguments)])


def load(toy, path):
    return toy.nlp(**toy.pools).from_disk(path)


@pytest.mark.parametrize(
    ("learning", "learned"), [("words", ["word"]), ("all", ["transition", "label", "tag", "word"])]
)
def test_only_the_chosen_distributions_learn_and_settings_stay(
    toy, pipeline, text, tmp_path, learning, learned
):
    before = load(toy, pipeline)
    options = ("--tokenized", "--learning", learning, "-K", 30, "--threads", 2)
    assert run(pipeline, text, tmp_path, *options).exit_code == 0
    after = load(toy, tmp_path / "model-last")
    counts = [toy.customers(nlp) for nlp in (before, after)]
    assert sorted(name for name in counts[1] if counts[1][name] > counts[0][name]) == sorted(
        learned
    )
    assert counts[1]["word"] - counts[0]["word"] == sum(map(len, words_of(text)))
    found = [
        sum(nlp(" ".join(words))._.log_prob for words in words_of(text)) for nlp in (before, after)
    ]
    assert found[1] > found[0]
    assert toy.parser(after).settings == toy.parser(before).settings


@pytest.mark.parametrize(
    ("data", "problem"),
    [(b"\n \n", "no words"), (b"\xff\xfe\x00", "UTF-8")],
    ids=["empty", "binary"],
)
def test_text_that_cannot_be_read_leaves_what_was_learned_before(
    pipeline, tmp_path, write, data, problem
):
    assert run(pipeline, write("Ada sleeps .\n"), tmp_path).exit_code == 0
    before = (tmp_path / "model-last" / "hpyp_parser" / "model").read_bytes()
    assert problem in " ".join(run(pipeline, write(data), tmp_path).stderr.split())
    assert (tmp_path / "model-last" / "hpyp_parser" / "model").read_bytes() == before


def test_a_seed_fixes_what_is_learned_and_a_batch_is_predicted_by_those_before(toy, pipeline, text):
    def learn(**settings):
        parser = toy.parser(load(toy, pipeline))
        found = learn_from_text(
            parser.joint, words_of(text), search=parser.search, seed=1, threads=1, **settings
        )
        return parser.joint.to_bytes(), list(found)

    one, again = learn(batch_words=60), learn(batch_words=60)
    assert one == again
    (*_, end), (whole,) = one[1], learn()[1]
    assert (
        (end.sentences, end.words)
        == (whole.sentences, whole.words)
        == (60, sum(map(len, words_of(text))))
    )
    assert end.log_prob != whole.log_prob
