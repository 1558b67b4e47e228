"""Frozen views in the cache or beside the model: predictions from a file that is mapped into memory, which is
checked before it is used.
"""

import os
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import command_line
import numpy as np
import pytest
import spacy

from spacy_hpyp.arc_standard.distributions import DISTRIBUTIONS
from spacy_hpyp.models import view_storage
from spacy_hpyp.models.count_model import CountModel
from spacy_hpyp.models.view_storage import write_views
from spacy_hpyp.pools.view import EMPTY, FIRST, KEY, LIST, VALUE, WIDTH, key_of
from spacy_hpyp.storage.checksum import identity_of_file
from spacy_hpyp.storage.mapped import check_array

TEXT = "the dog sees a cat . Zenobia sleeps near Kim ."
COMPONENT = "hpyp_parser"


@pytest.fixture(scope="module")
def nlp(toy):
    """A trained pipeline; tests do not change it."""
    return toy.trained(toy.sentences(15), **toy.pools)


@pytest.fixture
def folder(nlp, tmp_path):
    """Where it is saved, with what it predicts by."""
    nlp.to_disk(tmp_path)
    spacy.load(tmp_path).get_pipe(COMPONENT).save_views()
    return tmp_path


@pytest.fixture
def cache(monkeypatch, tmp_path_factory):
    """An empty cache."""
    path = tmp_path_factory.mktemp("cache") / "inside"
    monkeypatch.setenv("SPACY_HPYP_CACHE", str(path))
    return path


@pytest.fixture
def saved(nlp, tmp_path):
    """Where it is saved by itself."""
    nlp.to_disk(tmp_path)
    return tmp_path


@pytest.fixture
def unpacked(monkeypatch):
    """Which seatings have been unpacked."""
    calls = []
    original = CountModel._unpack
    monkeypatch.setattr(
        CountModel, "_unpack", lambda self, name, **how: calls.append(name) or original(self, name, **how)
    )
    return calls


def file_of(folder):
    return folder / COMPONENT / "view.bin"


def change(folder, name, edit):
    """Edit an array of a view, so that its checksum is the right one again: returns what has been edited."""
    distribution, part = name.split(".")
    views = dict(spacy.load(folder).get_pipe(COMPONENT).joint.views)
    array = edit(getattr(views[distribution], part).copy())
    views[distribution] = views[distribution]._replace(**{part: array})
    write_views(file_of(folder), views.items(), identity_of_file(folder / COMPONENT / "model"))


def test_a_pipeline_that_only_predicts_reads_no_seating(nlp, folder, unpacked, toy, annotation):
    loaded = spacy.load(folder)
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))
    assert not unpacked
    views = loaded.get_pipe(COMPONENT).joint.views
    assert all(isinstance(view.restaurants.base, np.memmap) for view in views.values())
    for name, view in toy.copy(nlp).get_pipe(COMPONENT).joint.views.items():
        for own, mapped in zip(view, views[name]):
            np.testing.assert_array_equal(own, mapped)


def test_the_seating_is_read_when_training_goes_on(nlp, folder, unpacked, toy, annotation):
    other, loaded = toy.copy(nlp), spacy.load(folder)
    unpacked.clear()
    for each in (other, loaded):
        for _ in range(2):
            each.update(toy.examples(each, toy.sentences(15)))
    assert sorted(unpacked) == sorted(DISTRIBUTIONS)
    assert annotation(loaded(TEXT)) == annotation(other(TEXT))
    assert loaded.get_pipe(COMPONENT).model.to_bytes() == other.get_pipe(COMPONENT).model.to_bytes()


def test_threads_that_ask_first_find_the_same_seating(folder, unpacked):
    seating = spacy.load(folder).get_pipe(COMPONENT).joint
    with ThreadPoolExecutor(8) as executor:
        found = list(executor.map(lambda _: seating.franchises, range(8)))
    assert all(each is found[0] for each in found)
    assert sorted(unpacked) == sorted(DISTRIBUTIONS)


