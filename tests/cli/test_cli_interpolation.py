"""`hpyp perplexity --interpolate` and `hpyp surprisal --interpolate`."""

import csv
import io
import json
from functools import partial

import command_line
import numpy as np
import pytest
from spacy.tokens import DocBin

from spacy_hpyp.annotation.documents import encode_docs
from spacy_hpyp.language_model.interpolation import LEVELS, Interpolation
from spacy_hpyp.language_model.ngram import NGramModel
from spacy_hpyp.language_model.scoring import search_for_sums

run = partial(command_line.run, "hpyp")
TEXT = "the dog sees a cat. Ada waits  near\nthe old parser.\n\nZenobia sleeps.\n"


@pytest.fixture(scope="module")
def files(toy, trained, tmp_path_factory):
    """A pipeline, and one that spells; n-gram models with their vocabulary and another one; training,
    held-out and other sentences.
    """
    folder = tmp_path_factory.mktemp("interpolation")
    trained.to_disk(folder / "pipeline")
    for name, seed in (("train", 0), ("heldout", 1), ("dev", 2)):
        docs = [toy.doc(trained.vocab, sentence) for sentence in toy.sentences(20, seed=seed)]
        DocBin(docs=docs).to_disk(folder / f"{name}.spacy")
    toy.trained(spelling=True).to_disk(folder / "spelled")
    short = ("--order", 3, "--sweeps", 4, "--samples", 2)
    run("ngram", folder / "train.spacy", folder / "ngram", "--vocab-from", folder / "pipeline", *short)
    run("ngram", folder / "train.spacy", folder / "other", *short)
    return folder


@pytest.fixture(scope="module")
def mixed(files):
    return ("--interpolate", files / "ngram", "--weights-from", files / "heldout.spacy")


@pytest.fixture(scope="module")
def weights(files, mixed):
    run(
        "perplexity",
        files / "pipeline",
        files / "dev.spacy",
        *mixed,
        "--save-weights",
        files / "weights.json",
    )
    return files / "weights.json"


def words_of(toy, seed):
    return [sentence.words for sentence in toy.sentences(20, seed=seed)]


def test_the_perplexities_of_both_models_and_of_their_mixture_are_printed(toy, trained, files, mixed):
    found = json.loads(
        run("perplexity", files / "pipeline", files / "dev.spacy", *mixed, "--output", "json").stdout
    )
    table = run("perplexity", files / "pipeline", files / "dev.spacy", *mixed).output
    assert "Closed vocabulary" in table
    parser, ngrams = toy.parser(trained), NGramModel.from_disk(files / "ngram")
    search = search_for_sums(parser.search, predictive=True)
    mixture = Interpolation.learn(parser.joint, ngrams, words_of(toy, 1), search)
    expected = mixture.perplexities(words_of(toy, 2), search)
    for name, one in expected._asdict().items():
        assert found[name] == pytest.approx(one.to_dict())
    assert found["weights"] == pytest.approx(mixture.shares.tolist())
    for one in expected:
        assert f"{one.perplexity:.2f}" in table
    assert f"{mixture.shares[3]:.4f}" in table


def test_saved_weights_are_used_again(files, mixed, weights):
    again = ("--interpolate", files / "ngram", "--weights-from", weights)
    one, other = (
        run("perplexity", files / "pipeline", files / "dev.spacy", *options, "--output", "json").stdout
        for options in (mixed, again)
    )
    assert one == other


def test_what_a_parser_spells_is_printed_with_and_without_letters(files, weights):
    mixed = ("--interpolate", files / "ngram", "--weights-from", weights)
    found, closed = (
        json.loads(run("perplexity", files / name, files / "dev.spacy", *mixed, "--output", "json").stdout)
        for name in ("spelled", "pipeline")
    )
    shown = " ".join(run("perplexity", files / "spelled", files / "dev.spacy", *mixed).output.split())
    assert "Open vocabulary" in shown
    models = ("parser", "ngram", "mixture")
    for name, label, digits in (
        ("perplexity", "PERPLEXITY", 2),
        ("closed_perplexity", "PERPLEXITY WITHOUT LETTERS", 2),
        ("bits_per_character", "BITS A CHARACTER", 4),
    ):
        assert " ".join([label, *(f"{found[model][name]:.{digits}f}" for model in models)]) in shown
    for model in models:
        assert found[model]["closed_perplexity"] == pytest.approx(closed[model]["perplexity"])
        assert found[model]["log_prob"] - found[model]["spelling"] == pytest.approx(closed[model]["log_prob"])


def rows(table):
    return list(csv.DictReader(io.StringIO(table, newline=""), dialect="excel-tab"))


