"""How a component goes to other processes."""

import pickle
import shutil
from multiprocessing.context import set_spawning_popen

import numpy as np
import pytest
import spacy

from spacy_hpyp.annotation.confidence import Confidence

TEXT = "the dog sees a cat near the old bird . Ada sleeps ."


@pytest.fixture
def loaded(trained, tmp_path):
    trained.to_disk(tmp_path / "model")
    return spacy.load(tmp_path / "model", config={"components": {"hpyp_parser": {"particles": 40}}})


@pytest.fixture
def spawn():
    """Pickles something as `multiprocessing` does for a process that is being started and shares no memory
    with this one.
    """

    def dumps(value):
        # Any object will do: what is asked is whether there is one.
        set_spawning_popen(object())
        try:
            return pickle.dumps(value)
        finally:
            set_spawning_popen(None)

    return dumps


def arrays(toy, nlp):
    """The largest array of each view that a pipeline predicts by; one without labels has one that is empty."""
    views = toy.parser(nlp).joint.views.values()
    return [view.restaurants for view in views if len(view.restaurants) > 0]


def test_a_started_process_maps_the_files_that_the_pipeline_was_loaded_from(loaded, toy, spawn, annotation):
    toy.parser(loaded).attachments = 3
    loaded.get_pipe("hpyp_parser").set_error_handler(print)
    sent, whole = spawn(loaded), pickle.dumps(loaded)
    again = pickle.loads(sent)
    assert all(isinstance(array.base, np.memmap) for array in [*arrays(toy, loaded), *arrays(toy, again)])
    assert len(whole) - len(sent) > len(toy.parser(loaded)._write_model()) / 2
    assert annotation(again(TEXT)) == annotation(loaded(TEXT))
    assert toy.parser(again).settings == toy.parser(loaded).settings
    assert toy.parser(again).get_error_handler() is print
    # It can be saved, and sent on.
    assert toy.parser(again).to_bytes(exclude=["vocab"]) == toy.parser(loaded).to_bytes(exclude=["vocab"])
    assert annotation(pickle.loads(spawn(again))(TEXT)) == annotation(loaded(TEXT))


@pytest.mark.parametrize("change", ["file", "model", "nothing"])
def test_a_pickle_has_the_whole_model_where_no_file_has_it_or_it_may_go_anywhere(
    change, loaded, toy, spawn, tmp_path, annotation
):
    expected = annotation(loaded(TEXT))
    if change == "file":
        (tmp_path / "model" / "hpyp_parser" / "model").write_bytes(b"another one")
    elif change == "model":
        toy.parser(loaded).joint.confidence = Confidence(
            np.array([0.5, 1.0, 0.0, 0.0]), np.array([0.2, 1.0, 0.0])
        )
    sent = pickle.dumps(loaded) if change == "nothing" else spawn(loaded)
    shutil.rmtree(tmp_path / "model")
    assert annotation(pickle.loads(sent)(TEXT)) == expected
    assert annotation(pickle.loads(spawn(loaded))(TEXT)) == expected


def test_a_file_that_changes_on_the_way_is_an_error_that_says_so(loaded, spawn, tmp_path):
    sent = spawn(loaded)
    (tmp_path / "model" / "hpyp_parser" / "model").write_bytes(b"another one")
    with pytest.raises(ValueError, match="the file has changed since it was loaded"):
        pickle.loads(sent)


def test_a_copy_does_not_carry_what_follows_from_the_seating(trained, toy):
    trained(TEXT)
    joint = toy.parser(trained).joint
    assert len(pickle.dumps(joint)) < sum(array.nbytes for array in arrays(toy, trained)) + len(
        pickle.dumps(joint.franchises)
    )
