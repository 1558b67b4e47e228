"""Word classes as data of a pipeline: read before initialization, saved with it, and read by its
components.
"""

from unicodedata import normalize

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hpyp.pipeline.word_classes import create_word_classes
from spacy_hpyp.text.word_classes import classes_in

LINES = [
    *(f"00\t{noun}\t9" for noun in ("dog", "cat", "axolotl")),
    *(f"01\t{verb}\t9" for verb in ("eats", "naps", "zuzzes")),
]
TREES = [("dog", "eats"), ("cat", "naps")]
#: Words are known only by their class.
BY_CLASS = {"min_count": 100, "unknown_words": {"@misc": "spacy-hpyp.OneUnknownWord.v1"}}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "classes.txt"
    path.write_text("\n".join([*LINES, "1\tthe\t20"]) + "\n", encoding="utf8")
    return path


def pipeline():
    nlp = spacy.blank("en")
    words = {**BY_CLASS, "places": 2**12, "templates": [["word"], ["class"]]}
    nlp.add_pipe("easy_first_tagger", config={"model": words})
    arcs, labels = [["l.class", "r.class"], ["l.word"], ["l.tag"]], ["child.class:2", "child.word"]
    trees = {"arcs": arcs, "labels": [[each] for each in labels]}
    trees |= {"arc_places": 2**12, "label_places": 2**12, **BY_CLASS}
    nlp.add_pipe("easy_first_parser", config={"folds": 0, "model": trees})
    return nlp


def examples(nlp):
    for pair in TREES * 5:
        words, tree = ["the", *pair], {"heads": [1, 2, 2], "deps": ["det", "nsubj", "ROOT"]}
        doc = Doc(nlp.vocab, words=words, tags=[*"DNV"], **tree)
        yield Example(Doc(nlp.vocab, words=words), doc)


def reading(path):
    """What a config has to read classes by."""
    return {"@callbacks": "spacy-hpyp.WordClasses.v1", "path": path and str(path)}


def trained(path):
    nlp = pipeline()
    nlp.config["initialize"]["before_init"] = reading(path)
    nlp.initialize(lambda: list(examples(nlp)))
    for _ in range(8):
        nlp.update(list(examples(nlp)))
    return nlp


def found(nlp, *words):
    return [(token.tag_, token.head.i, token.dep_) for token in nlp(Doc(nlp.vocab, words=words))]


def test_unseen_words_are_known_by_their_class(file):
    nlp = trained(file)
    expected = [("D", 1, "det"), ("N", 2, "nsubj"), ("V", 2, "ROOT")]
    assert found(nlp, "the", "axolotl", "zuzzes") == expected
    doc = nlp.make_doc("the axolotl quux")
    assert [token._.word_class for token in doc] == ["1", "00", ""]


def test_templates_that_read_classes_are_left_out_without_classes(file):
    nlp = trained(None)
    for name, model in (("easy_first_tagger", "classifier"), ("easy_first_parser", "parser")):
        assert not getattr(nlp.get_pipe(name), model).is_classed
        assert getattr(trained(file).get_pipe(name), model).is_classed
    assert nlp("the dog")[0]._.word_class is None
    assert nlp.get_pipe("easy_first_tagger").classifier.attributes == ["word"]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("apostrophe", "'’")
def test_spelling_variants_have_equal_trees(form, apostrophe):
    nlp = spacy.blank("xx")
    nlp.add_pipe("easy_first_tagger", config={"model": {"templates": [["word"], ["suffix2"]]}})
    templates = {"arcs": [["l.word", "r.word"], ["l.tag"]], "labels": [["child.word"]]}
    nlp.add_pipe("easy_first_parser", config={"folds": 0, "model": templates})
    words, deps = ["l'", "été", "près", "d'", "Orléans"], ["a", "ROOT", "c", "d", "e"]
    gold = Doc(nlp.vocab, words=words, tags=[*"DNPPX"], heads=[1, 1, 4, 4, 1], deps=deps)
    training = [Example(Doc(nlp.vocab, words=words), gold)] * 4
    nlp.initialize(lambda: training)
    for _ in range(4):
        nlp.update(training)
    variants = [normalize(form, word.replace("'", apostrophe)) for word in words]
    expected = [("D", 1, "a"), ("N", 1, "ROOT"), ("P", 4, "c"), ("P", 4, "d"), ("X", 1, "e")]
    assert found(nlp, *variants) == expected


def head_outward(path):
    """A head-outward parser, with classes or without, that knows words only by their class."""
    nlp = spacy.blank("en")
    lists = {
        "tag": [["direction", "parent.class", "sibling.class:8"]],
        "word": [["child.tag", "parent.class"], ["parent.class:2"]],
    }
    nlp.add_pipe("head_outward_parser", config={"model": {**BY_CLASS, **lists}})
    create_word_classes(path)(nlp)
    nlp.initialize(lambda: list(examples(nlp)))
    nlp.update(list(examples(nlp)))
    return nlp


