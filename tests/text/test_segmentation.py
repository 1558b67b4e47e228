"""Segmentation of any text into tokens and sentences as in a treebank, and reproducibly."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hpyp.text.folding import fold
from spacy_hpyp.text.segmentation import Segmenter, Segments


def annotated(text, tokens, last, cuts=()):
    starts, ends = np.array(tokens, dtype=np.int64).reshape(-1, 2).T
    cuts = np.array(cuts, dtype=np.int64)
    return text, Segments(starts, ends, cuts, np.array(last, dtype=np.float32))


def text_of(sentences, between=" "):
    """A text of sentences with tokens separated by spaces; "+" stands for no space, "_" for a space
    within a token.
    """
    text, tokens, last = "", [], []
    for sentence in sentences:
        text += between if text else ""
        for i, token in enumerate(sentence.split()):
            text += " " if i and not token.startswith("+") else ""
            token = token.removeprefix("+").replace("_", " ")
            tokens.append((len(text), len(text) + len(token)))
            text += token
            last.append(False)
        last[-1] = True
    return annotated(text, tokens, last)


NOUNS = ("ferry", "harbour", "captain", "bread", "island", "rope", "storm", "light")
SENTENCES = [
    sentence
    for i, noun in enumerate(NOUNS)
    for sentence in (
        f"The {noun} can +not wait +.",
        f"Mr. Lind +, who saw the {noun} +'s keeper +, left at {i + 1} p.m. +.",
        f"Is 1_00{i} a {noun} +?",
        f"She can see ( +the {noun} +) +!",
        f"A {noun} +, +a {noun} +.",
    )
]
TRAINING = [text_of(SENTENCES[i::5]) for i in range(5)]


@pytest.fixture(scope="module")
def segmenter():
    return Segmenter.learn(TRAINING)


def found(segments: Segments, text: str):
    tokens = [text[a:b] for a, b in zip(segments.starts.tolist(), segments.ends.tolist())]
    return tokens, np.flatnonzero(segments.probability > 0.5).tolist()


def test_the_training_treebank_is_reproduced(segmenter):
    for text, gold in TRAINING:
        segments = segmenter.segment(text)
        for name in ("starts", "ends", "cuts"):
            assert getattr(segments, name).tolist() == getattr(gold, name).tolist()
        assert np.array_equal(segments.probability > 0.5, gold.probability)


def test_unseen_words_are_split_like_seen_ones(segmenter):
    text = "The willow cannot wait. Mr. Voss, the anchor's keeper, left at 9 p.m. Is 1 007 a buoy?"
    tokens, last = found(segmenter.segment(text), text)
    assert tokens[:5] == ["The", "willow", "can", "not", "wait"]
    assert "'s" in tokens
    assert "1 007" in tokens
    assert last[-1] == len(tokens) - 1


def test_words_are_found_without_spaces():
    words = np.array("私 は 魚 を 見る 犬 が 走る 新鮮 な 海 へ".split())
    chosen = np.random.default_rng(0).choice(words, size=(60, 6))
    texts = [text_of([" +".join(sentence)]) for sentence in chosen]
    text = "犬は新鮮な魚を見る"
    tokens, _ = found(Segmenter.learn(texts).segment(text), text)
    assert tokens == "犬 は 新鮮 な 魚 を 見る".split()


def test_tokens_are_cut_into_words():
    texts = []
    for a, b in product("ferry captain harbour light storm rope".split(), repeat=2):
        bounds = [(0, 2 + len(a)), (3 + len(a), 5 + len(a) + len(b))]
        texts.append(annotated(f"pe{a} pe{b}", bounds, [False, True], [2, 5 + len(a)]))
    segments = Segmenter.learn(texts).segment("peisland perope")
    assert segments.ends.tolist() == [8, 15]
    assert segments.cuts.tolist() == [2, 11]


@pytest.mark.parametrize("gap", ["\n\n", "\t", "\n", "  "])
def test_tokens_do_not_cross_line_ends_or_tabs(segmenter, gap):
    text = f"Is 1{gap}004 a rope?"
    assert not any(gap in token for token in found(segmenter.segment(text), text)[0])


def test_white_space_in_tokens_has_the_same_neighbours_as_in_training(segmenter):
    text = "The 1 004 lights can 1 wait, 1 ferry 3, 4."
    assert [token for token in found(segmenter.segment(text), text)[0] if " " in token] == ["1 004"]


def test_tokens_do_not_depend_on_later_words(segmenter):
    text = "Mr. Lind, the 'willow's keeper, left at 9 p.m. Is 3 a buoy—isn't it? 'Mr. cannot etc.'"
    tokens, _ = found(segmenter.segment(text), text)
    assert "—" in tokens
    for end in (i for i, character in enumerate(text) if character == " "):
        before, _ = found(segmenter.segment(text[:end]), text[:end])
        assert before == tokens[: len(before)]


@pytest.mark.parametrize(
    "variant", ["The ferry’s", "The fer\xadry's", "The\u200b ferry's", "The\xa0ferry's"]
)
def test_spelling_variants_make_no_difference(segmenter, variant):
    texts = ("The ferry's light can wait.", f"{variant} light can wait.")
    (plain, _), (tokens, _) = (found(segmenter.segment(text), text) for text in texts)
    assert [*map(fold, tokens)] == plain


@pytest.mark.parametrize(
    ("straight", "curly"), [('"The ferry." "', "“The ferry.”\xa0»"), ("'The'", "‘The’")]
)
def test_unseen_quotes_are_read_as_plain_quotes(segmenter, straight, curly):
    tokens = [[*map(fold, found(segmenter.segment(text), text)[0])] for text in (straight, curly)]
    assert tokens[0] == tokens[1]


@pytest.mark.parametrize("cluster", ["e\u0301", "👩\u200d👩\u200d👧", "நீ"])
def test_no_token_ends_inside_a_grapheme_cluster(segmenter, cluster):
    text = f"The {cluster}{cluster}x{cluster} can wait."
    begins = [at for at in range(len(text)) if text.startswith(cluster, at)]
    inside = {at + i for at in begins for i in range(1, len(cluster))}
    assert inside.isdisjoint(segmenter.segment(text).ends.tolist())


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_every_character_except_white_space_is_in_one_token(segmenter, text):
    segments = segmenter.segment(text)
    end = 0
    for a, b in zip(segments.starts.tolist(), segments.ends.tolist()):
        assert end <= a < b
        assert not text[end:a].strip()
        assert not text[a].isspace()
        assert not text[b - 1].isspace()
        end = b
    assert not text[end:].strip()
    if len(segments.probability):
        assert segments.probability[-1] == 1.0
    assert ((segments.probability >= 0) & (segments.probability <= 1)).all()


def test_a_text_without_spaces_or_sentence_ends_is_segmented(segmenter):
    texts = ["x" * 10**6, "a " * 500_000, "\u200b" * 10_000, " \n\t" * 1000, "\U0001f600" * 1000]
    for text in texts:
        segments = segmenter.segment(text)
        assert len(segments.starts) == len(segments.ends) == len(segments.probability)


def test_the_seed_determines_the_weights():
    one, same, other = (Segmenter.learn(TRAINING, seed=seed).weights.weight for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


VERBS, NOTHING = "run gain lean learn burn moan".split(), "ban fan span clan sedan organ".split()
CLASSES = dict.fromkeys((*VERBS, "win", "turn"), "00000")
CLASSES |= dict.fromkeys((*NOTHING, "pan", "plan"), "11111")


@pytest.fixture(scope="module")
def classed_segmenter():
    sentences = [f"They {verb} +ne {noun}ne +." for verb, noun in zip(VERBS, NOTHING)]
    return Segmenter.learn([text_of(sentences)] * 4, CLASSES)


def test_words_are_split_like_others_of_their_class(classed_segmenter):
    text = "They winne panne. They turnne planne."
    tokens, _ = found(classed_segmenter.segment(text), text)
    assert tokens == ["They", "win", "ne", "panne", ".", "They", "turn", "ne", "planne", "."]


def test_tokens_are_learned_when_sentences_are_unknown(segmenter):
    nothing = [np.full(len(gold.ends), np.nan) for _, gold in TRAINING]
    unknown = [(text, gold._replace(probability=p)) for (text, gold), p in zip(TRAINING, nothing)]
    text, gold = TRAINING[0]
    assert Segmenter.learn(unknown).segment(text).ends.tolist() == gold.ends.tolist()


def test_a_loaded_segmenter_decides_identically(segmenter, classed_segmenter):
    text = "Neither the willow nor the Mr. Lind can turnne planne (at all)!"
    for learned in (segmenter, classed_segmenter):
        again = Segmenter.from_dict(learned.to_dict())
        assert all(map(np.array_equal, again.segment(text), learned.segment(text)))


def test_learning_without_tokens_raises_an_error():
    with pytest.raises(ValueError, match="no tokens"):
        Segmenter.learn([annotated("", [], [])])
