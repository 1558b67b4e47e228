"""Frozen views beside the model: predictions from a file that is mapped into memory, which is checked before it is used."""

import os
import shutil
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spacy

from spacy_hpyp.models.seating import Packed
from spacy_hpyp.models.view_storage import write_views
from spacy_hpyp.pools.view import BACK_OFF, EMPTY, FIRST, LIST, ROOM, ROW, WIDTH
from spacy_hpyp.storage.checksum import identity_of_file

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


def file_of(folder):
    return folder / COMPONENT / "view.bin"


def change(folder, name, edit):
    """Edit an array of a view, so that its checksum is the right one again: returns what has been edited."""
    distribution, part = name.split(".")
    views = dict(spacy.load(folder).get_pipe(COMPONENT).joint.views)
    array = edit(getattr(views[distribution], part).copy())
    views[distribution] = views[distribution]._replace(**{part: array})
    write_views(file_of(folder), views, identity_of_file(folder / COMPONENT / "model"))


def test_a_pipeline_that_only_predicts_reads_no_seating(nlp, folder, unpacked, annotation):
    loaded = spacy.load(folder)
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))
    assert not unpacked
    views = loaded.get_pipe(COMPONENT).joint.views
    assert all(isinstance(view.restaurants.base, np.memmap) for view in views.values())
    for name, view in nlp.get_pipe(COMPONENT).joint.views.items():
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
    seating = spacy.load(folder).get_pipe(COMPONENT).joint
    with ThreadPoolExecutor(8) as executor:
        found = list(executor.map(lambda _: seating.franchises, range(8)))
    assert all(each is found[0] for each in found)
    assert len(unpacked) == 1


def test_what_has_been_loaded_is_saved_as_it_was(folder, tmp_path_factory, unpacked):
    again = tmp_path_factory.mktemp("again")
    spacy.load(folder).to_disk(again)
    files = sorted(path.relative_to(folder) for path in folder.rglob(f"{COMPONENT}/**/*") if path.is_file())
    assert [file.name for file in files] == ["cfg", "model", "view.bin"]
    assert all((again / file).read_bytes() == (folder / file).read_bytes() for file in files)
    assert not unpacked


def test_a_view_of_another_model_is_not_used(nlp, folder, tmp_path_factory, toy, annotation):
    other = tmp_path_factory.mktemp("other")
    toy.copy(nlp).to_disk(other)
    trained = toy.train(toy.copy(nlp), toy.sentences(20, seed=1), sweeps=1)
    trained.get_pipe(COMPONENT).to_disk(folder / COMPONENT, exclude=["vocab", "view"])
    with pytest.warns(UserWarning, match="belongs to another model.*made again from the model"):
        loaded = spacy.load(folder)
    assert annotation(loaded(TEXT)) == annotation(trained(TEXT)) != annotation(nlp(TEXT))


def test_a_model_without_views_makes_them(nlp, folder, unpacked, annotation):
    file_of(folder).unlink()
    assert annotation(spacy.load(folder)(TEXT)) == annotation(nlp(TEXT))
    assert unpacked


def damaged(data, kind, rng):
    """The bytes of a file with some damage."""
    place = int(rng.integers(len(data)))
    match kind:
        case "a flipped bit":
            return data[:place] + bytes([data[place] ^ 1 << rng.integers(8)]) + data[place + 1 :]
        case "a flipped bit in the head":
            place %= 800
            return data[:place] + bytes([data[place] ^ 1 << rng.integers(8)]) + data[place + 1 :]
        case "cut":
            return data[:place]
        case "longer":
            return data + data[-1 - place % 200 :]
        case "longer in the middle":
            return data[:place] + bytes(4 * (1 + place % 50)) + data[place:]
        case "empty":
            return b""


@pytest.mark.parametrize(
    "kind", ["a flipped bit", "a flipped bit in the head", "cut", "longer", "longer in the middle", "empty"]
)
def test_any_damage_is_seen_and_views_are_made_again(nlp, folder, kind, annotation):
    expected, data, rng = annotation(nlp(TEXT)), file_of(folder).read_bytes(), np.random.default_rng(1)
    for _ in range(1 if kind == "empty" else 6):
        file_of(folder).write_bytes(damaged(data, kind, rng))
        with pytest.warns(UserWarning, match="view.bin.*made again from the model") as warned:
            loaded = spacy.load(folder)
        assert len(warned) == 1
        assert annotation(loaded(TEXT)) == expected


def lead_nowhere(number, value):
    """Give all restaurants that stand somewhere a number."""

    def edit(array):
        array[number::WIDTH] = value
        return array

    return edit