@pytest.mark.parametrize("options", [(), ("--per-line",)])
def test_the_columns_of_the_mixture_are_the_sums_of_weighted_probabilities(
    toy, trained, files, weights, write, options
):
    path = write(TEXT)
    plain = rows(run("surprisal", files / "pipeline", path, *options).stdout)
    interpolate = ("--interpolate", files / "ngram", "--weights-from", weights)
    found = rows(run("surprisal", files / "pipeline", path, *options, *interpolate).stdout)
    assert [{name: row[name] for name in plain[0]} for row in found] == plain
    assert [name for name in found[0] if name not in plain[0]] == ["surprisal_ngram", "surprisal_mixed"]
    shares = json.loads(weights.read_text())["parser"]
    texts = TEXT.splitlines() if options else TEXT.split("\n\n")
    docs = [trained.make_doc(text) for text in texts if text.strip()]
    for doc in docs if options else ():
        for token in doc:
            token.is_sent_start = token.i == 0
    blocks, _ = encode_docs(docs, toy.parser(trained).joint.encoder, given_tags=False)
    values, passed_on = NGramModel.from_disk(files / "ngram").score_blocks(blocks)
    ends = blocks.offsets[1:] + np.arange(len(docs))
    values, passed_on = np.delete(values, ends), np.delete(passed_on, ends)
    for row, log_prob, left in zip(found, values, passed_on, strict=True):
        share = shares[min(int(-np.log2(left)), LEVELS - 1)]
        parser, ngram, both = (
            2.0 ** -float(row[name]) for name in ("surprisal", "surprisal_ngram", "surprisal_mixed")
        )
        assert np.log(ngram) == pytest.approx(log_prob, abs=1e-5)
        assert both == pytest.approx(share * parser + (1.0 - share) * ngram, rel=1e-5)


def test_letters_are_added_to_every_surprisal_of_a_rare_word(toy, files, weights, write):
    arguments = (write(TEXT), "--interpolate", files / "ngram", "--weights-from", weights)
    plain, spelled = (
        rows(run("surprisal", files / name, *arguments).stdout) for name in ("pipeline", "spelled")
    )
    rare = 0
    for one, other in zip(plain, spelled, strict=True):
        more = float(other["surprisal_lexical"]) - float(one["surprisal_lexical"])
        for name in ("surprisal", "surprisal_ngram", "surprisal_mixed"):
            assert float(other[name]) - float(one[name]) == pytest.approx(more, abs=1e-5)
        assert other["surprisal_syntactic"] == one["surprisal_syntactic"]
        rare += more > 1.0
        assert (more > 1.0) == (one["text"] == "Zenobia")
    assert rare == 1


def test_the_mixture_of_a_word_is_the_sum_over_its_tokens(files, weights, write):
    arguments = (files / "pipeline", write(TEXT), "--interpolate", files / "ngram", "--weights-from", weights)
    tokens, words = (
        rows(run("surprisal", *arguments).stdout),
        rows(run("surprisal", *arguments, "--words").stdout),
    )
    for name in ("surprisal_ngram", "surprisal_mixed"):
        for word in words:
            parts = [t for t in tokens if (t["paragraph"], t["word"]) == (word["paragraph"], word["word"])]
            assert float(word[name]) == pytest.approx(sum(float(part[name]) for part in parts), abs=1e-5)


def test_weights_for_surprisals_are_learned_where_there_are_none(files, mixed, write):
    found = rows(run("surprisal", files / "pipeline", write(TEXT), *mixed).stdout)
    for row in found:
        low, high = sorted((float(row["surprisal"]), float(row["surprisal_ngram"])))
        assert low - 1e-6 <= float(row["surprisal_mixed"]) <= high + 1e-6


def test_what_is_missing_or_does_not_fit_is_explained(files, mixed, weights, write):
    def problem(*arguments):
        return " ".join(run(*arguments, exit_code=1).output.split())

    pipeline, dev, ngram = files / "pipeline", files / "dev.spacy", files / "ngram"
    perplexity = partial(problem, "perplexity", pipeline, dev)
    assert "--weights-from" in perplexity("--interpolate", ngram)
    assert "no --interpolate" in perplexity("--weights-from", weights)
    assert "must not be learned" in perplexity("--interpolate", ngram, "--weights-from", dev)
    assert "--vocab-from" in perplexity("--interpolate", files / "other", "--weights-from", weights)
    assert "--method" in perplexity(*mixed, "--method", "particles")
    assert ".json" in perplexity(*mixed, "--save-weights", files / "weights.txt")
    assert "is a file" in problem("perplexity", ngram, dev, *mixed)
    text = write(TEXT)
    assert "--weights-from" in problem("surprisal", pipeline, text, "--interpolate", ngram)
    assert "no --interpolate" in problem("surprisal", pipeline, text, "--weights-from", weights)
