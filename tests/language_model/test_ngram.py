"""The n-gram model: what it predicts, how it is trained, and what becomes of it on disk."""

import random
from functools import partial

import numpy as np
import pytest
import srsly
from numba.core.errors import NumbaError
from spacy import registry

from spacy_hpyp.language_model import ngram
from spacy_hpyp.language_model.ngram import (
    NGramModel,
    NGramVocabulary,
    collect_vocabulary,
    resolve_rule,
    train_ngram_model,
)
from spacy_hpyp.language_model.scoring import Perplexity, perplexity_of
from spacy_hpyp.storage.checksum import unpack_message, with_checksum, without_checksum
from spacy_hpyp.text.vocabulary import Vocabulary, VocabularySettings

SETTINGS = {"order": 3, "sweeps": 6, "samples": 3}


@pytest.fixture(scope="module")
def text(toy):
    return [sentence.words for sentence in toy.sentences(60)]


@pytest.fixture(scope="module")
def model(text):
    return train_ngram_model(text, **SETTINGS)


@pytest.fixture(scope="module")
def spelled(text):
    return train_ngram_model(text, partial(collect_vocabulary, spelling=True), **SETTINGS)


@pytest.fixture(scope="module")
def unseen(toy):
    return [
        *(sentence.words for sentence in toy.sentences(30, seed=1)),
        [],
        ["Zyzzyva", "zyzzyva"],
        ["Übergrößen", "1999", "x-y", "ﷺ"],
    ]


def log_probs(model, sentences):
    return np.concatenate([model.log_probs(words) for words in sentences])


def test_each_word_and_the_end_have_a_log_probability(model, unseen):
    for words in unseen:
        values = model.log_probs(words)
        assert values.shape == (len(words) + 1,)
        assert values.dtype == np.float64
        assert np.all((values < 0.0) & np.isfinite(values))


def test_predictions_are_the_means_of_the_samples_probabilities(model, unseen):
    assert model.samples == 3
    alone = [NGramModel(model.words, model.order, [sample]) for sample in model._samples]
    probabilities = np.array([np.exp(log_probs(one, unseen)) for one in alone])
    assert np.all(np.ptp(probabilities, axis=0).max() > 0.0)
    np.testing.assert_allclose(np.exp(log_probs(model, unseen)), probabilities.mean(axis=0), rtol=1e-12)


def test_words_of_the_same_class_are_predicted_alike(model):
    vocabulary = model.words.vocabulary
    words = ["zyzzyvaing", "qwertying"]
    assert len({vocabulary.number(word) for word in words}) == 1
    np.testing.assert_array_equal(*(model.log_probs(["The", word, "."]) for word in words))


def test_words_that_are_spelled_out_have_letters_besides_and_nothing_else_is_changed(model, spelled, unseen):
    known = set(model.words.vocabulary.words)
    for words in unseen:
        letters = spelled.log_probs(words) - model.log_probs(words)
        assert letters[-1] == 0.0
        assert np.all((letters[:-1] < 0.0) == [word not in known for word in words])
    (scored,), (plain,) = (list(each.score([["the", "Zyzzyva", "sleeps"]])) for each in (spelled, model))
    assert scored.log_prob == pytest.approx(plain.log_prob + scored.spelling)
    assert (scored.characters, plain.characters, plain.spelling) == (16, 16, None)


def test_a_spelling_is_saved_with_the_model(model, spelled, unseen, tmp_path):
    spelled.to_disk(tmp_path / "model")
    loaded = NGramModel.from_disk(tmp_path / "model")
    assert np.array_equal(log_probs(loaded, unseen), log_probs(spelled, unseen))
    assert loaded.to_bytes() == spelled.to_bytes()
    (tmp_path / "model").write_bytes(edited(spelled, {"spelling": {}}))
    with pytest.raises(ValueError, match="its spelling of rare words is damaged"):
        NGramModel.from_disk(tmp_path / "model")
    rest = {name: part for name, part in unpack_message(spelled.to_bytes()).items() if name != "spelling"}
    assert rest == unpack_message(model.to_bytes())


def test_scores_are_the_sums_of_the_log_probabilities(model, unseen, monkeypatch):
    monkeypatch.setattr(ngram, "_BATCH", 7)
    vocabulary = model.words.vocabulary
    scores = list(model.score(iter(unseen)))
    assert len(scores) == len(unseen)
    for words, scored in zip(unseen, scores):
        assert scored.log_prob == pytest.approx(model.log_probs(words).sum(), rel=1e-12)
        assert scored.words == len(words)
        assert scored.unknown == sum(word not in vocabulary.words for word in words)