def test_what_has_been_loaded_is_saved_as_it_was(folder, tmp_path_factory, unpacked):
    again = tmp_path_factory.mktemp("again")
    spacy.load(folder).to_disk(again)
    files = sorted(path.relative_to(folder) for path in folder.rglob(f"{COMPONENT}/**/*") if path.is_file())
    assert [file.name for file in files] == ["cfg", "model", "view.bin"]
    assert all((again / file).read_bytes() == (folder / file).read_bytes() for file in files[:2])
    assert not (again / files[2]).exists()
    assert not unpacked


def test_a_view_of_another_model_is_not_used(nlp, folder, tmp_path_factory, toy, annotation):
    other = tmp_path_factory.mktemp("other")
    toy.copy(nlp).to_disk(other)
    trained = toy.train(toy.copy(nlp), toy.sentences(20, seed=1), sweeps=1)
    views = file_of(folder).read_bytes()
    trained.get_pipe(COMPONENT).to_disk(folder / COMPONENT, exclude=["vocab"])
    file_of(folder).write_bytes(views)
    with pytest.warns(UserWarning, match="belongs to another model.*made again from the model"):
        loaded = spacy.load(folder)
    assert annotation(loaded(TEXT)) == annotation(trained(TEXT)) != annotation(nlp(TEXT))


def test_views_are_made_once_and_kept_for_the_next_process(nlp, saved, cache, unpacked, annotation):
    cache.mkdir()
    (cache / f".{'0' * 12}.left.tmp").touch()
    for loads in range(1, 3):
        loaded = spacy.load(saved)
        views = loaded.get_pipe(COMPONENT).joint.views
        assert all(isinstance(view.restaurants.base, np.memmap) for view in views.values())
        assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))
        assert sorted(unpacked) == sorted(DISTRIBUTIONS), loads
    assert {path.name for path in cache.iterdir()} == {
        "lock",
        f"{identity_of_file(saved / COMPONENT / 'model')}.bin",
    }


def test_what_is_in_the_cache_is_read_where_nothing_can_be_written(nlp, saved, cache, unpacked, annotation):
    spacy.load(saved)
    (cache / "lock").unlink()
    (cache / "lock").mkdir()
    unpacked.clear()
    assert annotation(spacy.load(saved)(TEXT)) == annotation(nlp(TEXT))
    assert not unpacked


def kept(cache):
    return sorted(cache.glob("*.bin"))


def age(file):
    """Let a file have been changed a minute ago."""
    then = time.time_ns() - 60 * 10**9
    os.utime(file, ns=(then, then))


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")
def test_views_in_the_cache_are_checked_once_and_again_when_they_have_changed(
    nlp, saved, cache, monkeypatch, annotation
):
    calls = []
    monkeypatch.setattr(
        view_storage, "check_array", lambda *given: calls.append(given) or check_array(*given)
    )
    spacy.load(saved)
    (file,) = kept(cache)
    age(file)
    spacy.load(saved)
    calls.clear()
    assert annotation(spacy.load(saved)(TEXT)) == annotation(nlp(TEXT))
    assert not calls
    data = file.read_bytes()
    file.write_bytes(data[:5000] + b"?" + data[5001:])
    with pytest.warns(UserWarning, match="made again from the model"):
        loaded = spacy.load(saved)
    assert calls
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))
    assert file.read_bytes() == data


def test_views_beside_a_model_are_checked_each_time(folder, monkeypatch):
    calls = []
    monkeypatch.setattr(
        view_storage, "check_array", lambda *given: calls.append(given) or check_array(*given)
    )
    age(file_of(folder))
    for loads in range(1, 4):
        spacy.load(folder)
        assert len(calls) == loads * len(view_storage._KINDS)
    assert not list(folder.rglob("*.checked"))


