"""Training data: incomplete, malformed and non-projective annotation, and white space."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hpyp.annotation.encoding import raw_sentences
from spacy_hpyp.annotation.sentences import GoldSentence, RawSentence, read_gold


def examples_of(nlp, docs):
    return [Example(nlp.make_doc(doc.text), doc) for doc in docs]


def train_on_docs(nlp, docs):
    nlp.initialize(lambda: examples_of(nlp, docs))
    for _ in range(2):
        nlp.update(examples_of(nlp, docs))


def docs_of(toy, nlp, count):
    """Each of so many sentences as a document, and the sentences."""
    sentences = toy.sentences(count)
    return [toy.doc(nlp.vocab, sentence) for sentence in sentences], sentences


def incomplete(vocab, deps=("det", "nsubj", "ROOT"), tags=("DT", "NN", "VBZ"), heads=(1, 2, 2)):
    given = {"tags": tags, "heads": heads, "deps": deps}
    given = {name: list(values) for name, values in given.items() if values}
    return Doc(vocab, words=["a", "dog", "sleeps"], **given)


INCOMPLETE = {
    "no heads": ({"heads": None, "deps": None}, "without a complete tree"),
    "one label is missing": ({"deps": ("", "nsubj", "ROOT")}, "without a complete tree"),
    "one tag is missing": ({"tags": ("DT", "", "VBZ")}, "without tags"),
    "nothing": ({"heads": None, "deps": None, "tags": None}, "without tags"),
}


def without_heads(vocab):
    return incomplete(vocab, heads=None, deps=None)


def warnings_of_parser(caught):
    return [str(warning.message) for warning in caught if "hpyp_parser" in str(warning.message)]


def test_incomplete_sentences_are_skipped_and_counted_in_one_warning(toy):
    nlp = toy.nlp()
    docs, sentences = docs_of(toy, nlp, 10)
    docs += [incomplete(nlp.vocab, **missing) for missing, _ in INCOMPLETE.values()]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train_on_docs(nlp, docs)
    (message,) = warnings_of_parser(caught)
    assert "4 of 14" in message
    assert "2 without a complete tree, 2 without tags" in message
    assert toy.customers(nlp) == toy.customers_of(sentences)


def test_a_complete_treebank_gives_no_warning(toy):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        toy.trained(toy.sentences(10), sweeps=1)


def test_an_incomplete_sentence_does_not_exclude_its_document(toy):
    nlp = toy.nlp()
    first, second = toy.sentences(4)[2:]
    doc = toy.doc(nlp.vocab, first, second)
    doc[0].tag_ = ""
    with pytest.warns(UserWarning, match=r"1 of 2 .*1 without tags"):
        train_on_docs(nlp, [doc])
    assert toy.customers(nlp) == toy.customers_of([second])


def test_incomplete_sentences_seen_only_in_updates_are_counted(toy):
    nlp = toy.nlp()
    docs, sentences = docs_of(toy, nlp, 6)
    nlp.initialize(lambda: examples_of(nlp, docs))
    docs.insert(0, without_heads(nlp.vocab))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            nlp.update(examples_of(nlp, docs))
    assert ["1 of 7" in message for message in warnings_of_parser(caught)] == [True]
    assert toy.customers(nlp) == toy.customers_of(sentences)


@pytest.mark.parametrize("problem", INCOMPLETE)
def test_a_corpus_without_usable_sentences_raises_an_error_with_the_reason(toy, problem):
    nlp, (missing, reason) = toy.nlp(), INCOMPLETE[problem]
    doc = incomplete(nlp.vocab, **missing)
    with pytest.raises(ValueError, match=f"1 {reason}"):
        nlp.initialize(lambda: examples_of(nlp, [doc]))


def test_a_batch_without_a_usable_sentence_changes_nothing(toy):
    nlp = toy.trained(toy.sentences(6))
    before = toy.parser(nlp).model.to_bytes()
    losses = nlp.update(examples_of(nlp, [without_heads(nlp.vocab)]))
    assert losses["hpyp_parser"] == 0.0
    assert toy.parser(nlp).model.to_bytes() == before


def raw(vocab, heads, words="abcd"):
    """A sentence as read by `raw_sentences`, with any heads."""
    place, add = np.arange(len(heads)), vocab.strings.add
    columns = [[add(word), add("X"), add("dep")] for word in words[: len(heads)]]
    rows = np.array(columns, dtype=np.uint64).view(np.int64)
    return RawSentence(
        np.column_stack([rows, np.array(heads) - place, np.zeros((len(place), 2), int)]),
        vocab,
        place,
    )


@pytest.mark.parametrize(
    ("heads", "problem"),
    [
        ([0, 0, 2, 2], "root"),
        ([0, 7, 0, 0], "root"),
        ([0, -1, 0, 0], "root"),
        ([0, 2, 1, 0], "cyclic"),
        ([0, 2, 3, 1], "cyclic"),
    ],
)
def test_heads_that_do_not_form_a_tree_are_rejected(toy, trained, heads, problem):
    assert problem in read_gold(raw(trained.vocab, heads))


def test_a_document_with_two_roots_is_two_sentences(toy):
    nlp = toy.nlp()
    docs, sentences = docs_of(toy, nlp, 5)
    # spaCy itself splits a document with two roots into two sentences. Both are learned.
    given = {"tags": ["DT"] * 4, "heads": [0, 0, 3, 3], "deps": ["ROOT", "det", "det", "ROOT"]}
    train_on_docs(nlp, [Doc(nlp.vocab, list("abcd"), **given), *docs])
    assert toy.customers(nlp)["tag"] == 4 + toy.customers_of(sentences)["tag"]


def test_cyclic_heads_in_a_document_do_not_stop_training(toy):
    nlp = toy.nlp()
    docs, sentences = docs_of(toy, nlp, 5)
    doc = toy.doc(nlp.vocab, sentences[0])
    rows = doc.to_array(["HEAD"])
    # The last two tokens become each other's heads; the root keeps its head.
    rows[-1], rows[-2] = np.int64(-1).astype(np.uint64), 1
    try:
        doc.from_array(["HEAD"], rows)
    except ValueError:
        pytest.skip("this version of spaCy refuses cyclic heads")
    with pytest.warns(UserWarning, match="skips 1 of 6 training sentences"):
        train_on_docs(nlp, [*docs, doc])
    assert toy.customers(nlp) == toy.customers_of(sentences)


def test_a_long_chain_of_heads_is_a_tree(trained):
    n = 1000
    heads = [max(0, i - 1) for i in range(n)]
    sentence = read_gold(raw(trained.vocab, heads, words=["a"] * n))
    assert isinstance(sentence, GoldSentence)
    assert sentence.heads == [-1, *range(n - 1)]


def test_a_non_projective_sentence_is_lifted_with_a_decorated_label(toy, trained):
    doc = toy.doc(trained.vocab, toy.non_projective)
    (sentence,) = raw_sentences(doc)
    gold = read_gold(sentence)
    assert gold.words == toy.non_projective.words
    pairs = zip(gold.heads, toy.non_projective.heads)
    assert [i for i, (lifted, head) in enumerate(pairs) if lifted not in (head, -1)] == [6]
    assert gold.labels[6] == "nmod||nsubj"


def test_a_non_projective_treebank_trains_and_its_labels_are_decoded(toy, assert_forest):
    sentence = toy.non_projective
    corpus = [
        replace(sentence, words=[noun if word == "hearing" else word for word in sentence.words])
        for noun in "hearing meeting talk trial".split()
    ]
    nlp = toy.trained(corpus, sweeps=5)
    assert toy.customers(nlp) == toy.customers_of(corpus)
    doc = nlp(" ".join(sentence.words))
    assert [token.head.i for token in doc] == sentence.heads
    assert [token.dep_ for token in doc] == sentence.deps
    texts = [
        "a hearing today .",
        "the issue is scheduled on a talk on the issue",
        *(" ".join(s.words) for s in corpus),
    ]
    for doc in nlp.pipe(texts):
        assert not any("||" in token.dep_ for token in doc)
        assert len(list(doc.sents)) == sum(token.head.i == token.i for token in doc)


def test_a_sentence_of_one_word_is_learned(toy, assert_forest):
    nlp = toy.trained([toy.one_word], sweeps=3)
    assert toy.parser(nlp).label_data["labels"] == []
    assert toy.customers(nlp) == toy.customers_of([toy.one_word])
    assert_forest(nlp("stop"))
    assert_forest(nlp("stop it now"))


@pytest.mark.parametrize(
    ("words", "heads"),
    [
        (["\n", "a", " ", "\t", "dog", "sleeps", " "], [1, 4, 1, 1, 5, 5, 5]),
        (["a", "dog", " ", "sleeps"], [1, 2, 3, 3]),
    ],
    ids=["everywhere", "as a head"],
)
def test_white_space_is_left_out_of_training(toy, words, heads):
    plain, spaced = toy.nlp(), toy.nlp()
    of = {"a": ("DT", "det"), "dog": ("NN", "nsubj"), "sleeps": ("VBZ", "ROOT")}
    for nlp, some_words, some_heads in [(plain, [*of], [1, 2, 2]), (spaced, words, heads)]:
        tags, deps = zip(*(of.get(word, ("_SP", "dep")) for word in some_words))
        doc = Doc(nlp.vocab, words=some_words, tags=list(tags), heads=some_heads, deps=list(deps))
        train_on_docs(nlp, [doc])
    assert toy.parser(spaced).model.to_bytes() == toy.parser(plain).model.to_bytes()


def test_documents_without_words_are_ignored(toy):
    nlp = toy.nlp()
    docs, sentences = docs_of(toy, nlp, 4)
    train_on_docs(nlp, [Doc(nlp.vocab, words) for words in ([" "], ["\n", "\t"], [])] + docs)
    assert toy.customers(nlp) == toy.customers_of(sentences)


def test_a_document_with_only_boundaries_is_read_sentence_by_sentence(trained):
    doc = Doc(trained.vocab, words=list("abcd"), sent_starts=[True, False, True, False])
    assert [len(sentence.rows) for sentence in raw_sentences(doc)] == [2, 2]


def test_equal_sentences_have_equal_keys_in_any_position(toy, trained):
    first, second = toy.sentences(4)[2:]
    vocab, other = trained.vocab, toy.nlp().vocab
    apart = [toy.doc(vocab, first), toy.doc(vocab, second)]
    keys = [
        [sentence.key for doc in docs for sentence in raw_sentences(doc)]
        for docs in (apart, [toy.doc(vocab, first, second)], [toy.doc(other, first, second)])
    ]
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys[0])) == 2
