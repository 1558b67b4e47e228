"""Dividing a corpus into parts, and reading it with gold sentences."""

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_hpyp.pipeline.corpus import create_gold_corpus, create_parts_batcher

VOCAB = spacy.blank("en").vocab


def examples_of(lengths):
    """Examples with references of the given lengths, and predicted documents of other lengths."""
    docs = [Doc(VOCAB, words=["word"] * length) for length in lengths]
    return [Example(Doc(VOCAB, words=["w"] * 3), doc) for doc in docs]


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=80), st.integers(1, 100))
def test_sweeps_have_parts_of_similar_size_and_the_first_one_more(lengths, parts):
    examples, batcher = examples_of(lengths), create_parts_batcher(parts)
    for count in (parts + 1, parts, parts):
        batches = list(batcher(iter(examples)))
        # Evaluations after steps 0, `parts`, 2 `parts` ... need an example since the previous one.
        assert len(batches) == (count if any(batches[1:]) else parts)
        assert batches[0][0] is examples[0]
        assert [id(each) for batch in batches for each in batch] == list(map(id, examples))
        words = [sum(len(each.reference) for each in batch) for batch in batches]
        assert max(words) <= sum(lengths) / count + max(lengths)


@pytest.mark.parametrize("gold_tags", [False, True])
def test_the_gold_corpus_gives_one_example_per_sentence(toy, tmp_path, gold_tags):
    path, nlp, sentences = tmp_path / "toy.spacy", spacy.blank("en"), toy.sentences(12)
    docs = [toy.doc(VOCAB, *sentences[i : i + 3]) for i in range(0, 12, 3)]
    DocBin(docs=docs).to_disk(path)
    examples = create_gold_corpus(path, gold_tags=gold_tags)(nlp)
    for example, sentence in zip(examples, sentences, strict=True):
        words, tags = zip(*((token.text, token.tag_) for token in example.predicted))
        assert [*words] == sentence.words
        assert [*tags] == (sentence.tags if gold_tags else [""] * len(words))
        assert len(list(example.predicted.sents)) == 1
    assert len(list(create_gold_corpus(path, limit=2)(nlp))) == 6


def test_the_gold_corpus_is_read_once_and_gives_new_documents(toy, tmp_path):
    path, moved = tmp_path / "toy.spacy", tmp_path / "moved.spacy"
    DocBin(docs=[toy.doc(VOCAB, *toy.sentences(3))]).to_disk(path)
    read, nlp, other = create_gold_corpus(path), spacy.blank("en"), spacy.blank("en")
    first = list(read(nlp))
    first[0].predicted[0].tag_ = "X"
    path.rename(moved)
    second = list(read(nlp))
    assert [each.reference for each in second] == [each.reference for each in first]
    assert not any(each.predicted.has_annotation("TAG") for each in second)
    moved.rename(path)
    assert all(each.reference.vocab is other.vocab for each in read(other))


def test_syntactic_words_are_the_tokens_of_gold_sentences(write):
    path = write(
        "# newpar\n1\tIl\til\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tva\taller\tVERB\t_\t_\t0\troot\t_\t_\n"
        "3-4\tau\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n3\tà\tà\tADP\t_\t_\t2\tcase\t_\t_\n"
        "4\tle\tle\tDET\t_\tDefinite=Def\t2\tdet\t_\t_\n\n"
        "# newpar\n1\tFin\tfin\tNOUN\t_\t_\t0\troot\t_\t_\n\n",
        "fr.conllu",
    )
    first, second = create_gold_corpus(path)(spacy.blank("xx"))
    assert [token.text for token in first.predicted] == ["Il", "va", "à", "le"]
    assert [(token.pos_, str(token.morph), token.head.i) for token in first.reference[2:]] == [
        ("ADP", "", 1),
        ("DET", "Definite=Def", 1),
    ]
    assert [token.text for token in second.reference] == ["Fin"]
    assert len(list(first.predicted.sents)) == 1
