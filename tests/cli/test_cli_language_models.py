"""The commands `hpyp perplexity`, `ngram`, `generate` and `self-train`."""

from functools import partial

import command_line
import pytest
import srsly
from spacy.tokens import DocBin

from spacy_hpyp.cli.raw_text import read_sentences
from spacy_hpyp.language_model.ngram import NGramModel, train_ngram_model
from spacy_hpyp.language_model.perplexity import Perplexity, estimate
from spacy_hpyp.pipeline.surprisal import reader_for
from spacy_hpyp.storage import dump

run = partial(command_line.run, "hpyp")
SHORT = ("--order", 3, "--sweeps", 4)


@pytest.fixture(scope="module")
def files(toy, trained, tmp_path_factory):
    """The toy treebank as .spacy and text files, other sentences, a pipeline and an n-gram
    model.
    """
    folder = tmp_path_factory.mktemp("files")
    docs = [toy.doc(trained.vocab, sentence) for sentence in toy.sentences(60)]
    DocBin(docs=docs).to_disk(folder / "train.spacy")
    for name, seed in (("train", 0), ("dev", 1)):
        lines = [" ".join(sentence.words) + "\n" for sentence in toy.sentences(60, seed=seed)]
        (folder / f"{name}.txt").write_text("".join(lines), encoding="utf8")
    (folder / "empty.txt").write_text("\n", encoding="utf8")
    trained.to_disk(folder / "pipeline")
    run("ngram", folder / "train.spacy", folder / "model", *SHORT)
    return folder


def figures(folder, *arguments):
    run("perplexity", *arguments, "--output", folder / "figures.json")
    return srsly.read_json(folder / "figures.json")


def table(*arguments):
    return " ".join(run("perplexity", *arguments).output.split())


def test_ngram_trains_the_same_model_as_the_function(files, tmp_path):
    expected = train_ngram_model(read_sentences(files / "train.spacy"), order=3, sweeps=4)
    saved = (files / "model").read_bytes()
    assert saved == expected.to_bytes()
    # The same lines in several files are the same text.
    lines = (files / "train.txt").read_text(encoding="utf8").splitlines(keepends=True)
    (tmp_path / "a.txt").write_text("".join(lines[:10]), encoding="utf-8-sig")
    (tmp_path / "b.txt").write_text("".join(lines[10:]), encoding="utf8")
    run("ngram", tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "model", "--tokenized", *SHORT)
    assert (tmp_path / "model").read_bytes() == saved


def test_the_vocabulary_can_come_from_a_parser(files, toy, tmp_path):
    rule = {"@misc": "spacy-hpyp.UnknownWords.v1", "lang": "en"}
    nlp = toy.trained(unknown_words=rule, spelling=True)
    nlp.to_disk(tmp_path / "pipeline")
    options = "--tokenized", *SHORT, "--spelling", "--vocab-from", tmp_path / "pipeline"
    run("ngram", files / "train.txt", tmp_path / "ngrams", *options)
    by_parser = NGramModel.from_disk(tmp_path / "ngrams")
    theirs = toy.parser(nlp).joint
    for word in [*theirs.vocabulary.words, "Zyzzyva", "near-by", "CAT", "1999", "readily"]:
        assert by_parser.vocabulary.number(word) == theirs.vocabulary.number(word)
    assert dump(by_parser.spelling.to_message()) == dump(theirs.spelling.to_message())


@pytest.mark.parametrize("name", ["model", "pipeline"])
def test_perplexity_prints_the_sum_over_sentences(files, name, tmp_path):
    sentences = read_sentences(files / "dev.txt")
    expected = Perplexity.total(reader_for(files / name).perplexity(sentences))
    found = figures(tmp_path, files / name, files / "dev.txt", "--tokenized")
    assert found == pytest.approx(expected.to_dict())
    shown = table(files / name, files / "dev.txt", "--tokenized")
    assert f"{expected.perplexity:.4f}" in shown
    assert "Closed vocabulary" in shown
    assert ("upper bound" in shown) == (name == "pipeline")