@pytest.mark.parametrize(
    "edit", [lambda data: data[:-1], lambda data: b"", lambda data: data[:5000] + b"?" + data[5001:]]
)
def test_what_is_damaged_in_the_cache_is_made_again_there(nlp, saved, cache, edit, annotation):
    spacy.load(saved)
    (file,) = kept(cache)
    data = file.read_bytes()
    file.write_bytes(edit(data))
    with pytest.warns(UserWarning, match="made again from the model"):
        loaded = spacy.load(saved)
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))
    assert file.read_bytes() == data


def test_where_nothing_can_be_kept_views_are_made_in_memory(nlp, saved, cache, annotation):
    cache.write_text("This is no directory.")
    with pytest.warns(UserWarning, match="SPACY_HPYP_CACHE"):
        loaded = spacy.load(saved)
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))


def test_what_was_not_used_for_the_longest_time_is_removed(
    nlp, saved, cache, toy, tmp_path_factory, monkeypatch, annotation
):
    first = spacy.load(saved)
    other = tmp_path_factory.mktemp("other")
    toy.train(toy.copy(nlp), toy.sentences(20, seed=1), sweeps=1).to_disk(other)
    (file,) = kept(cache)
    # Room for one and a half.
    monkeypatch.setenv("SPACY_HPYP_CACHE_GB", str(1.5e-9 * file.stat().st_size))
    spacy.load(other)
    assert len(kept(cache)) == 1
    assert not file.exists()
    assert annotation(first(TEXT)) == annotation(nlp(TEXT))
    monkeypatch.setenv("SPACY_HPYP_CACHE_GB", "much")
    with pytest.warns(UserWarning, match="SPACY_HPYP_CACHE_GB must be a number"):
        again = spacy.load(saved)
    assert annotation(again(TEXT)) == annotation(nlp(TEXT))


def test_several_that_load_at_once_make_one_file(nlp, saved, cache, unpacked, annotation):
    with ThreadPoolExecutor(4) as executor:
        loaded = list(executor.map(spacy.load, [saved] * 4))
    assert all(annotation(each(TEXT)) == annotation(nlp(TEXT)) for each in loaded)
    assert sorted(unpacked) == sorted(DISTRIBUTIONS)
    assert len(kept(cache)) == 1


def test_the_cache_is_shown_and_emptied(saved, cache):
    spacy.load(saved)
    (file,) = kept(cache)
    assert file.stem in command_line.run("hpyp", "cache").stdout
    assert "Removed" in command_line.run("hpyp", "cache", "--empty").stdout
    assert not kept(cache)
    assert f"0.000 of 8.0 GB in {cache}" in " ".join(command_line.run("hpyp", "cache").stdout.split())


def test_views_are_written_beside_a_model_on_request(nlp, saved, cache, annotation, unpacked):
    command_line.run("hpyp", "warm", saved, "--beside")
    command_line.run("hpyp", "cache", "--empty")
    unpacked.clear()
    assert annotation(spacy.load(saved)(TEXT)) == annotation(nlp(TEXT))
    assert not unpacked
    assert not kept(cache)
    with pytest.raises(ValueError, match="stands in no file"):
        nlp.get_pipe(COMPONENT).save_views()


def test_views_of_the_model_that_was_there_before_are_removed(nlp, folder, toy):
    nlp.to_disk(folder)
    assert file_of(folder).exists()
    other = spacy.load(folder)
    other.get_pipe(COMPONENT).update(toy.examples(other, toy.sentences(15)))
    other.to_disk(folder)
    assert not file_of(folder).exists()


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
    for _ in range(1 if kind == "empty" else 3):
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


def of_root(number, value):
    """Give the first root a number."""

    def edit(array):
        array[number] = value
        return array

    return edit