def test_perplexity_counts_words_and_ends():
    scored = [Perplexity(-3.0, 2, 1), Perplexity(-5.0, 4, 0)]
    found = perplexity_of(iter(scored))
    assert (found.sentences, found.words, found.unknown, found.predictions) == (2, 6, 1, 8)
    assert found.log_prob_per_prediction == -1.0
    assert found.perplexity == pytest.approx(np.e)


def test_the_perplexity_of_a_uniform_model_is_the_number_of_outcomes():
    outcomes = 17
    scored = (Perplexity(-(n + 1) * np.log(outcomes), n, 0) for n in range(5))
    assert perplexity_of(scored).perplexity == pytest.approx(outcomes)


def test_bits_a_character_count_the_ends_of_words_and_need_letters_of_all_words():
    sentences = [Perplexity(-10.0, 2, 1, 0.0, 7, -4.0), Perplexity(-5.0, 1, 0, 0.0, 3, 0.0)]
    found = perplexity_of(sentences)
    assert found.bits_per_character == pytest.approx(15.0 / np.log(2.0) / 13)
    assert found.perplexity == pytest.approx(np.exp(15.0 / 5))
    assert found.closed_perplexity == pytest.approx(np.exp(11.0 / 5))
    assert found.to_dict()["convention"].startswith("open vocabulary")
    closed = perplexity_of([each._replace(spelling=None) for each in sentences])
    assert (closed.bits_per_character, closed.closed_perplexity) == (None, closed.perplexity)
    assert closed.to_dict()["convention"].startswith("closed vocabulary")
    known = perplexity_of([sentences[1]._replace(spelling=None)])
    assert known.bits_per_character == pytest.approx(5.0 / np.log(2.0) / 4)


def test_nothing_has_no_perplexity(model):
    with pytest.raises(ValueError, match="no sentence"):
        model.perplexity([])


def test_the_model_s_perplexity_is_that_of_its_log_probabilities(model, unseen):
    values = log_probs(model, unseen)
    assert model.perplexity(unseen).perplexity == pytest.approx(np.exp(-values.mean()))


def test_training_helps(text, model, unseen):
    unigrams = train_ngram_model(text, **{**SETTINGS, "order": 1})
    assert model.perplexity(unseen[:30]).perplexity < 0.8 * unigrams.perplexity(unseen[:30]).perplexity


def test_the_same_seed_gives_the_same_model(text, model):
    assert train_ngram_model(iter(text), **SETTINGS).to_bytes() == model.to_bytes()
    assert train_ngram_model(text, **SETTINGS, seed=1).to_bytes() != model.to_bytes()


def test_training_reports_every_prediction_of_every_sweep(text):
    reports = []
    train_ngram_model(text, **SETTINGS, progress=reports.append)
    predictions = sum(len(words) + 1 for words in text)
    assert {report.total for report in reports} == {6 * predictions}
    assert sum(report.predictions for report in reports) == 6 * predictions
    assert sorted({report.sweep for report in reports}) == [1, 2, 3, 4, 5, 6]
    assert all(report.log_prob < 0.0 for report in reports)


@pytest.mark.parametrize(
    ("sweeps", "samples", "expected"),
    [
        (1, 1, [1]),
        (8, 1, [8]),
        (8, 4, [5, 6, 7, 8]),
        (8, 2, [6, 8]),
        (4, 4, [1, 2, 3, 4]),
        (20, 3, [14, 17, 20]),
    ],
)
def test_samples_come_from_the_end_of_training_and_equally_far_apart(
    text, monkeypatch, sweeps, samples, expected
):
    at = []
    now = []
    monkeypatch.setattr(
        ngram, "pack", lambda franchise, pack=ngram.pack: at.append(now[-1]) or pack(franchise)
    )
    model = train_ngram_model(
        text[:3], order=2, sweeps=sweeps, samples=samples, progress=lambda report: now.append(report.sweep)
    )
    assert at == expected
    assert model.samples == samples


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("order", 0),
        ("order", 21),
        ("order", 2.0),
        ("sweeps", 0),
        ("samples", 0),
        ("samples", 7),
        ("seed", -1),
    ],
)
def test_settings_out_of_range_are_explained(text, setting, value):
    with pytest.raises(ValueError, match=f"'{setting}' must be a whole number"):
        train_ngram_model(text, **{**SETTINGS, setting: value})