def test_spelling_enables_bits_per_character(files, tmp_path):
    run("ngram", files / "train.spacy", tmp_path / "own", "--spelling", *SHORT)
    spelled, plain = (
        figures(tmp_path, model, files / "dev.txt", "--tokenized")
        for model in (tmp_path / "own", files / "model")
    )
    assert spelled["bits_per_character"] > 0.0
    assert plain["bits_per_character"] is None
    assert spelled["closed_perplexity"] == pytest.approx(plain["perplexity"])


def test_particles_give_an_estimate_with_its_error(toy, trained, files, tmp_path):
    options = ("--method", "particles", "-K", 20, "--threads", 2)
    found = figures(tmp_path, files / "pipeline", files / "dev.txt", *options, "--tokenized")
    sentences = read_sentences(files / "dev.txt")
    expected = Perplexity.total(estimate(toy.parser(trained).joint, sentences, particles=20))
    assert found == pytest.approx(expected.to_dict())


def test_generate_shows_the_most_probable_sentences_with_their_trees(toy, trained, files, tmp_path):
    drawn = {doc.text: doc for doc in toy.parser(trained).generate(100) if len(doc) >= 6}
    expected = sorted(drawn.values(), key=lambda doc: -doc._.log_prob)[:3]
    options = ("--number", 100, "--best", 3, "--min-length", 6, "-o", tmp_path / "best.jsonl")
    shown = run("generate", files / "pipeline", *options).stdout.splitlines()[:3]
    assert shown == [f"{doc._.log_prob:8.2f}  {doc.text}" for doc in expected]
    saved = list(srsly.read_jsonl(tmp_path / "best.jsonl"))
    assert [record["text"] for record in saved] == [doc.text for doc in expected]
    assert saved[0]["heads"] == [token.head.i for token in expected[0]]


def test_an_n_gram_model_generates_like_a_parser(files, tmp_path):
    options = ("-n", 60, "-b", 4, "--min-length", 3, "--max-length", 9, "--seed", 2)
    run("generate", files / "model", *options, "-o", tmp_path / "best.jsonl")
    saved = list(srsly.read_jsonl(tmp_path / "best.jsonl"))
    drawn = NGramModel.from_disk(files / "model").generate(60, max_length=9, seed=2)
    different = {tuple(words): log_prob for words, log_prob in drawn if 3 <= len(words) <= 9}
    expected = sorted(different.items(), key=lambda entry: -entry[1])[:4]
    assert [tuple(record["words"]) for record in saved] == [words for words, _ in expected]
    assert [record["log_prob"] for record in saved] == [log_prob for _, log_prob in expected]


def test_self_train_adds_the_words_of_a_text_and_keeps_settings(toy, files, tmp_path):
    toy.trained(**toy.pools).to_disk(tmp_path / "pools")
    options = ("--tokenized", "-K", 30, "--threads", 2)
    run("self-train", tmp_path / "pools", files / "dev.txt", tmp_path, *options)
    before, after = (
        toy.nlp(**toy.pools).from_disk(tmp_path / name) for name in ("pools", "model-last")
    )
    counts, more = toy.customers(before), toy.customers(after)
    learned = sum(map(len, read_sentences(files / "dev.txt")))
    assert more == counts | {"word": counts["word"] + learned}
    assert toy.parser(after).settings == toy.parser(before).settings


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("ngram empty.txt out", "no sentence"),
        ("ngram train.txt out --lang zzz", "zzz"),
        ("ngram train.txt out --vocab-from no_such_pipeline", "no_such_pipeline"),
        ("ngram train.txt out --vocab-from pipeline --spelling", "does not spell"),
        ("perplexity model empty.txt", "no sentence"),
        ("perplexity dev.txt dev.txt", "cannot be read"),
        ("perplexity model dev.txt -K 3", "parsers"),
        ("perplexity model dev.txt --threads 2", "parsers"),
        ("perplexity model dev.txt --method particles", "parsers"),
        ("generate pipeline -n 3 --min-length 59", "None of the 3 sentences"),
        ("generate pipeline -n 0", "'count'"),
        ("self-train pipeline empty.txt out", "no words"),
    ],
)
def test_errors_are_reported_without_a_traceback(files, monkeypatch, arguments, problem):
    monkeypatch.chdir(files)
    assert problem in " ".join(run(*arguments.split(), exit_code=1).output.split())
    assert not (files / "out" / "model-last").exists()