def in_chains(start, number):
    """Give the last restaurant, which is in a chain, a number."""

    def edit(array):
        array[len(array) - 2 + start] = number
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
    array[KEY::WIDTH], array[LIST::WIDTH], array[VALUE::WIDTH] = 0, EMPTY, 0
    return array[: -(-len(array) // WIDTH // 10) * WIDTH]


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("transition.restaurants", lead_nowhere(FIRST, 6 * 10**8)),
        ("transition.restaurants", lead_nowhere(FIRST, 1)),
        ("tag.restaurants", lead_nowhere(KEY, key_of(0, 100, 0))),
        ("word.restaurants", lead_nowhere(LIST, 2 * 10**8)),
        ("word.restaurants", lead_nowhere(LIST, EMPTY - 1 - 10**6)),
        ("word.servings", fill(0, 10**6)),
        ("word.servings", fill(1, np.nan, np.float32)),
        ("word.servings", lambda array: array[:0]),
        ("word.restaurants", lambda array: lead_nowhere(VALUE, 2.0)(array.view(np.float32)).view(np.uint32)),
        ("tag.restaurants", lambda array: lead_nowhere(VALUE, 10**6)(lead_nowhere(LIST, EMPTY)(array))),
        ("tag.restaurants", lambda array: lead_nowhere(VALUE, 10**6)(lead_nowhere(LIST, 0)(array))),
        ("tag.restaurants", lead_nowhere(KEY, EMPTY)),
        ("tag.restaurants", of_root(LIST, EMPTY - 1)),
        ("word.restaurants", lead_nowhere(LIST, 2)),
        ("tag.restaurants", lambda array: array[:0]),
        ("tag.row", lambda array: array[:0]),
        ("tag.row", lambda array: array[:, :-1]),
        ("transition.restaurants", in_chains(1, EMPTY)),
        ("transition.restaurants", in_chains(1, key_of(5, 1, 0))),
        ("word.restaurants", in_chains(0, np.float32(np.nan).view(np.uint32))),
        ("transition.large", lambda array: np.array([2**30, 2**22], dtype=np.int32)),
        ("transition.chains", lambda array: array + 2),
        ("transition.chains", lambda array: array * 0),
        ("transition.chains", lambda array: array + 4 * 10**6),
        ("transition.chains", lambda array: array[:0]),
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
        list(
            executor.map(lambda i: parsers[i % 2].to_disk(tmp_path / COMPONENT, exclude=["vocab"]), range(16))
        )
    assert sorted(path.name for path in (tmp_path / COMPONENT).iterdir()) == ["cfg", "model"]
    loaded = toy.copy(nlp)
    loaded.get_pipe(COMPONENT).from_disk(tmp_path / COMPONENT, exclude=["vocab"])
    model = loaded.get_pipe(COMPONENT).model.to_bytes()
    (saved,) = [each for each in (nlp, other) if each.get_pipe(COMPONENT).model.to_bytes() == model]
    assert annotation(loaded(TEXT)) == annotation(saved(TEXT))


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")
def test_a_full_disk_leaves_what_was_there_and_names_the_file(nlp, folder, cache, annotation):
    import resource

    before = {path: path.read_bytes() for path in (folder / COMPONENT).iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    model, views = (len(before[folder / COMPONENT / name]) for name in ("model", "view.bin"))
    assert model < views
    try:
        # No file can be larger.
        resource.setrlimit(resource.RLIMIT_FSIZE, (model - 1, limits[1]))
        with pytest.raises(OSError, match=r"File too large.*model"):
            nlp.get_pipe(COMPONENT).to_disk(folder / COMPONENT, exclude=["vocab"])
        resource.setrlimit(resource.RLIMIT_FSIZE, (views - 1, limits[1]))
        with pytest.raises(OSError, match=r"File too large.*view.bin"):
            spacy.load(folder).get_pipe(COMPONENT).save_views()
        file_of(folder).unlink()
        with pytest.warns(UserWarning, match=r"File too large.*SPACY_HPYP_CACHE"):
            loaded = spacy.load(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not kept(cache)
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))
    del before[file_of(folder)]
    assert {path: path.read_bytes() for path in (folder / COMPONENT).iterdir()} == before