def test_a_head_outward_parser_knows_unknown_words_by_their_class(file, tmp_path):
    nlp = head_outward(file)

    def parsed(nlp, *words):
        # Words are uncased, and raw text need not contain them in lower case.
        doc = nlp(Doc(nlp.vocab, words=words, tags=["D", "N", "V"]))
        return [(token.head.i, token._.head_prob) for token in doc], doc._.log_prob

    found = parsed(nlp, "the", "axolotl", "zuzzes")
    assert found == parsed(nlp, "the", "dog", "eats") != parsed(nlp, "the", "quux", "eats")
    assert [head for head, _ in found[0]] == [1, 2, 2]
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert parsed(loaded, "the", "axolotl", "zuzzes") == found
    loaded.update(list(examples(loaded)))
    model = head_outward(None).get_pipe("head_outward_parser").head_outward
    experts = {name: model.conditionals[name].experts for name in ("tag", "word")}
    assert experts == {"tag": (("direction",),), "word": (("child.tag",),)}


#: Nouns, names and verbs, some of them not in the toy treebank.
RAW = {"00": "dog cat axolotl", "010": "Zenobia Kim Ada", "10": "zuzzes naps"}
TRANSITION = "s1.tag s2.tag s1.class, s1.class:2 s2.tag, s2.class s1.tag"
EXPERTS = {
    "transition": [context.split() for context in TRANSITION.split(", ")],
    "label": [["next.direction", "s1.tag", "s2.tag"]],
    "tag": [["s1.tag", "s2.tag"], ["w1.tag", "w1.class", "w2.class"]],
    "word": [["next.tag", "s1.tag", "s1.word"], ["next.tag", "w1.class"]],
}


def classed(toy, path):
    """A generative parser, with classes or without."""
    return toy.train(untrained(toy, path), toy.sentences())


def untrained(toy, path=None):
    """The same before training. Words are known only by their class."""
    nlp = toy.nlp(**EXPERTS, spelling=True, seating="kneser-ney", min_count=100, min_class_count=1)
    create_word_classes(path)(nlp)
    return nlp


@pytest.fixture(scope="module")
def file_of_raw_text(tmp_path_factory):
    path = tmp_path_factory.mktemp("classes") / "classes.txt"
    rows = [(number, word) for number, words in RAW.items() for word in words.split()]
    lines = [f"{number}\t{word}\t{9 + i}\n" for i, (number, word) in enumerate(rows)]
    path.write_text("".join(lines), encoding="utf8")
    return path


@pytest.fixture(scope="module")
def generative(toy, file_of_raw_text):
    """A generative parser with classes; tests do not change it."""
    return classed(toy, file_of_raw_text)


def test_a_generative_parser_knows_unknown_words_by_their_class(toy, generative):
    vocabulary = toy.parser(generative).joint.vocabulary
    dog, axolotl, quux = vocabulary.numbers(["dog", "axolotl", "quux"])
    assert dog == axolotl != quux
    assert vocabulary.name(dog) == "<@00>"
    doc = generative("the axolotl sees Zenobia .")
    assert doc[1].tag_ == generative("the dog sees Zenobia .")[1].tag_
    assert all(token._.log_prob < 0.0 for token in doc)


def test_a_loaded_generative_parser_finds_its_classes_in_the_vocabulary(toy, generative, tmp_path):
    generative.to_disk(tmp_path)
    loaded = spacy.load(tmp_path).from_disk(tmp_path)
    assert toy.parser(loaded).joint.classes is classes_in(loaded.vocab)
    text = "the axolotl sees Zenobia . Zuzzes near a quux"
    found, expected = (
        [(t.tag_, t.dep_, t.head.i, t._.log_prob) for t in nlp(text)]
        for nlp in (loaded, generative)
    )
    assert found == expected
    loaded.update(toy.examples(loaded, toy.sentences()))
    assert toy.parser(loaded).generate(3, seed=1)
    data = generative.get_pipe("hpyp_parser").to_bytes(exclude=["vocab"])
    other = untrained(toy)
    other.get_pipe("hpyp_parser").from_bytes(data)
    with pytest.raises(ValueError, match="reads classes of words, but the pipeline has none"):
        other(text)


def test_a_sourced_generative_parser_finds_the_classes_of_the_new_config(
    toy, generative, file_of_raw_text, tmp_path
):
    generative.to_disk(tmp_path)
    config = {
        "nlp": {"lang": "en", "pipeline": ["hpyp_parser"]},
        "components": {"hpyp_parser": {"source": str(tmp_path)}},
        "initialize": {"before_init": reading(file_of_raw_text)},
    }
    # SpaCy leaves out the tables of the vocabulary when it sources a component.
    taken = spacy.util.load_model_from_config(config, auto_fill=True)
    with taken.select_pipes(enable=[]):
        taken.initialize()
    text = "the axolotl sees Zenobia . Zuzzes near a quux"
    found, expected = (
        [(t.tag_, t.head.i, t._.log_prob) for t in nlp(text)] for nlp in (taken, generative)
    )
    assert found == expected


def test_a_generative_parser_rejects_classes_other_than_those_of_training(
    toy, generative, tmp_path
):
    generative.to_disk(tmp_path)
    other = tmp_path / "other.txt"
    other.write_text("0\tdog\t3\n1\tnaps\t4\n", encoding="utf8")
    with pytest.raises(ValueError, match="learned with other classes"):
        toy.parser(untrained(toy, other)).from_disk(tmp_path / "hpyp_parser", exclude=["vocab"])
    # Compiled code never reads missing classes.
    bare = toy.parser(untrained(toy)).from_disk(tmp_path / "hpyp_parser", exclude=["vocab"])
    message = "The model reads classes of words, but the pipeline has none"
    with pytest.raises(ValueError, match=message):
        _ = bare.joint.frozen