@pytest.mark.parametrize("setting", ["min_count", "min_class_count"])
def test_thresholds_out_of_range_are_explained(text, setting):
    with pytest.raises(ValueError, match=f"'{setting}' must be"):
        collect_vocabulary(text, **{setting: 0})


def test_without_sentences_there_is_nothing_to_train_on():
    with pytest.raises(ValueError, match="no sentence"):
        train_ngram_model([[], []])


def test_a_vocabulary_can_come_from_other_text(text):
    words = collect_vocabulary(text[:20], min_count=3)
    model = train_ngram_model(text, words, **SETTINGS)
    assert model.words.vocabulary.words == words.vocabulary.words
    assert len(words.vocabulary) < len(collect_vocabulary(text).vocabulary)


@pytest.mark.parametrize(
    ("settings", "block"),
    [
        ({}, {"@misc": "spacy-hpyp.EnglishSignatures.v1"}),
        ({"lang": "ta"}, {"@misc": "spacy-hpyp.UnknownWords.v1", "lang": "ta"}),
        (
            {"unknown_words": "spacy-hpyp.UnknownWords.v1"},
            {"@misc": "spacy-hpyp.UnknownWords.v1", "lang": "en"},
        ),
        (
            {"lang": "fr", "unknown_words": "spacy-hpyp.UniversalUnknownWords.v1"},
            {"@misc": "spacy-hpyp.UniversalUnknownWords.v1"},
        ),
    ],
)
def test_classes_are_made_by_the_usual_rule_of_the_language_or_another_one(text, settings, block):
    words = collect_vocabulary([*text, ["Zyzzyvas", "Zyzzyvas-"]], min_class_count=1, **settings)
    assert words.unknown_words == block
    assert resolve_rule(block)("Zyzzyvas", "")[0] in words.vocabulary.classes


def test_a_rule_that_is_not_registered_is_an_error(text):
    with pytest.raises(ValueError, match=r"no\.such\.rule"):
        collect_vocabulary(text, unknown_words="no.such.rule")


def test_a_vocabulary_with_tags_survives_with_the_usual_tags_of_its_words(toy, text, unseen):
    sentences = toy.sentences(60)
    tags = sorted({tag for sentence in sentences for tag in sentence.tags})
    block = {"@misc": "spacy-hpyp.EnglishUnknownWords.v1"}
    tagged = [(sentence.words, [tags.index(tag) for tag in sentence.tags]) for sentence in sentences]
    settings = VocabularySettings(resolve_rule(block), min_class_count=1)
    vocabulary = Vocabulary.collect([*tagged, (["Near", "NEAR"], [0, 0])], tags, settings)
    assert any("~" in name for name in vocabulary.classes)
    model = train_ngram_model(text, NGramVocabulary(vocabulary, block, "en"), **SETTINGS)
    again = NGramModel.from_bytes(model.to_bytes()).words.vocabulary
    for word in [word for words in [*text, *unseen] for word in words] + ["Near", "NEAR", "NEAr"]:
        assert again.number(word) == vocabulary.number(word)


# Storage


def test_a_saved_model_predicts_the_same_bits(model, unseen, tmp_path):
    model.to_disk(tmp_path / "model")
    again = NGramModel.from_disk(tmp_path / "model")
    np.testing.assert_array_equal(log_probs(again, unseen), log_probs(model, unseen))
    assert again.to_bytes() == model.to_bytes()
    assert (again.order, again.samples, again.words.lang) == (3, 3, "en")


def test_the_rule_of_the_language_is_saved(text):
    words = collect_vocabulary(text, lang="ta")
    model = NGramModel.from_bytes(train_ngram_model(text, words, **SETTINGS).to_bytes())
    assert model.words.vocabulary.rule("தமிழ்", "") == words.vocabulary.rule("தமிழ்", "")
    assert model.words.lang == "ta"


def test_an_interrupted_save_leaves_what_was_there(model, tmp_path, monkeypatch):
    path = tmp_path / "model"
    model.to_disk(path)

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        model.to_disk(path)
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert NGramModel.from_disk(path).to_bytes() == model.to_bytes()


