"""Guides: a parser's beliefs as other components read them; mismatched guides are rejected."""

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_hpyp.annotation.arrays import HEADS, TAGS
from spacy_hpyp.annotation.encoding import encode_docs, layout_of
from spacy_hpyp.annotation.guides import Guide, block_guides, read_guide, write_guide

LABELS = {"det": 0, "nsubj": 1, "obl": 2}
#: The positions of the words of `a_doc`.
WORDS = np.array([0, 1, 3, 4])
TAG_NUMBERS = {"DT": 0, "NN": 1, "VBZ": 2}


def guide():
    """A guide for five tokens, the third of which is white space: "the dog _ sleeps ."."""
    return Guide(
        heads=np.array([[1, 3], [3, 1], [-1, -1], [3, 4], [3, 1]], dtype=np.int32),
        head_probs=np.array([[0.9, 0.1], [0.6, 0.3], [0, 0], [1, 0], [0.5, 0.5]], dtype=np.float32),
        head_labels=np.array([[0, 1], [1, -1], [-1, -1], [-1, 2], [3, 2]], dtype=np.int32),
        label_names=["det", "nsubj", "obl||nsubj", "punct"],
        tags=np.array([[1], [0], [-1], [2], [3]], dtype=np.int32),
        tag_probs=np.array([[1], [0.75], [0], [1], [0.5]], dtype=np.float32),
        tag_names=["NN", "DT", "VBZ", "."],
    )


def a_doc():
    doc = Doc(Vocab(), words=["the", "dog", " ", "sleeps", "."])
    write_guide(doc, guide())
    return doc


def read(docs, *places, labels=LABELS):
    """The guides of blocks of words, given by their positions in each Doc."""
    return block_guides(docs, layout_of(places), labels, TAG_NUMBERS, reader="parser")


def test_a_guide_for_another_document_length_is_rejected():
    doc = a_doc()
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    message = "is about 5 tokens, but the document has 4.*parse it again"
    with pytest.raises(ValueError, match=message):
        read_guide(doc)


def test_block_guides_use_the_readers_label_and_tag_numbers():
    found = read([a_doc()], [WORDS])
    assert [part.shape for part in found] == [(4, HEADS)] * 3 + [(4, TAGS)] * 2
    assert found.heads[:, :2].tolist() == [[1, 2], [2, -1], [-1, 3], [2, 1]]
    assert np.array_equal(found.head_probability[:, :2], guide().head_probs[[0, 1, 3, 4]])
    # "obl||nsubj" is read as "obl", and there is no "punct".
    assert found.head_labels[:, :2].tolist() == [[0, 1], [1, -1], [-1, 2], [-1, 2]]
    assert found.tags[:, 0].tolist() == [0, 1, 2, -1]
    assert found.tag_probability[:, 0].tolist() == [1.0, 0.75, 1.0, 0.5]
    assert np.all(found.heads[:, 2:] == -1)
    assert not found.head_probability[:, 2:].any()
    assert np.all(found.tags[:, 1:] == -1)
    assert not found.tag_probability[:, 1:].any()


def test_decorated_labels_known_to_the_reader_stay_decorated():
    found = read([a_doc()], [WORDS], labels={**LABELS, "obl||nsubj": 3})
    assert found.head_labels[3].tolist() == [-1, 3, -1, -1]


def test_heads_outside_the_block_are_dropped_and_the_others_move_up():
    found = read([a_doc()], [WORDS[:2], WORDS[2:]])
    assert found.heads[:, :2].tolist() == [[1, -1], [-1, -1], [-1, 1], [0, -1]]
    np.testing.assert_array_equal(
        found.head_probability[:, :2], np.float32([[0.9, 0.0], [0.3, 0.0], [1.0, 0.0], [0.5, 0.0]])
    )
    assert found.head_labels[:, :2].tolist() == [[0, -1], [-1, -1], [-1, 2], [-1, -1]]


