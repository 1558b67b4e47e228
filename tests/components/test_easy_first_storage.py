"""Saving and loading easy-first parsers: nothing is lost, damage is seen, and a failure leaves what was there
before.
"""

import os
import random
from functools import partial

import command_line
import damage
import numpy as np
import pytest
import spacy
import srsly
from damage import Victim, files_below, interrupt, no_space
from spacy.training import Example
from test_easy_first_parser import (
    GUIDED,
    SMALL,
    annotation,
    guided_examples,
    parser_of,
    pipeline,
    random_sentences,
)
from tree_parsers import TEXT, assert_trees, copy_of, train

from spacy_hpyp.easy_first.storage import pack_table, unpack_table
from spacy_hpyp.language_model.ngram import train_ngram_model
from spacy_hpyp.storage.arrays import pack_integers, unpack_integers
from spacy_hpyp.training import confidence


@pytest.fixture(scope="module", autouse=True)
def holding_out():
    """Sentences are held out, as from a treebank that is not small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confidence, "_CROSS_FITTED_BELOW", 0)
        yield


@pytest.fixture(scope="module")
def small(toy):
    """A small trained pipeline in the middle of a pass; tests do not change it."""
    nlp = pipeline()
    sentences = toy.sentences(100)
    train(toy, nlp, sentences, rounds=2)
    nlp.update(toy.examples(nlp, sentences[:20]))
    progress = parser_of(nlp).parser.progress
    assert progress.visited
    assert progress.held_out
    assert progress.tags
    assert progress.counts
    return nlp


@pytest.fixture(scope="module")
def other(toy, small):
    """A copy that has learned more; tests do not change it."""
    nlp = copy_of(small)
    nlp.update(toy.examples(nlp, toy.sentences(100)[20:60]))
    return nlp


@pytest.fixture(scope="module")
def model_file(small):
    """Its model without a checksum: what is wrong with it has to be seen by itself."""
    return parser_of(small).model.to_bytes()


edited = partial(damage.edited, name="tree_model")


@pytest.fixture(scope="module")
def only_victim(toy, small):
    nlp = copy_of(small)

    def work():
        problem = None
        assert_trees(nlp(TEXT))
        try:
            # Over the end of a pass, so that confidence is learned.
            nlp.update(toy.examples(nlp, toy.sentences(100)))
        except ValueError as error:
            problem = str(error)
        assert problem is None or "'easy_first_parser' has the tags of another sentence" in problem
        assert_trees(nlp(TEXT))

    return Victim(nlp, parser_of(nlp), lambda: annotation(nlp(TEXT)), work)


# Round trips


def test_a_compact_pipeline_is_smaller_parses_much_the_same_and_learns_no_more(toy, small, tmp_path):
    small.to_disk(tmp_path / "whole")
    command_line.run("hpyp", "compact", tmp_path / "whole", tmp_path / "compact")
    whole, compact = (tmp_path / name / "easy_first_parser" / "model" for name in ("whole", "compact"))
    assert compact.stat().st_size < 0.7 * whole.stat().st_size
    nlp = spacy.load(tmp_path / "compact")
    texts = [
        " ".join(token.text for token in example.reference)
        for example in toy.examples(small, toy.sentences(30))
    ]
    same = [a.head.i == b.head.i for text in texts for a, b in zip(small(text), nlp(text))]
    assert np.mean(same) > 0.95
    with pytest.raises(ValueError, match="hpyp compact"):
        nlp.update(toy.examples(nlp, toy.sentences(20)))
    done = command_line.run("hpyp", "compact", tmp_path / "whole", tmp_path / "whole", exit_code=1)
    assert "is the pipeline itself" in " ".join(done.output.split())


def test_bytes_give_the_same_pipeline(small):
    loaded = copy_of(small)
    assert annotation(loaded(TEXT)) == annotation(small(TEXT))
    assert loaded.to_bytes() == small.to_bytes()
    assert parser_of(loaded).label_data == parser_of(small).label_data


def test_directory_gives_the_same_pipeline(small, tmp_path):
    small.to_disk(tmp_path / "first")
    loaded = spacy.load(tmp_path / "first")
    assert annotation(loaded(TEXT)) == annotation(small(TEXT))
    loaded.to_disk(tmp_path / "second")
    first, second = (tmp_path / name / "easy_first_parser" / "model" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    assert loaded.to_bytes() == small.to_bytes()


def test_component_can_be_stored_by_itself(small, tmp_path):
    parser = parser_of(small)
    by_bytes, by_disk = copy_of(small), copy_of(small)
    for nlp in (by_bytes, by_disk):
        parser_of(nlp).from_bytes(parser_of(pipeline()).to_bytes(exclude=["vocab"]))
        assert not parser_of(nlp).is_trained
    parser_of(by_bytes).from_bytes(parser.to_bytes())
    parser.to_disk(tmp_path)
    parser_of(by_disk).from_disk(tmp_path)
    assert annotation(by_bytes(TEXT)) == annotation(by_disk(TEXT)) == annotation(small(TEXT))


def test_an_untrained_component_can_be_stored(tmp_path):
    pipeline().to_disk(tmp_path)
    with pytest.raises(ValueError, match="'easy_first_tagger' has not been trained"):
        spacy.load(tmp_path)(TEXT)
    with pytest.raises(ValueError, match="'easy_first_parser' has not been trained"):
        parser_of(spacy.load(tmp_path))(spacy.blank("en")(TEXT))


def test_a_guided_parser_is_stored_with_the_guides_of_the_sentences_that_it_holds_out(toy, tmp_path):
    nlp = pipeline(tagger=False, folds=0, **GUIDED)
    examples = guided_examples(toy, nlp, random_sentences(toy, 120, seed=0))
    nlp.initialize(lambda: examples)
    nlp.update(examples[:50])
    held_out = parser_of(nlp).parser.progress.held_out
    assert held_out
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    again = parser_of(loaded).parser.progress.held_out
    assert again.keys() == held_out.keys()
    for key, lesson in held_out.items():
        # How often a word is to be taken for unknown is of no use to them.
        own = lesson._replace(rarity=np.zeros_like(lesson.rarity))
        assert all(map(np.array_equal, own, again[key]))
    for pipe in (nlp, loaded):
        pipe.update(guided_examples(toy, pipe, random_sentences(toy, 120, seed=0))[50:])
    assert parser_of(nlp).parser.progress.passes == 1
    assert parser_of(loaded).to_bytes(exclude=["vocab"]) == parser_of(nlp).to_bytes(exclude=["vocab"])


def test_words_and_labels_of_all_scripts_survive(toy, tmp_path):
    sentence = toy.sentence(["நாய்", "😀", "a\ud7ff"], ["பெயர்", "\u0301", "x"], [1, 1, 1], ["đối", "ROOT", "ö"])
    nlp = pipeline(tagger=False, folds=0)
    nlp.initialize(lambda: [Example(doc, doc) for doc in [toy.doc(nlp.vocab, sentence)] * 3])
    nlp.to_disk(tmp_path)
    assert parser_of(spacy.load(tmp_path)).label_data == parser_of(nlp).label_data
    assert parser_of(spacy.load(tmp_path)).parser.progress.counts == parser_of(nlp).parser.progress.counts


# Damage


def test_flipped_bits_of_a_model_file_are_seen(small, victim, tmp_path):
    parser_of(small).to_disk(tmp_path, exclude=["vocab"])
    data = (tmp_path / "model").read_bytes()
    rng = random.Random(3)
    bits = [*range(30 * 8), *range(8 * len(data) - 8, 8 * len(data)), *rng.sample(range(8 * len(data)), 100)]
    for bit in bits:
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match="model of the component 'easy_first_parser' cannot be read"):
            victim.load(bytes(damaged))
    assert victim.see() == victim.expected


@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_model_file_is_named_in_the_error(small, tmp_path, part):
    small.to_disk(tmp_path)
    file = tmp_path / "easy_first_parser" / "model"
    data = file.read_bytes()
    file.write_bytes(data[: int(part * len(data))])
    with pytest.raises(
        ValueError, match=r"component 'easy_first_parser'.*easy_first_parser.model: .* The file is damaged"
    ):
        spacy.load(tmp_path)


def test_truncated_files_without_a_checksum_are_refused(victim, model_file):
    for part in (0.0, 0.001, 0.1, 0.5, 0.9, 0.999):
        assert victim.refuses(model_file[: int(part * len(model_file))])


def test_a_model_of_something_else_is_refused(toy, victim, small, tmp_path):
    train_ngram_model(
        [sentence.words for sentence in toy.sentences(5)], order=2, sweeps=1, samples=1
    ).to_disk(tmp_path / "model")
    with pytest.raises(ValueError, match="'easy_first_parser' cannot be read"):
        victim.component.from_disk(tmp_path, exclude=["vocab"])
    assert victim.refuses(small.get_pipe("easy_first_tagger").model.to_bytes())
    assert victim.refuses(srsly.msgpack_dumps([1, 2, 3]))


@pytest.mark.parametrize("value", [None, -1, 2, 1.0, "1", []])
def test_another_format_is_refused(victim, model_file, value):
    assert victim.refuses(edited(model_file, edit=lambda inner: inner.update(format=value)))


@pytest.mark.parametrize(
    "path",
    [
        *(
            ["tags"],
            ["words"],
            ["classes"],
            ["tag_counts"],
            ["candidate_tags"],
            ["labels"],
            ["confidence"],
            ["progress"],
        ),
        *(
            [task, part]
            for task in ("arcs", "arc_labels")
            for part in ("clock", "entries", "weights", "sums")
        ),
        *(
            ["progress", name]
            for name in ("sentences", "visited", "passes", "steps", "counts", "tags", "held_out")
        ),
        *(["progress", "counts", name] for name in ("words", "counts")),
        *(
            pytest.param(["progress", "tags", name], marks=pytest.mark.slow)
            for name in ("keys", "lengths", "tags")
        ),
        *(
            pytest.param(["progress", "held_out", name], marks=pytest.mark.slow)
            for name in ("keys", "lengths", "tables")
        ),
    ],
    ids=".".join,
)
def test_parts_that_are_missing_or_of_the_wrong_kind_are_refused(victim, model_file, path):
    *above, last = path

    def holder(inner):
        for name in above:
            inner = inner[name]
        return inner

    def drop(inner):
        del holder(inner)[last]

    # Without confidence a parser has not learned any.
    assert victim.refuses(edited(model_file, edit=drop)) or path == ["confidence"]
    values = [
        -1,
        1.5,
        "text",
        b"",
        {},
        {"width": 1, "length": 1, "data": b""},
        {"width": 1, "length": 10**15, "data": b""},
    ]
    for value in values:
        assert victim.refuses(
            edited(model_file, edit=lambda inner, value=value: holder(inner).update({last: value}))
        ), value


@pytest.mark.parametrize("task", ["arcs", "arc_labels"])
def test_weights_that_are_none_are_refused(victim, model_file, task):
    def change(name, kind, do):
        def edit(inner):
            part = inner[task]
            entries = len(unpack_integers(part["entries"]))
            part[name] = pack_table(do(unpack_table(part[name], kind, (entries, 1))))

        return edited(model_file, edit=edit)

    for name, kind in (("weights", np.float32), ("sums", np.float64)):
        assert not victim.refuses(change(name, kind, lambda table: table))
        assert victim.refuses(
            change(name, kind, lambda table: np.where(table == table.flat[0], np.nan, table))
        )
        assert victim.refuses(change(name, kind, lambda table: table + np.inf))
        assert victim.refuses(change(name, kind, lambda table: table[:-1]))
        assert victim.refuses(change(name, kind, lambda table: np.vstack([table, table[:1]])))
        assert not victim.refuses(change(name, kind, lambda table: table * 0.0))


@pytest.mark.parametrize("task", ["arcs", "arc_labels"])
@pytest.mark.parametrize("value", [0, 1, 100, 2**14, 2**31 - 2])
def test_places_outside_of_a_table_are_refused(victim, model_file, task, value):
    outcomes = 2 if task == "arcs" else len(victim.component.parser.labels)
    size = outcomes * SMALL["arc_places" if task == "arcs" else "label_places"]
    for number in (0, 1, -1):

        def edit(inner, number=number):
            entries = unpack_integers(inner[task]["entries"])
            entries[number] = value
            inner[task]["entries"] = pack_integers(entries)

        entries = unpack_integers(
            srsly.msgpack_loads(srsly.msgpack_loads(model_file)["attrs"][0]["tree_model"])[task]["entries"]
        )
        entries[number] = value
        possible = entries.astype(np.int64).sum() < size and np.all(entries[1:] > 0)
        assert victim.refuses(edited(model_file, edit=edit)) != possible


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e9, None, "x", [1.0]])
def test_impossible_confidence_is_refused(victim, model_file, value):
    for place in range(6):

        def edit(inner, place=place):
            inner["confidence"][place] = value

        assert victim.refuses(edited(model_file, edit=edit))
    assert victim.refuses(
        edited(model_file, edit=lambda inner: inner.update(confidence=inner["confidence"][:-1]))
    )


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (["tags", "lengths"], [0, 1, 5, 2**31 - 2]),
        (["tags", "tags"], [0, 1, 100, 2**31 - 2]),
        (["held_out", "lengths"], [0, 1, 5, 2**31 - 2]),
        (["counts", "counts"], [0, 1, 1000, 2**31 - 2]),
    ],
    ids=lambda each: ".".join(map(str, each)),
)
def test_edited_numbers_of_the_progress_are_refused_or_harmless(victim, model_file, path, values):
    rng = random.Random(str(path))
    for value in values * 2:

        def edit(inner, value=value):
            part = inner["progress"][path[0]]
            numbers = unpack_integers(part[path[1]])
            numbers[rng.randrange(len(numbers))] = value
            part[path[1]] = pack_integers(numbers)

        victim.refuses(edited(model_file, edit=edit))


def test_edited_sentences_that_are_held_out_are_refused_or_harmless(victim, model_file):
    gold = 5
    for value in (-2, -1, 0, 3, 50, 2**31 - 1):
        for place in range(6):

            def edit(inner, value=value, place=place):
                part = inner["progress"]["held_out"]
                n = int(unpack_integers(part["lengths"]).sum())
                table = unpack_table(part["tables"][gold], np.int32, (n, 2))
                table.flat[place] = value
                part["tables"][gold] = pack_table(table)

            refused = victim.refuses(edited(model_file, edit=edit))
            assert refused or -1 <= value < 50
    for number in range(6):
        assert victim.refuses(
            edited(
                model_file,
                edit=lambda inner, number=number: (
                    inner["progress"]["held_out"]["tables"].pop(number) and None
                ),
            )
        ), number


@pytest.mark.parametrize("key", ["candidate_tags", "tag_counts"])
def test_edited_numbers_of_the_vocabulary_are_refused_or_harmless(victim, model_file, key):
    rng = random.Random(key)
    for value in (0, 1, 3, 255, 2**31 - 2):

        def edit(inner, value=value):
            values = unpack_integers(inner[key])
            values[rng.randrange(len(values))] = value
            inner[key] = pack_integers(values)

        victim.refuses(edited(model_file, edit=edit))


@pytest.mark.parametrize(
    "key", ["tags", "words", *(pytest.param(key, marks=pytest.mark.slow) for key in ("labels", "classes"))]
)
@pytest.mark.parametrize("edit", ["shorter", "longer", "empty", "twice", "reversed", "blank", "odd"])
def test_edited_alphabets_are_refused_or_harmless(victim, model_file, key, edit):
    changes = {
        "shorter": lambda names: names[:-1],
        "longer": lambda names: [*names, "new"],
        "empty": lambda names: [],
        "twice": lambda names: [*names[:-1], names[0]],
        "reversed": lambda names: names[::-1],
        "blank": lambda names: [*names[:-1], ""],
        "odd": lambda names: [*names[:-1], "a||b||c"],
    }
    refused = victim.refuses(
        edited(model_file, edit=lambda inner: inner.update({key: changes[edit](inner[key])}))
    )
    if (edit == "twice" and len(victim.component.parser.vocabulary.classes) > 1) or edit == "blank":
        assert refused
    if edit in ("shorter", "longer", "empty") and key != "tags":
        assert refused
    if edit == "odd" and key == "labels":
        assert refused


def test_a_model_of_other_templates_or_tables_is_refused_and_says_so(small, tmp_path):
    parser = parser_of(small)
    for settings in ({"arcs": [["l.word"]]}, {"labels": [["child.tag"]]}):
        with pytest.raises(ValueError, match="its templates are not those of the config"):
            parser_of(pipeline(**settings)).from_bytes(parser.to_bytes())
    small.to_disk(tmp_path)
    for name in SMALL:
        for factor in (2, 0.5):
            config = {"components": {"easy_first_parser": {"model": {name: int(SMALL[name] * factor)}}}}
            with pytest.raises(
                ValueError, match=r"cannot be read from .*model: its places are not those of the config"
            ):
                spacy.load(tmp_path, config=config)


def test_training_after_a_refused_model_goes_on(toy, victim, model_file, other):
    assert victim.refuses(model_file[:-1])
    victim.nlp.update(toy.examples(victim.nlp, toy.sentences(100)[20:60]))
    assert victim.component.to_bytes(exclude=["vocab"]) == parser_of(other).to_bytes(exclude=["vocab"])


# Failures while saving


@pytest.mark.parametrize("failure", [no_space, interrupt])
@pytest.mark.parametrize(
    "call", ["os.replace", "os.fsync", "spacy_hpyp.models.tree_model.TreeModel.to_bytes"]
)
def test_failure_while_saving_leaves_the_previous_model(small, other, tmp_path, monkeypatch, failure, call):
    small.to_disk(tmp_path)
    before = files_below(tmp_path / "easy_first_parser")
    monkeypatch.setattr(call, failure)
    with pytest.raises((OSError, KeyboardInterrupt)):
        parser_of(other).to_disk(tmp_path / "easy_first_parser", exclude=["vocab"])
    monkeypatch.undo()
    assert files_below(tmp_path / "easy_first_parser") == before
    assert annotation(spacy.load(tmp_path)(TEXT)) == annotation(small(TEXT))


def test_first_save_that_fails_leaves_no_file(small, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(OSError, match="No space"):
        parser_of(small).to_disk(tmp_path, exclude=["vocab"])
    assert files_below(tmp_path) == {}