def test_every_flipped_bit_is_seen(model):
    data = model.to_bytes()
    for bit in [*range(30 * 8), *random.Random(1).sample(range(8 * len(data)), 500)]:
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match=r"checksum|unpacked|message|n-gram model"):
            NGramModel.from_bytes(bytes(damaged))


def test_files_without_a_checksum_are_read_as_before(model, unseen, tmp_path):
    (tmp_path / "model").write_bytes(without_checksum(model.to_bytes()))
    assert NGramModel.from_disk(tmp_path / "model").to_bytes() == model.to_bytes()


def test_a_damaged_file_without_a_checksum_is_an_error_or_still_a_model(model, unseen):
    data = without_checksum(model.to_bytes())
    rng = random.Random(0)
    refused = 0
    for case in range(300):
        damaged = bytearray(data)
        if case % 3 == 0:
            del damaged[rng.randrange(len(data)) :]
        else:
            for _ in range(rng.choice([1, 20])):
                damaged[rng.randrange(len(data))] = rng.randrange(256)
        try:
            loaded = NGramModel.from_bytes(bytes(damaged))
        except ValueError:
            refused += 1
        else:
            assert np.all(np.isfinite(log_probs(loaded, unseen)))
    assert refused > 150


def edited(model, parts):
    """A model's bytes with other parts."""
    return with_checksum(srsly.msgpack_dumps({**unpack_message(model.to_bytes()), **parts}))


@pytest.mark.parametrize(
    ("part", "value", "problem"),
    [
        ("kind", "something else", "not an n-gram model"),
        ("format", 0, "not an n-gram model"),
        ("order", 0, "'order' must be"),
        ("order", 10**9, "'order' must be"),
        ("order", 4, "do not fit"),
        ("order", "3", "'order' must be"),
        ("words", ["The"], "do not fit"),
        ("words", ["The", "The"], "twice"),
        ("words", [1], "damaged"),
        ("classes", [], "no class"),
        ("tags", [], "do not fit"),
        ("lang", 1, "language"),
        ("unknown_words", {"@misc": "no.such.rule"}, "no.such.rule"),
        ("unknown_words", {"@readers": "spacy.Corpus.v1"}, "rule"),
        ("unknown_words", [], "rule"),
        ("unknown_words", {"@misc": ["spacy-hpyp.EnglishSignatures.v1"]}, "rule"),
        ("unknown_words", {"@misc": "spacy-hpyp.EnglishSignatures.v1", "lang": "en"}, "arguments"),
        ("unknown_words", {"@misc": "spacy-hpyp.UnknownWords.v1"}, "arguments"),
        ("unknown_words", {"@misc": "spacy-hpyp.UnknownWords.v1", "lang": 1}, "'lang'"),
        (
            "unknown_words",
            {"@misc": "spacy-hpyp.UniversalUnknownWords.v1", "suffix_length": 2.0},
            "'suffix_length'",
        ),
        (
            "unknown_words",
            {"@misc": "spacy-hpyp.UniversalUnknownWords.v1", "suffix_length": True},
            "'suffix_length'",
        ),
        ("unknown_words", {"@misc": "spacy-hpyp.UniversalUnknownWords.v1", "suffix_length": -1}, "negative"),
        ("samples", [], "at least one sample"),
        ("samples", 3, "wrong kind"),
        ("samples", [{}], "missing"),
        ("structure", {}, "missing"),
    ],
)
def test_what_does_not_fit_is_refused(model, tmp_path, part, value, problem):
    (tmp_path / "model").write_bytes(edited(model, {part: value}))
    with pytest.raises(ValueError, match=problem) as error:
        NGramModel.from_disk(tmp_path / "model")
    assert str(tmp_path / "model") in str(error.value)


@pytest.mark.parametrize("data", [b"", b"x", b"\x81", srsly.msgpack_dumps([1]), srsly.msgpack_dumps({})])
def test_what_is_no_model_is_refused(data):
    with pytest.raises(ValueError, match=r"unpacked|message|not an n-gram model"):
        NGramModel.from_bytes(data)


