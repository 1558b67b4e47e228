"""Sections of the Wall Street Journal are told by names."""

from pathlib import Path

import pytest

from spacy_hpyp.treebanks.sections import bracketed_files, check_once, section_of


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("wsj/02/wsj_0203.mrg", 2),
        ("WSJ/24/WSJ_2454.MRG", 24),
        ("wsj_0203.mrg", 2),
        ("00/trees.mrg", 0),
        ("02.mrg", 2),
        ("wsj02.txt", 2),
        ("wsj-section-22.trees", 22),
        ("wsj_02-21.mrg", None),
        ("wsj_99.mrg", None),
        ("2.mrg", None),
        ("cf/cf01.mrg", None),
        ("trees.mrg", None),
        ("2024/trees.mrg", None),
        ("section02/0203.mrg", 2),
        ("WSJ-24/a.mrg", 24),
        ("22/wsj_22.mrg", 22),
        ("00/01.mrg", None),
    ],
)
def test_a_section_is_told_by_the_name_of_a_file_or_its_folder(name, section):
    assert section_of(Path(name)) == section


def test_files_with_brackets_are_those_with_the_first_usual_ending(tmp_path):
    for name in ("01/b.mrg", "00/a.MRG", "00/a.prd", "00/._a.MRG", "README"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [file.name for file in bracketed_files(tmp_path)] == ["a.MRG", "b.mrg"]
    assert bracketed_files(tmp_path / "README") == [tmp_path / "README"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="has no files with brackets"):
        bracketed_files(tmp_path / "empty")


def test_brackets_without_tags_are_not_taken_for_trees(tmp_path):
    (tmp_path / "wsj_0001.prd").write_text("( (S (NP-SBJ Ada) (VP sleeps)) )")
    with pytest.raises(ValueError, match=r"that end with \.prd have no tags"):
        bracketed_files(tmp_path)


@pytest.mark.parametrize(
    "names",
    [
        ("a/02/wsj_0203.mrg", "b/02/wsj_0203.mrg"),
        ("02/wsj_0203.mrg", "02/WSJ_0203.MRG"),
        ("wsj_02.mrg", "02/wsj_0203.mrg"),
    ],
)
def test_nothing_of_a_section_is_read_twice(names):
    with pytest.raises(ValueError, match=r"have the same name|a part of it: name one"):
        check_once(map(Path, names))
    check_once(map(Path, ("02/wsj_0203.mrg", "02/wsj_0204.mrg", "02/others.mrg")))
