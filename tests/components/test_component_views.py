"""Frozen views beside the model: predictions from files that are mapped into memory, which are checked before they are used."""

import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spacy
import srsly

from spacy_hpyp.models.seating import Packed
from spacy_hpyp.pools.view import BACK_OFF, EMPTY, FIRST, LIST, ROOM, ROW, WIDTH

TEXT = "the dog sees a cat . Zenobia sleeps near Kim ."
COMPONENT = "hpyp_parser"


@pytest.fixture(scope="module")
def nlp(toy):
    """A trained pipeline; tests do not change it."""
    return toy.trained(toy.sentences(15), **toy.pools)


@pytest.fixture
def folder(nlp, tmp_path):
    """Where it is saved."""
    nlp.to_disk(tmp_path)
    return tmp_path


@pytest.fixture
def unpacked(monkeypatch):
    """How often a seating has been unpacked."""
    calls = []
    original = Packed.unpack
    monkeypatch.setattr(Packed, "unpack", lambda self: calls.append(self) or original(self))
    return calls


def change(folder, name, edit):
    """Edit an array of a view, so that its checksum is the right one again."""
    view = folder / COMPONENT / "view"
    array = np.load(view / f"{name}.npy")
    edit(array)
    np.save(view / f"{name}.npy", array)
    content = srsly.read_json(view / "content.json")
    content["parts"][name] = zlib.crc32(array.reshape(-1).view(np.uint8))
    srsly.write_json(view / "content.json", content)


def test_a_pipeline_that_only_predicts_reads_no_seating(nlp, folder, unpacked, annotation):
    loaded = spacy.load(folder)
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))
    assert not unpacked
    views = loaded.get_pipe(COMPONENT).joint.seating.views
    assert all(isinstance(view.restaurants.base, np.memmap) for view in views.values())
    for name, view in nlp.get_pipe(COMPONENT).joint.seating.views.items():
        for own, mapped in zip(view, views[name]):
            np.testing.assert_array_equal(own, mapped)


def test_the_seating_is_read_when_training_goes_on(nlp, folder, unpacked, toy, annotation):
    other, loaded = toy.copy(nlp), spacy.load(folder)
    unpacked.clear()
    for each in (other, loaded):
        for _ in range(2):
            each.update(toy.examples(each, toy.sentences(15)))
    assert len(unpacked) == 1
    assert annotation(loaded(TEXT)) == annotation(other(TEXT))
    assert loaded.get_pipe(COMPONENT).model.to_bytes() == other.get_pipe(COMPONENT).model.to_bytes()


def test_threads_that_ask_first_find_the_same_seating(folder, unpacked):
    seating = spacy.load(folder).get_pipe(COMPONENT).joint.seating
    with ThreadPoolExecutor(8) as executor:
        found = list(executor.map(lambda _: seating.franchises, range(8)))
    assert all(each is found[0] for each in found)
    assert len(unpacked) == 1


def test_what_has_been_loaded_is_saved_as_it_was(folder, tmp_path_factory, unpacked):
    again = tmp_path_factory.mktemp("again")
    spacy.load(folder).to_disk(again)
    files = sorted(path.relative_to(folder) for path in folder.rglob(f"{COMPONENT}/**/*") if path.is_file())
    assert len(files) == 15
    assert all((again / file).read_bytes() == (folder / file).read_bytes() for file in files)
    assert not unpacked


def test_a_view_of_another_model_is_not_used(nlp, folder, tmp_path_factory, toy, annotation):
    other = tmp_path_factory.mktemp("other")
    toy.copy(nlp).to_disk(other)
    trained = toy.train(toy.copy(nlp), toy.sentences(20, seed=1), sweeps=1)
    trained.to_disk(folder, exclude=["view"])
    assert annotation(spacy.load(folder)(TEXT)) == annotation(trained(TEXT)) != annotation(nlp(TEXT))


def test_a_model_without_views_makes_them(nlp, folder, unpacked, annotation):
    for file in (folder / COMPONENT / "view").iterdir():
        file.unlink()
    assert annotation(spacy.load(folder)(TEXT)) == annotation(nlp(TEXT))
    assert unpacked


@pytest.mark.parametrize("name", ["transition.restaurants", "word.servings", "tag.restaurants"])
def test_a_view_that_has_changed_is_made_again(nlp, folder, name, annotation):
    file = folder / COMPONENT / "view" / f"{name}.npy"
    data = bytearray(file.read_bytes())
    data[-3] ^= 16
    file.write_bytes(data)
    with pytest.warns(UserWarning, match="has changed since it was written.*made again from the model"):
        loaded = spacy.load(folder)
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))


def lead_nowhere(number, value):
    """Give all restaurants that stand somewhere a number."""

    def edit(array):
        array[number::WIDTH] = value

    return edit


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("transition.restaurants", lead_nowhere(FIRST, 6 * 10**8)),
        ("transition.restaurants", lead_nowhere(FIRST, 1)),
        ("tag.restaurants", lead_nowhere(ROOM, 10**8 << 3)),
        ("word.restaurants", lead_nowhere(LIST, 2 * 10**8)),
        ("word.restaurants", lead_nowhere(LIST, EMPTY - 1 - 10**6)),
        ("word.servings", lambda array: array[::2].fill(10**6)),
        ("word.servings", lambda array: array.view(np.float32)[1::2].fill(np.nan)),
        ("word.restaurants", lambda array: array.view(np.float32)[BACK_OFF::WIDTH].fill(2.0)),
        ("tag.restaurants", lead_nowhere(ROW, 10**6)),
    ],
)
def test_numbers_that_lead_nowhere_never_reach_compiled_code(nlp, folder, name, edit, annotation):
    change(folder, name, edit)
    with pytest.warns(UserWarning, match="numbers that lead nowhere.*made again from the model"):
        loaded = spacy.load(folder)
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))


@pytest.mark.parametrize("name", ["label.row", "word.restaurants"])
def test_a_view_that_is_not_complete_is_made_again(nlp, folder, name, annotation):
    (folder / COMPONENT / "view" / f"{name}.npy").unlink()
    with pytest.warns(UserWarning, match="a part is missing"):
        loaded = spacy.load(folder)
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))
