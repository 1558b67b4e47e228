"""Treebanks as documents: incomplete trees, paragraphs, and unknown white space."""

import pytest
import spacy
from spacy.training import Example

from spacy_hpyp.annotation.encoding import raw_sentences
from spacy_hpyp.annotation.sentences import problem_of
from spacy_hpyp.pipeline.corpus import create_conllu_corpus, create_gold_corpus, read_treebank
from spacy_hpyp.pipeline.scorer import score
from spacy_hpyp.pipeline.tokenizer import create_learned_tokenizer

#: Heads of sentences without a tree: missing, partly missing, no root, two roots, a cycle, a lone
#: word.
INCOMPLETE = [("_", "_", "_"), (2, "_", 0), (2, 3, 2), (0, 0, 2), (2, 1, 0), ("_",)]
TREE = (2, 0, 2)


def conllu(*sentences, comment=""):
    text = ""
    for heads in sentences:
        text += comment
        for i, head in enumerate(heads, 1):
            text += f"{i}\tw{i}\tw\tX\tX\t_\t{head}\t{'x' if head else 'root'}\t_\tSpaceAfter=No\n"
        text += "\n"
    return text


@pytest.mark.parametrize(
    "comment", ["", "1-2\tw1w2" + "\t_" * 8 + "\n"], ids=["words", "multiword tokens"]
)
def test_only_sentences_without_a_tree_are_left_out(comment, write):
    heads = [each for own in INCOMPLETE if len(own) > 1 or not comment for each in (TREE, own)]
    path, nlp = write(conllu(*heads, TREE, comment=comment), "bank.conllu"), spacy.blank("xx")
    (doc,) = read_treebank(path, nlp.vocab, n_sents=100)
    assert len(list(doc.sents)) == len(heads) + 1
    examples = list(create_gold_corpus(path)(nlp))
    assert [len(example.reference) for example in examples] == [*map(len, heads), 3]
    problems = [
        problem_of(raw.rows) for example in examples for raw in raw_sentences(example.reference)
    ]
    assert problems == [None, "without a complete tree"] * (len(heads) // 2) + [None]


def test_trees_without_labels_are_complete(write):
    text = conllu(TREE, ("_",)).replace("\tx\t", "\t_\t").replace("\troot\t", "\t_\t")
    (doc,) = read_treebank(write(text, "bank.conllu"), spacy.blank("xx").vocab)
    problems = [problem_of(raw.rows) for raw in raw_sentences(doc)]
    assert problems == [None, "without a complete tree"]


def test_scores_cover_the_sentences_with_trees(write):
    # A longer sentence without its first heads comes before the others.
    path = write(conllu(("_", "_", 0, 3), TREE, *INCOMPLETE, TREE), "bank.conllu")
    # The last word of each document gets a wrong head.
    readers = create_gold_corpus(path), create_conllu_corpus(path, tokens="gold")
    for read, wrong in zip(readers, (2, 1)):
        examples = []
        for example in read(spacy.blank("xx")):
            predicted = example.reference.copy()
            predicted[predicted[-1].i].head = predicted[predicted[-1].head.left_edge.i]
            examples.append(Example(predicted, example.reference))
        with pytest.warns(UserWarning, match="leave out 7 of 9 sentences"):
            found = score(examples)
        assert found["dep_uas"] == pytest.approx(1 - wrong / 6)
        assert (found["sents_f"], found["sents_without_tree"]) == (1.0, 7)


@pytest.mark.parametrize(
    ("mark", "sizes"), [("# newpar\n", [2, 2, 1]), ("# newdoc\n", [1] * 5), ("", [2, 2, 1])]
)
def test_the_number_of_sentences_limits_documents_without_marks(mark, sizes, write):
    path = write(conllu(*[TREE] * 5, comment=mark), "bank.conllu")
    docs = read_treebank(path, spacy.blank("xx").vocab, n_sents=2)
    assert [len(list(doc.sents)) for doc in docs] == sizes


def test_rules_tokenize_when_a_treebank_lacks_white_space(write):
    words = "".join(
        f"{i}\t{form}\t_\tX\t_\t_\t{int(i != 1)}\tdep\t_\t_\n"
        for i, form in enumerate("one of le ferries .".split(), 1)
    ).replace("2\tof", "2-3\tdu" + "\t_" * 8 + "\n2\tof")
    nlp = spacy.blank(
        "en", config={"nlp": {"tokenizer": {"@tokenizers": "spacy-hpyp.LearnedTokenizer.v1"}}}
    )
    examples = list(create_conllu_corpus(write((words + "\n") * 20, "bank.conllu"))(nlp))
    assert all(example.reference.has_unknown_spaces for example in examples)
    nlp.tokenizer.initialize(lambda: examples)
    other = create_learned_tokenizer()(spacy.blank("en")).from_bytes(nlp.tokenizer.to_bytes())
    for tokenizer in (nlp.tokenizer, other):
        doc = tokenizer("Two du ferries, (late).")
        assert [token.text for token in doc] == "Two du ferries , ( late ) .".split()
        assert [word.text for word in doc[1]._.ud_words] == ["of", "le"]
    # Fewer such sentences are no evidence, and a text may have spaces before marks.
    for text in (words + "\n") * 9, f"# text = one du ferries .\n{words}\n" + (words + "\n") * 20:
        (example, *_) = create_conllu_corpus(write(text, "known.conllu"))(nlp)
        assert not example.reference.has_unknown_spaces


def test_a_treebank_with_another_ending_raises_an_error(write):
    with pytest.raises(ValueError, match="rename it"):
        list(read_treebank(write("text", "x.txt"), spacy.blank("xx").vocab))