@pytest.mark.parametrize(
    "error",
    [
        NumbaError("x"),
        TypeError("can't unbox array"),
        RecursionError("x"),
        MemoryError(),
        KeyboardInterrupt(),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize(
    "place", ["hpyp.storage.reserve_rows", "language_model.ngram.finish", "language_model.ngram.average"]
)
def test_an_error_that_is_not_the_file_s_comes_through(model, monkeypatch, place, error):
    data = model.to_bytes()

    def fail(*_):
        raise error

    monkeypatch.setattr(f"spacy_hpyp.{place}", fail)
    with pytest.raises(type(error)) as found:
        NGramModel.from_bytes(data)
    assert found.value is error


# Rules


CALLS = []


def vowels(form, lower_tag):
    """A rule of a user's own."""
    return [f"VOWELS-{sum(c in 'aeiou' for c in form)}"]


@registry.misc("tests.vowels")
def make_vowels(**arguments):
    CALLS.append(arguments)
    return vowels


@pytest.fixture
def called():
    """With what arguments the user's function has been called."""
    CALLS.clear()
    return CALLS


@pytest.fixture
def own_model(text, called):
    words = collect_vocabulary([*text, ["Zyzzyvaee"]], unknown_words="tests.vowels", min_class_count=1)
    model = train_ngram_model(text, words, **SETTINGS)
    called.clear()
    return model


def test_a_file_has_only_the_name_of_a_rule_of_one_s_own(own_model, called):
    words = own_model.words._replace(unknown_words={"@misc": "tests.vowels", "path": "/secret"})
    for model in (own_model, NGramModel(words, own_model.order, own_model._samples)):
        assert unpack_message(model.to_bytes())["unknown_words"] == {"@misc": "tests.vowels"}


def test_a_file_cannot_have_a_registered_function_called(model, own_model, called, tmp_path):
    (tmp_path / "model").write_bytes(own_model.to_bytes())
    with pytest.raises(ValueError, match=r"'tests\.vowels'.*hand it in") as error:
        NGramModel.from_disk(tmp_path / "model")
    assert str(tmp_path / "model") in str(error.value)
    for block in (
        {"@misc": "tests.vowels", "path": "/secret"},
        {"@misc": "spacy-hpyp.UnknownWords.v1", "lang": {"@misc": "tests.vowels"}},
        {"@misc": "spacy-hpyp.UniversalUnknownWords.v1", "suffix_length": {"@misc": "tests.vowels"}},
        {"@misc": "spacy-hpyp.EnglishSignatures.v1", "x": {"@misc": "tests.vowels"}},
        {"x": {"@misc": "tests.vowels"}, "@readers": "srsly.read_json.v1", "path": "/secret"},
    ):
        with pytest.raises(ValueError, match="rule for unknown words"):
            NGramModel.from_bytes(edited(model, {"unknown_words": block}))
    assert called == []


def test_a_rule_of_one_s_own_is_handed_in(own_model, unseen, called, tmp_path):
    own_model.to_disk(tmp_path / "model")
    for again in (
        NGramModel.from_disk(tmp_path / "model", unknown_words=vowels),
        NGramModel.from_bytes(own_model.to_bytes(), unknown_words=vowels),
        NGramModel.from_bytes(
            edited(own_model, {"unknown_words": {"@misc": "tests.vowels", "x": 1}}), unknown_words=vowels
        ),
    ):
        np.testing.assert_array_equal(log_probs(again, unseen), log_probs(own_model, unseen))
        assert again.to_bytes() == own_model.to_bytes()
    assert called == []


def test_a_rule_of_this_package_cannot_be_exchanged(model):
    with pytest.raises(ValueError, match="cannot have another one"):
        NGramModel.from_bytes(model.to_bytes(), unknown_words=vowels)


def test_a_rule_that_cannot_be_stored_is_refused_before_training(text):
    words = collect_vocabulary(text)._replace(
        unknown_words={"@misc": "spacy-hpyp.EnglishSignatures.v1", "x": object()}
    )
    with pytest.raises(ValueError, match="arguments"):
        train_ngram_model(text, words, **SETTINGS)


def test_rare_words_that_are_known_by_their_tags_are_known_after_reading(text):
    rule = {"@misc": "spacy-hpyp.UniversalUnknownWords.v1"}
    settings = VocabularySettings(resolve_rule(rule), rare_words="tags")
    tagged = [(words, [number % 2 for number in range(len(words))]) for words in text]
    vocabulary = Vocabulary.collect(tagged, ["A", "B"], settings)
    rare = sorted(vocabulary.rare)
    assert rare
    model = train_ngram_model(text, lambda _: NGramVocabulary(vocabulary, rule, "en"), **SETTINGS)
    assert NGramModel.from_bytes(model.to_bytes()).words.vocabulary.numbers(rare) == vocabulary.numbers(rare)
