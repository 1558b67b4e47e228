"""Files are replaced as a whole, whoever else writes at the same time, and no link that somebody
has planted is followed.
"""

import errno
import os
import stat
import subprocess
import sys

import pytest

from spacy_hpyp.storage.files import prepare_folder, replace_file, replacing

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_new_content_stands_there_when_it_is_complete(tmp_path):
    path = tmp_path / "file"
    replace_file(path, b"old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert names_in(tmp_path) == ["file"]


@pytest.mark.parametrize("failure", [OSError, ValueError, KeyboardInterrupt])
def test_after_an_error_the_old_content_stands_there_alone(tmp_path, failure):
    path = tmp_path / "file"
    replace_file(path, b"old")

    def write():
        with replacing(path) as file:
            file.write(b"new")
            raise failure

    with pytest.raises(failure):
        write()
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


def test_two_that_write_to_one_path_do_not_meet(tmp_path):
    path = tmp_path / "file"
    with replacing(path) as one, replacing(path) as other:
        one.write(b"one")
        other.write(b"other")
    assert path.read_bytes() == b"one"
    assert names_in(tmp_path) == ["file"]


def killed_while_writing(path):
    """What a process leaves that is killed while it writes to a path."""
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom spacy_hpyp.storage.files import replacing\n"
    )
    code += "with replacing(Path(sys.argv[1])) as file:\n    file.write(bytes(9))\n    file.flush()\n    os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code, path]).returncode == 9


def test_what_a_killed_process_has_left_is_removed_by_the_next_one_that_writes_to_the_path(
    tmp_path,
):
    path = tmp_path / "file"
    killed_while_writing(path)
    (left,) = names_in(tmp_path)
    replace_file(tmp_path / "other", b"")
    assert names_in(tmp_path) == [left, "other"]
    with replacing(path) as file:
        assert left not in names_in(tmp_path)
        # A process that is alive keeps its own.
        replace_file(path, b"other")
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert names_in(tmp_path) == ["file", "other"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG])
def test_a_full_disk_is_an_error_with_path_and_cause(tmp_path, code):
    path = tmp_path / "file"
    replace_file(path, b"old")
    with pytest.raises(OSError, match=os.strerror(code)) as error, replacing(path):
        raise OSError(code, os.strerror(code))
    assert (error.value.errno, error.value.filename) == (code, str(path))
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


@posix
def test_permissions_are_the_usual_ones(tmp_path):
    replace_file(tmp_path / "ours", b"")
    (tmp_path / "usual").write_bytes(b"")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "usual")]
    assert modes[0] == modes[1]


def test_a_place_to_write_to_is_made_and_tried(tmp_path):
    prepare_folder(tmp_path / "new" / "folder")
    assert names_in(tmp_path / "new") == ["folder"]
    assert names_in(tmp_path / "new" / "folder") == []
    (tmp_path / "file").write_bytes(b"")
    for folder in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(NotADirectoryError):
            prepare_folder(folder)
