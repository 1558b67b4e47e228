"""`hpyp precompile`: compiling before it is needed."""

import command_line
import pytest

from spacy_hpyp.arc_standard.particle_filter import particle_filter


def test_what_a_pipeline_needs_is_compiled(trained, tmp_path):
    trained.to_disk(tmp_path / "pipeline")
    done = command_line.run("hpyp", "precompile", tmp_path / "pipeline")
    assert "hpyp_parser: " in done.output
    assert "Ready after " in done.output
    assert particle_filter.signatures


@pytest.mark.slow
def test_without_a_pipeline_the_components_are_trained_for_a_moment():
    done = command_line.run("hpyp", "precompile")
    for component in ("hpyp_parser", "easy_first_tagger", "easy_first_parser"):
        assert f"{component}: " in done.output
