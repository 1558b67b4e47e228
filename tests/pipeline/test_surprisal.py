"""Surprisals by a parser and by an n-gram model."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

import spacy_hpyp
from spacy_hpyp.annotation.syntactic_words import Analysis, write_words
from spacy_hpyp.language_model.increments import find_increments
from spacy_hpyp.language_model.ngram import collect_vocabulary, train_ngram_model
from spacy_hpyp.language_model.perplexity import Perplexity, reading_search
from spacy_hpyp.language_model.tables import make_passages
from spacy_hpyp.pipeline.surprisal import NGramReader, read_rows, reader_for

TEXT = "The old dog sees a cat, Kim near Mona."
WORDS = [
    *({"story": "b", "word": word} for word in "The dog sees a cat, Kim waits.".split()),
    *({"story": "a", "word": word} for word in "Ada sleeps.".split()),
]


@pytest.fixture(scope="module")
def text(toy):
    return [sentence.words for sentence in toy.sentences(60)]


@pytest.fixture(scope="module")
def ngrams(text):
    return train_ngram_model(text, order=3, sweeps=2)


@pytest.fixture(params=["trained", "ngrams"])
def model(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def clitics(toy, trained):
    """The pipeline with a tokenizer that has learned multiword tokens."""
    config = trained.config.copy()
    config["nlp"]["tokenizer"] = {"@tokenizers": "spacy-hpyp.LearnedTokenizer.v1"}
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    nlp.from_bytes(trained.to_bytes(), exclude=["tokenizer", "config"])
    examples = []
    for number, pair in enumerate([("do", "n't"), ("can", "not"), ("dog", "'s")] * 8):
        words = toy.sentences(24)[number].words[:-1]
        doc = Doc(nlp.vocab, [*words, "".join(pair), "."], [*[True] * len(words), False, False])
        write_words(doc, len(words), [Analysis(word) for word in pair])
        examples.append(Example(doc, doc))
    nlp.tokenizer.initialize(lambda: examples)
    return nlp


def test_strings_rows_and_lists_of_regions_give_equal_surprisals(model):
    plain = spacy_hpyp.surprisal(model, ["the dog sees a cat .", "Ada sleeps ."])
    table = [
        {"item": "x", "condition": 1, "regions": ["the dog", "sees a cat ."]},
        {"item": "y", "condition": 2, "regions": "Ada | sleeps ."},
    ]
    rows = spacy_hpyp.surprisal(model, table)
    assert [row["item"] for row in plain] == [1] * 6 + [2] * 3
    assert [(row["item"], row["region"]) for row in rows] == [
        *([("x", 1)] * 2 + [("x", 2)] * 4 + [("y", 1)] + [("y", 2)] * 2)
    ]
    assert [row["surprisal"] for row in rows] == [row["surprisal"] for row in plain]
    with pytest.raises(ValueError, match="a list of texts"):
        spacy_hpyp.surprisal(model, "the dog sees a cat .")


@pytest.mark.parametrize("name", ["clitics", "ngrams"])
def test_perplexity_is_the_sum_of_surprisals(request, text, name):
    nlp, model = request.getfixturevalue("clitics"), request.getfixturevalue(name)
    if name == "ngrams":
        words = collect_vocabulary(text)
        words = words._replace(tokenizer=nlp.tokenizer.to_bytes())
        model = train_ngram_model(text, words, order=2, sweeps=2)
    texts = ["Kim don't sleep.", "the dog's cat cannot wait ."]
    rows = spacy_hpyp.surprisal(model, texts)
    words = "Kim do n't sleep .".split(), "the dog 's cat can not wait .".split()
    assert [row["text"] for row in rows] == [*words[0], *words[1]]
    total = Perplexity.total(reader_for(model).perplexity(words))
    assert total.log_prob == pytest.approx(sum(row["log_prob"] for row in rows), abs=1e-6)
    assert total.unknown == sum(not row["known"] for row in rows)
    assert (total.words, total.sentences) == (13, 2)


def test_spelled_rare_words_have_their_own_surprisal(text, ngrams):
    spelled = train_ngram_model(text, partial(collect_vocabulary, spelling=True), order=3, sweeps=2)
    rows = spacy_hpyp.surprisal(spelled, ["the zyzzyva", "the byzzyva"])
    closed = spacy_hpyp.surprisal(ngrams, ["the zyzzyva", "the byzzyva"])
    assert rows[1]["class"] == rows[3]["class"] != ""
    assert rows[1]["surprisal"] != rows[3]["surprisal"]
    for row, other in zip(rows, closed):
        letters = row["surprisal_letters"]
        assert row["surprisal"] - letters == pytest.approx(other["surprisal"])
        assert (other["surprisal_letters"], letters > 0.0) == (0.0, not row["known"])


def test_an_n_gram_model_needs_a_pipeline_to_segment_running_text(ngrams, trained, text):
    texts = [{"item": 1, "text": "Ada sleeps. the dog waits."}]
    with pytest.raises(ValueError, match="finds no sentences"):
        spacy_hpyp.surprisal(ngrams, texts, running=True)
    passages = make_passages([("x", texts[0])])
    rows = list(read_rows(NGramReader(ngrams, trained), passages, running=True))
    alone = spacy_hpyp.surprisal(ngrams, ["Ada sleeps.", "the dog waits."])
    assert [row["sentence"] for row in rows] == [1, 1, 1, 2, 2, 2, 2]
    assert [row["surprisal"] for row in rows] == [row["surprisal"] for row in alone]


def test_a_stimulus_and_its_context_are_running_text(trained):
    table = [{"item": 1, "before": "Ada sleeps.", "text": "the dog waits. Kim sleeps."}]
    rows = spacy_hpyp.surprisal(trained, table, context="before", running=True)
    whole = spacy_hpyp.surprisal(trained, ["Ada sleeps. the dog waits. Kim sleeps."], running=True)
    assert [row["surprisal"] for row in rows] == [row["surprisal"] for row in whole[3:]]
    assert [row["sentence"] for row in rows] == [1, 1, 1, 1, 2, 2, 2]


def test_word_rows_match_the_surprisals_of_running_text(trained):
    rows = spacy_hpyp.surprisal(trained, WORDS, text_by="story", entropy=True)
    texts = ["The dog sees a cat, Kim waits.", "Ada sleeps."]
    words = spacy_hpyp.surprisal(trained, texts, by="word", running=True, entropy=True)
    assert [row["word"] for row in rows] == [row["text"] for row in words]
    columns = [name for name in rows[0] if name in words[0] and name != "word"]
    assert {"arcs", "arc_length", "stack_depth"} < {*columns}
    assert {"surprisal", "log_prob", "entropy_next", "sentence", "tokens", "class"} < {*columns}
    for row, word in zip(rows, words):
        assert [row[name] for name in columns] == [word[name] for name in columns]


def test_frequencies_come_from_the_training_data(toy, text, trained, ngrams):
    for model, sentences in ((ngrams, toy.sentences(60)), (trained, toy.sentences())):
        words = [word.lower() for sentence in sentences for word in sentence.words]
        rows = [{"t": 1, "word": word} for word in ("The", "dog", "zyzzyva")]
        found = [
            row["log_frequency"]
            for row in spacy_hpyp.surprisal(model, rows, text_by="t", running=False)
        ]
        counts = np.array([words.count("the"), words.count("dog")])
        expected = np.log10((counts + 1) / (len(words) + len({*words})) * 1e9)
        # A word that a model knows only by its class still counts.
        np.testing.assert_allclose(found[:2], expected, atol=0.02)
        assert found[2] < min(found[:2])


def test_texts_with_several_apparent_sentences_warn(model):
    with pytest.warns(UserWarning, match="several sentences"):
        spacy_hpyp.surprisal(model, ["Ada sleeps . Kim waits ."])


def test_the_number_of_particles_is_an_argument(trained, ngrams):
    texts = ["the dog near a cat sees Ada ."]
    one, many = (
        sum(row["log_prob"] for row in spacy_hpyp.surprisal(trained, texts, particles=k))
        for k in (1, 1000)
    )
    assert one < many
    for model in (trained, ngrams):
        with pytest.raises(ValueError, match="'particles'"):
            spacy_hpyp.surprisal(model, texts, particles=0)


def test_rows_of_syntactic_words_sum_to_their_token(toy, trained):
    nlp = toy.copy(trained)
    rules = nlp.tokenizer

    def tokenize(text):
        doc = rules(text)
        for token in doc:
            if token.text == "theold":
                write_words(doc, token.i, [Analysis("the"), Analysis("old")])
        return doc

    nlp.tokenizer = tokenize
    together, apart = "theold dog sees a cat.", "the old dog sees a cat ."
    rows, plain = (spacy_hpyp.surprisal(nlp, [text], entropy=True) for text in (together, apart))
    assert [row["text"] for row in rows] == [row["text"] for row in plain]
    assert [(row["start"], row["end"]) for row in rows[:3]] == [(0, 3), (3, 6), (7, 10)]
    for column in ("surprisal", "log_prob", "entropy_next", "known", "tag"):
        assert [row[column] for row in rows] == [pytest.approx(row[column]) for row in plain]
    word, *_ = spacy_hpyp.surprisal(nlp, [together], by="word")
    assert (word["text"], word["tokens"], word["word"]) == ("theold", 2, 1)
    assert word["surprisal"] == pytest.approx(rows[0]["surprisal"] + rows[1]["surprisal"])
    found, expected = (
        nlp.get_pipe("hpyp_parser").increments(nlp.make_doc(text), 2) for text in (together, apart)
    )
    assert [one.next_words for one in found] == [one.next_words for one in expected]


@pytest.mark.slow
def test_concurrent_parsing_and_surprisal_do_not_interfere(toy, trained, annotation):
    nlp = toy.copy(trained, future_cost=1.0)
    texts = [f"the dog{i} sees a cat{i} . Ada{i} sleeps near Kim{i} ." for i in range(100)]
    with ThreadPoolExecutor(2) as pool:
        rows = [pool.submit(spacy_hpyp.surprisal, nlp, [text], running=True) for text in texts]
        docs = [annotation(nlp(text)) for text in texts]
    assert docs == [annotation(nlp(text)) for text in texts]
    alone = [spacy_hpyp.surprisal(nlp, [text], running=True) for text in texts]
    assert [each.result() for each in rows] == alone


@pytest.mark.slow
def test_more_particles_do_not_change_surprisal_of_running_text(toy, trained_on_documents):
    text = " ".join(word for sentence in toy.sentences(60, seed=1) for word in sentence.words)
    read = partial(spacy_hpyp.surprisal, trained_on_documents, [text], running=True)
    few, many = (np.array([row["surprisal"] for row in read(particles=k)]) for k in (None, 20_000))
    off = np.abs(few - many)
    assert np.mean(off > 0.3) <= 0.01
    assert off.max() <= 1.0


@pytest.mark.parametrize("name", ["trained", "pools"])
def test_entropies_match_the_parses_and_next_words(toy, trained, trained_pools, name):
    nlp = {"trained": trained, "pools": trained_pools}[name]
    parser = toy.parser(nlp)
    # A rare word. Pools know its tag elsewhere.
    text = f"The old dog sees {min(parser.joint.vocabulary.rare, default='a cat')}, Kim near Mona."
    rows = spacy_hpyp.surprisal(nlp, [text], entropy=True, particles=200)
    search = reading_search(parser.search, 200)
    doc = nlp.make_doc(text)
    steps = find_increments(parser.joint, doc, search, 1000, threads=1, given_tags=False)
    before = 0.0
    for n, (row, step) in enumerate(zip(rows, steps, strict=True), 1):
        assert row["entropy_next"] == pytest.approx(step.entropy_next, abs=1e-5)
        assert row["entropy_analyses"] == pytest.approx(step.entropy_analyses, abs=1e-5)
        probability = np.array([parse.probability for parse in step.parses])
        assert probability.sum() == pytest.approx(1.0, abs=1e-3)
        assert np.all(np.diff(probability) <= 0.0)
        prefix = np.logaddexp.reduce([parse.log_prob for parse in step.parses])
        bits = sum(row["surprisal"] - row["surprisal_letters"] for row in rows[:n])
        assert prefix == pytest.approx(-bits * np.log(2.0), abs=0.3)
        shown = -(probability * np.log2(np.maximum(probability, 1e-9))).sum()
        assert row["entropy_analyses"] == pytest.approx(shown, abs=1e-2)
        depth = sum(parse.probability * len(parse.stack) for parse in step.parses)
        assert row["stack_depth"] == pytest.approx(depth, abs=1e-2)
        assert sum(p for _, p in step.next_words) <= 1.0 + 1e-3
        reduction = max(before - row["entropy_analyses"], 0.0)
        assert row["reduction_analyses"] == pytest.approx(reduction, abs=1e-5)
        before = row["entropy_analyses"]
        for parse in step.parses:
            assert len(parse.heads) == len(parse.tags) == len(parse.deps) == len(step.words) == n
            assert parse.stack == [i for i, head in enumerate(parse.heads) if head is None]
            assert parse.stack[-1] == n - 1
            assert all((head is None) == (dep == "") for head, dep in zip(parse.heads, parse.deps))
        assert len({str(parse.heads + parse.tags + parse.deps) for parse in step.parses}) == len(
            step.parses
        )


@pytest.mark.slow
def test_entropies_do_not_depend_on_threads_or_later_words(toy, trained):
    names = ["entropy_next", "entropy_analyses", "reduction_next", "reduction_analyses"]

    def entropies(nlp, text):
        rows = spacy_hpyp.surprisal(nlp, [text], entropy=True, running=True)
        return [[row[name] for name in names] for row in rows]

    text = "the dog sees a cat near Ada . Kim sleeps ."
    one, two = (toy.copy(trained, threads=threads) for threads in (1, 2))
    assert entropies(one, text) == entropies(two, text)
    words = "the old dog sees a".split()
    whole = entropies(trained, " ".join(words))
    for n in range(1, 5):
        assert entropies(trained, " ".join(words[:n])) == whole[:n]


@pytest.mark.slow
def test_increments_give_the_parses_of_a_document_word_by_word(toy, trained):
    doc = trained("the dog sees a cat. Ada sleeps.")
    found = toy.parser(trained).increments(doc, 3)
    assert [one.token for one in found] == list(range(len(doc)))
    starts = [sentence.start for sentence in doc.sents]
    for one in found:
        start = max(begin for begin in starts if begin <= one.token)
        assert one.words == list(range(start, one.token + 1))
        assert 1 <= len(one.parses) <= 3
        assert one.parses[0].stack[-1] == one.token
        assert {head for parse in one.parses for head in parse.heads} <= {None, *one.words}
    with pytest.raises(ValueError, match="'k' must be"):
        toy.parser(trained).increments(doc, 0)