def fill(start, value, dtype=np.uint32):
    """Give all entries of a list a number."""

    def edit(array):
        array.view(dtype)[start::2] = value
        return array

    return edit


def alone(array):
    """Leave only what stands at the roots, which have no children and list nothing."""
    array[ROOM::WIDTH], array[LIST::WIDTH] = 0, EMPTY
    return array[: -(-len(array) // WIDTH // 10) * WIDTH]


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("transition.restaurants", lead_nowhere(FIRST, 6 * 10**8)),
        ("transition.restaurants", lead_nowhere(FIRST, 1)),
        ("tag.restaurants", lead_nowhere(ROOM, 10**8 << 3)),
        ("word.restaurants", lead_nowhere(LIST, 2 * 10**8)),
        ("word.restaurants", lead_nowhere(LIST, EMPTY - 1 - 10**6)),
        ("word.servings", fill(0, 10**6)),
        ("word.servings", fill(1, np.nan, np.float32)),
        ("word.servings", lambda array: array[:0]),
        ("word.restaurants", lambda array: lead_nowhere(BACK_OFF, 2.0)(array.view(np.float32)).view(np.uint32)),
        ("tag.restaurants", lead_nowhere(ROW, 10**6)),
        ("tag.restaurants", lambda array: array[:0]),
        ("tag.row", lambda array: array[:0]),
        ("tag.row", lambda array: array[:, :-1]),
        ("transition.restaurants", alone),
        ("transition.restaurants", lambda array: np.concatenate([array, array[-WIDTH:]])),
    ],
)
def test_arrays_that_do_not_fit_never_reach_compiled_code(nlp, folder, name, edit, annotation):
    change(folder, name, edit)
    fault = "numbers that lead nowhere|not the restaurants of the model|another alphabet"
    with pytest.warns(UserWarning, match=f"({fault}).*made again from the model"):
        loaded = spacy.load(folder)
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))


def test_a_file_that_is_overwritten_in_use_is_noticed_at_the_next_call(nlp, folder, annotation):
    loaded = spacy.load(folder)
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))
    data = bytearray(file_of(folder).read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    # As `cp` does.
    with file_of(folder).open("rb+") as file:
        file.write(data)
    os.utime(file_of(folder), (1, 1))
    with pytest.warns(UserWarning, match="view.bin was overwritten.*replace its directory"):
        docs = loaded(TEXT)
    assert annotation(docs) == annotation(nlp(TEXT))


def test_a_pipeline_that_is_saved_over_the_one_in_use_does_not_touch_it(nlp, folder, annotation, recwarn):
    loaded = spacy.load(folder)
    spacy.load(folder).to_disk(folder)
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))
    shutil.rmtree(folder)
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))
    assert not recwarn


def test_several_can_save_to_one_place_at_once(nlp, toy, tmp_path, annotation):
    other = toy.train(toy.copy(nlp), toy.sentences(20, seed=1), sweeps=1)
    parsers = [each.get_pipe(COMPONENT) for each in (nlp, other)]
    with ThreadPoolExecutor(4) as executor:
        list(executor.map(lambda i: parsers[i % 2].to_disk(tmp_path / COMPONENT, exclude=["vocab"]), range(16)))
    assert sorted(path.name for path in (tmp_path / COMPONENT).iterdir()) == ["cfg", "model", "view.bin"]
    loaded = toy.copy(nlp)
    with warnings.catch_warnings():
        # The model of the one and the view of the other may stand there.
        warnings.filterwarnings("ignore", "The component .* cannot use")
        loaded.get_pipe(COMPONENT).from_disk(tmp_path / COMPONENT, exclude=["vocab"])
    model = loaded.get_pipe(COMPONENT).model.to_bytes()
    (saved,) = [each for each in (nlp, other) if each.get_pipe(COMPONENT).model.to_bytes() == model]
    assert annotation(loaded(TEXT)) == annotation(saved(TEXT))


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")
@pytest.mark.parametrize("file", ["model", "view.bin"])
def test_a_full_disk_leaves_what_was_there_and_names_the_file(nlp, folder, file, annotation):
    import resource

    before = {path: path.read_bytes() for path in (folder / COMPONENT).iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file can be as large as this one. Files are written in this order.
    assert len(before[folder / COMPONENT / "model"]) < len(before[file_of(folder)])
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before[folder / COMPONENT / file]) - 1, limits[1]))
    try:
        with pytest.raises(OSError, match=rf"File too large.*{file}"):
            nlp.get_pipe(COMPONENT).to_disk(folder / COMPONENT, exclude=["vocab"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {path: path.read_bytes() for path in (folder / COMPONENT).iterdir()} == before
    assert annotation(spacy.load(folder)(TEXT)) == annotation(nlp(TEXT))
