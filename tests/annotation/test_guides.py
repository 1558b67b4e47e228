"""Guides: a parser's beliefs as other components read them; mismatched guides are rejected."""

from dataclasses import asdict, fields

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_hpyp.annotation.arrays import HEADS, TAGS
from spacy_hpyp.annotation.encoding import Layout, encode_docs
from spacy_hpyp.annotation.guides import Guide, block_guides, read_guide, write_guide

LABELS = {"det": 0, "nsubj": 1, "obl": 2}
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


def a_doc(vocab=None):
    doc = Doc(vocab or Vocab(), words=["the", "dog", " ", "sleeps", "."])
    write_guide(doc, guide())
    return doc


def layout(*blocks, docs=1):
    """The layout of blocks of words, all of them in the first of some Docs."""
    token = np.concatenate([np.empty(0, dtype=np.int64), *blocks]).astype(np.int64)
    offsets = np.cumsum([0, *map(len, blocks)]).astype(np.int64)
    return Layout(token, np.array([0, *[len(token)] * docs]), offsets)


def same(one, other):
    return all(
        np.array_equal(getattr(one, each.name), getattr(other, each.name)) for each in fields(Guide)
    )


def test_a_guide_for_another_document_length_is_rejected():
    doc = Doc(Vocab(), words=["the", "dog"])
    write_guide(doc, guide())
    with pytest.raises(ValueError, match="is about 5 tokens, but the document has 2"):
        read_guide(doc)
    doc = spacy.blank("en")("a b c d e")
    write_guide(doc, guide())
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    with pytest.raises(
        ValueError, match=r"is about 5 tokens, but the document has 4.*parse it again"
    ):
        read_guide(doc)


def test_block_guides_use_the_readers_label_and_tag_numbers():
    found = block_guides([a_doc()], layout([0, 1, 3, 4]), LABELS, TAG_NUMBERS, reader="parser")
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
    labels = {**LABELS, "obl||nsubj": 3}
    found = block_guides([a_doc()], layout([0, 1, 3, 4]), labels, TAG_NUMBERS, reader="parser")
    assert found.head_labels[3].tolist() == [-1, 3, -1, -1]


def test_heads_outside_the_block_are_dropped_and_the_others_move_up():
    found = block_guides([a_doc()], layout([0, 1], [3, 4]), LABELS, TAG_NUMBERS, reader="parser")
    assert found.heads[:, :2].tolist() == [[1, -1], [-1, -1], [-1, 1], [0, -1]]
    np.testing.assert_array_equal(
        found.head_probability[:, :2], np.float32([[0.9, 0.0], [0.3, 0.0], [1.0, 0.0], [0.5, 0.0]])
    )
    assert found.head_labels[:, :2].tolist() == [[0, -1], [-1, -1], [-1, 2], [-1, -1]]


def test_guides_in_one_batch_may_differ_in_names_and_columns():
    doc, wide, two = a_doc(), a_doc(), Doc(Vocab(), words=["a", "b"])
    wider = asdict(guide())
    for name, value in wider.items():
        if isinstance(value, np.ndarray):
            wider[name] = np.pad(
                value, ((0, 0), (0, 4)), constant_values=0 if value.dtype == np.float32 else -1
            )
    # The same guide with its names in reverse order.
    for numbers, names in (("head_labels", "label_names"), ("tags", "tag_names")):
        wider[names] = wider[names][::-1]
        wider[numbers] = np.where(
            wider[numbers] == -1, -1, len(wider[names]) - 1 - wider[numbers]
        ).astype(np.int32)
    wide._.guide = wider
    write_guide(
        two,
        Guide(
            **{
                name: v[3:] * 0 if isinstance(v, np.ndarray) else v
                for name, v in vars(guide()).items()
            }
        ),
    )
    places = Layout(
        np.array([0, 1, 3, 4, 0, 1, 0, 1, 3, 4]), np.array([0, 4, 6, 10]), np.array([0, 4, 6, 10])
    )
    found = block_guides([doc, two, wide], places, LABELS, TAG_NUMBERS, reader="parser")
    alone = block_guides([doc], layout([0, 1, 3, 4]), LABELS, TAG_NUMBERS, reader="parser")
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
        assert [bool(share > 0.0) for share in shares[:, 0]] == [
            not token.is_space for token in doc
        ]
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
    parser = toy.parser(guiding)
    doc = guiding(TEXTS[0])
    blocks, place = encode_docs([doc], parser.joint.encoder, given_tags=False)
    assert len(blocks.offsets) == 3
    found = block_guides(
        [doc], place, parser.joint.encoder.labels, parser.joint.encoder.tags, reader="parser"
    )
    guide = read_guide(doc)
    for word, (token, start, end) in enumerate(
        zip(
            place.token,
            np.repeat(place.offsets[:-1], np.diff(place.offsets)),
            np.repeat(place.offsets[1:], np.diff(place.offsets)),
        )
    ):
        expected = [
            (token if head == -1 else place.token[start + head], float(probability))
            for head, probability in zip(found.heads[word], found.head_probability[word])
            if probability > 0.0
        ]
        wanted = [
            (int(head), float(probability))
            for head, probability in zip(guide.heads[token], guide.head_probs[token])
            if probability > 0.0 and head in place.token[start:end]
        ]
        assert expected == wanted