def test_guides_in_one_batch_may_differ_in_names_and_columns():
    doc, wide, two = a_doc(), a_doc(), Doc(Vocab(), words=["a", "b"])
    wider, short = dict(vars(guide())), dict(vars(guide()))
    for name, value in vars(guide()).items():
        if isinstance(value, np.ndarray):
            missing = 0 if value.dtype == np.float32 else -1
            wider[name] = np.pad(value, ((0, 0), (0, 4)), constant_values=missing)
            short[name] = value[3:] * 0
    # The same guide with its names in reverse order.
    for numbers, names in (("head_labels", "label_names"), ("tags", "tag_names")):
        wider[names] = wider[names][::-1]
        turned = len(wider[names]) - 1 - wider[numbers]
        wider[numbers] = np.where(wider[numbers] == -1, -1, turned).astype(np.int32)
    wide._.guide, two._.guide = wider, short
    found = read([doc, two, wide], [WORDS], [[0, 1]], [WORDS])
    alone = read([doc], [WORDS])
    for part, own in zip(found, alone):
        assert part.dtype == own.dtype
        assert np.array_equal(part[:4], own)
        assert np.array_equal(part[6:], own)
    assert found.tags[4:6, 0].tolist() == [TAG_NUMBERS["NN"]] * 2


# Guides of hpyp_parser

TEXTS = [
    "the dog sees \n a cat .  Ada sleeps .",
    " Zenobia sleeps near Kim .",
    "a hearing is scheduled on the issue today .",
]


@pytest.fixture(scope="module")
def guiding(toy, trained_on_documents):
    """A parser that writes guides; tests do not change it."""
    return toy.copy(trained_on_documents, guides=True, decoding="mbr")


@pytest.mark.parametrize("text", TEXTS)
def test_a_parser_writes_the_most_probable_heads_and_tags_of_its_posterior(toy, guiding, text):
    parser = toy.parser(guiding)
    posterior = parser.posterior(guiding.make_doc(text))
    doc = guiding(text)
    guide = read_guide(doc)
    assert guide.label_names == parser.label_data["labels"]
    assert guide.tag_names == parser.label_data["tags"]
    for numbers, shares, expected in (
        (guide.heads, guide.head_probs, posterior.heads),
        (guide.tags, guide.tag_probs, posterior.tags),
    ):
        assert (shares[:, 0] > 0.0).tolist() == [not token.is_space for token in doc]
        there = shares > 0.0
        right = np.take_along_axis(expected, np.where(there, numbers, 0), axis=1)
        # The guide drops improbable alternatives and stores probabilities in half precision.
        left_out = 1.0 - shares.sum(axis=1, keepdims=True, dtype=np.float64)
        assert np.all((shares <= right + 1e-4)[there])
        assert np.all((shares >= right - left_out - 1e-4)[there])
    roots = guide.heads == np.arange(len(doc))[:, None]
    assert np.all(guide.head_labels[roots] == -1)
    assert np.all((guide.head_labels >= 0)[(guide.head_probs > 0.0) & ~roots])


def test_writing_guides_does_not_change_the_parse(toy, guiding, annotation):
    without = toy.copy(guiding, guides=False)
    for text in TEXTS:
        assert annotation(without(text)) == annotation(guiding(text))
        assert without(text)._.guide is None


def test_blocks_read_the_guides_that_a_parser_writes(toy, guiding):
    encoder = toy.parser(guiding).joint.encoder
    doc = guiding(TEXTS[0])
    blocks, words = encode_docs([doc], encoder, given_tags=False)
    assert len(blocks.offsets) == 3
    place = words.layout
    found = block_guides([doc], place, encoder.labels, encoder.tags, reader="parser")
    guide, of_block = read_guide(doc), np.repeat(np.arange(2), np.diff(place.offsets))
    for word, (token, block) in enumerate(zip(place.token, of_block)):
        inside = place.token[place.offsets[block] : place.offsets[block + 1]]
        read = [
            (token if head == -1 else inside[head], probability)
            for head, probability in zip(found.heads[word], found.head_probability[word])
            if probability > 0.0
        ]
        assert read == [
            (head, probability)
            for head, probability in zip(guide.heads[token], guide.head_probs[token])
            if probability > 0.0 and head in inside
        ]
