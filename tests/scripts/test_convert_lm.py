"""The form for language models: trees without punctuation, one word for numbers and one for rare
words.
"""

import random
from pathlib import Path

import pytest
from convert_lm import Sentence, convert, frequent_words, limit, read, simplify

from spacy_hpyp.treebanks.conllu import ConlluWord


def words(*rows):
    """Words from form, tag, head and label. Tags after a slash are universal."""
    made = []
    for form, tag, head, label in rows:
        upos, xpos = (tag[1:], "_") if tag.startswith("/") else ("_", tag)
        made.append(ConlluWord(form, upos, xpos, head, label))
    return Sentence(made)


def simplified(sentence):
    return [
        (word.form, word.head, word.deprel) for each in simplify([sentence]) for word in each.words
    ]


def test_punctuation_is_dropped_and_its_dependents_move_to_its_head():
    sentence = words(
        ("``", "``", 3, "P"),
        ("Boats", "NNS", 3, "SUB"),
        ("float", "VBP", 0, "ROOT"),
        (",", ",", 3, "P"),
        (";", ":", 4, "P"),
        ("gulls", "NNS", 5, "DEP"),
        (".", ".", 3, "P"),
    )
    assert simplified(sentence) == [("boats", 2, "SUB"), ("float", 0, "ROOT"), ("gulls", 2, "DEP")]


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ((".", "/PUNCT", 1, "punct"), False),
        ((".", "/PUNCT", 1, "dep"), False),
        ((".", "_", 1, "punct:x"), False),
        (("-LRB-", "-LRB-", 1, "P"), False),
        (("-", "HYPH", 1, "dep"), False),
        (("dot", ".", 1, "P"), False),
        ((".", "/X", 1, "dep"), True),
        (("'", "POS", 1, "NMOD"), True),
    ],
)
def test_punctuation_is_recognised_by_tag_or_label(word, kept):
    sentence = words(("go", "VB", 0, "ROOT"), word)
    assert len(simplified(sentence)) == 1 + kept


def test_universal_tags_take_precedence_over_other_tags():
    rows = ("go", "VERB", "VB", 0, "root"), ("and", "CCONJ", ",", 1, "cc")
    assert len(simplified(Sentence([ConlluWord(*row) for row in rows]))) == 2


@pytest.mark.parametrize(
    ("form", "tag", "written"),
    [
        ("Ten", "CD", "ten"),
        ("million", "/NUM", "million"),
        ("1980s", "CD", "<num>"),
        ("5M", "/NUM", "<num>"),
        ("1,000", "NN", "<num>"),
        ("1\\/2", "_", "<num>"),
        ("$", "$", "<num>"),
        ("%", "NN", "<num>"),
        ("C$", "$", "<num>"),
        ("#", "/SYM", "<num>"),
        ("&", "CC", "&"),
        ("'", "POS", "'"),
        ("1980s", "NNS", "1980s"),
        ("B-52", "NN", "b-52"),
        ("Éclair", "NN", "éclair"),
        ("<unk>", "NN", "<unk>"),
        ("<num>", "NN", "<num>"),
    ],
)
def test_numbers_and_symbols_become_one_word_and_others_are_lower_cased(form, tag, written):
    assert simplified(words((form, tag, 0, "ROOT"))) == [(written, 0, "ROOT")]


def test_the_word_with_the_largest_subtree_replaces_a_punctuation_root():
    sentence = words(
        ("One", "DT", 2, "dep"),
        (":", ":", 0, "root"),
        ("the", "DT", 4, "det"),
        ("boat", "NN", 2, "parataxis"),
        ("!", ".", 2, "punct"),
        ("sinks", "VBZ", 5, "dep"),
    )
    kept = [("one", 3, "dep"), ("the", 3, "det"), ("boat", 0, "root"), ("sinks", 3, "dep")]
    assert simplified(sentence) == kept


def test_a_root_is_never_labelled_as_punctuation():
    sentence = words((".", ".", 0, "punct"), ("yes", "UH", 1, "discourse"))
    assert simplified(sentence) == [("yes", 0, "root")]


def test_empty_sentences_are_dropped_and_the_next_one_begins_the_document():
    empty = Sentence([ConlluWord(".", "PUNCT", "_", 0, "root")], ("newdoc id = d", "sent_id = 1"))
    other = Sentence([ConlluWord("go", "VERB", "_", 0, "root")], ("sent_id = 2",))
    (found,) = simplify([empty, other])
    assert found.comments == ("newdoc id = d", "sent_id = 2")


def projective(heads):
    spans = [sorted((i, head)) for i, head in enumerate(heads, start=1)]
    return not any(a < c < b < d for a, b in spans for c, d in spans)


def random_heads(generator, first, last, above, heads):
    """Heads of a random projective tree over the places from `first` to `last`, below another
    word.
    """
    if first <= last:
        root = generator.randint(first, last)
        heads[root] = above
        random_heads(generator, first, root - 1, root, heads)
        random_heads(generator, root + 1, last, root, heads)


def test_projective_trees_stay_projective():
    generator = random.Random(15)
    for _ in range(300):
        size = generator.randint(1, 12)
        heads = {}
        random_heads(generator, 1, size, 0, heads)
        tags = [generator.choice(["NN", ","]) for _ in range(size)]
        sentence = words(*((f"w{i}", tags[i - 1], heads[i], "dep") for i in range(1, size + 1)))
        left = simplified(sentence)
        kept = [f"w{i}" for i, tag in enumerate(tags, 1) if tag == "NN"]
        assert [form for form, _, _ in left] == kept
        found = [head for _, head, _ in left]
        assert found.count(0) == bool(found)
        assert projective(found)


def test_the_vocabulary_has_the_most_frequent_words_and_two_placeholders():
    sentences = [
        words(*((form, "NN", min(i, 1), "dep") for i, form in enumerate(text.split())))
        for text in ("b b a", "d c c c <num>")
    ]
    vocabulary = frequent_words(sentences, 5)
    assert vocabulary == {"<num>", "<unk>", "c", "b", "a"}
    limited = limit(sentences, vocabulary)
    texts = [" ".join(word.form for word in each.words) for each in limited]
    assert texts == ["b b a", "<unk> c c c <num>"]
    # Conversion is idempotent.
    again = simplify(limited)
    assert limit(again, frequent_words(again, 5)) == limited


def test_parts_use_the_training_vocabulary_and_halves_cover_the_training_part(tmp_path):
    sample = Path(__file__).parents[2] / "assets" / "sample" / "en_sample-ud"
    convert(str(sample), str(tmp_path / "lm"))
    train, dev, half, text = (
        read(tmp_path / f"lm-{part}.conllu") for part in ("train", "dev", "half", "text")
    )
    known = {word.form for sentence in train for word in sentence.words} | {"<unk>"}
    assert {word.form for sentence in dev for word in sentence.words} <= known
    assert len(half) + len(text) == len(train)
    assert abs(len(half) - len(text)) <= 10
