"""`hpyp guides` and `hpyp classes`: guides and word classes for the training of parsers."""

from pathlib import Path

import numpy as np
import pytest
import spacy
from command_line import run
from spacy.tokens import DocBin

from spacy_hpyp.annotation.guides import read_guide
from spacy_hpyp.annotation.syntactic_words import to_word_doc
from spacy_hpyp.pipeline.corpus import create_conllu_corpus
from spacy_hpyp.text.word_classes import read_classes

TEXT = "".join(
    f"the {noun} {verb} .\n" for noun in ("dog", "cat", "hen") for verb in ("eats", "naps")
)


@pytest.fixture(scope="module")
def folder(toy, trained, tmp_path_factory):
    """A trained pipeline, and its training corpus in one file and in two."""
    folder = tmp_path_factory.mktemp("annotate")
    trained.to_disk(folder / "pipeline")
    docs = [toy.doc(trained.vocab, sentence) for sentence in toy.sentences()]
    DocBin(docs=docs).to_disk(folder / "train.spacy")
    (folder / "parts").mkdir()
    for part, start in (("a", 0), ("b", 25)):
        DocBin(docs=docs[start : start + 25]).to_disk(folder / "parts" / f"{part}.spacy")
    return folder


def annotated(folder, corpus, output, *options):
    paths = folder / "pipeline", folder / corpus, folder / output
    shown = run("hpyp", "guides", *paths, *options).stdout
    assert shown.count("✔") == 1
    docs = DocBin().from_disk(folder / output).get_docs(spacy.blank("en").vocab)
    return list(docs), " ".join(shown.split())


def test_the_corpus_is_written_with_guides(toy, folder):
    docs, shown = annotated(folder, "train.spacy", "guided.spacy")
    words = sum(len(sentence.words) for sentence in toy.sentences())
    assert f"Annotated {words} words and left out {len(docs)} learned sentences" in shown
    for doc, sentence in zip(docs, toy.sentences(), strict=True):
        assert [token.text for token in doc] == sentence.words
        assert [token.head.i for token in doc] == sentence.heads
        assert np.all(read_guide(doc).head_probs[:, 0] > 0.0)


def test_a_directory_is_read_as_one_corpus_and_threads_change_nothing(folder):
    expected, _ = annotated(folder, "train.spacy", "one.spacy", "-t", 1)
    found, _ = annotated(folder, "parts", "several.spacy", "-t", 3)
    assert [doc.text for doc in found] == [doc.text for doc in expected]
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(read_guide(one).head_probs, read_guide(other).head_probs)


def test_conllu_keeps_multiword_tokens_and_guides_each_word(toy, tmp_path):
    # Every second word shares a token with the previous word.
    sentences = toy.sentences()
    text = "".join(toy.conllu(one, range(1, len(one.words), 2)) for one in sentences)
    # The first sentence has no tree, but it gets guides.
    text = text.replace("0\troot", "_\t_", 1)
    (tmp_path / "train.conllu").write_text(text, encoding="utf8")
    nlp = toy.nlp()
    nlp.config["corpora"] = {"train": {"tokens": "gold"}}
    examples = list(create_conllu_corpus(tmp_path / "train.conllu", "gold")(nlp))
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    nlp.to_disk(tmp_path / "pipeline")
    docs, shown = annotated(tmp_path, "train.conllu", "guided.spacy")
    words = [word for sentence in sentences for word in sentence.words]
    assert f"Annotated {len(words)} words" in shown
    assert [word.text for doc in docs for word in doc._.ud_words] == words
    assert sum(len(list(doc.sents)) for doc in docs) == len(sentences)
    for doc in docs:
        assert len(doc) < len(doc._.ud_words)
        guide = read_guide(to_word_doc(doc))
        assert np.all(guide.head_probs[:, 0] > 0.0)


def test_classes_of_text_are_written_and_shown(write, tmp_path):
    options = "-o", tmp_path / "classes.txt", "-n", 4, "--min-count", 1
    result = run("hpyp", "classes", write(TEXT), *options)
    found = {each.word: each.path for each in read_classes(tmp_path / "classes.txt")}
    assert found.keys() == {"the", "dog", "cat", "hen", "eats", "naps", "."}
    assert found["dog"] == found["cat"] == found["hen"]
    assert "4 classes of 7 words" in result.output


def test_the_tokenizer_can_learn_from_a_treebank(write, tmp_path):
    treebank = Path(__file__).parents[2] / "assets" / "sample" / "en_sample-ud-train.conllu"
    options = "-o", tmp_path / "classes.txt", "-n", 2, "--min-count", 1
    run("hpyp", "classes", write("They don't know.\n" * 3), *options, "--treebank", treebank)
    assert "n't" in {each.word for each in read_classes(tmp_path / "classes.txt")}
