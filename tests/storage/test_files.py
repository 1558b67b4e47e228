"""Files are replaced as a whole, whoever else writes at the same time, and no link that somebody has planted
is followed.
"""

import errno
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from spacy_hpyp.storage import files
from spacy_hpyp.storage.files import MappedFile, prepare_folder, replace_file, replace_folder, replacing

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


def test_threads_can_save_to_one_path(tmp_path):
    path = tmp_path / "file"
    contents = [bytes([65 + i]) * 1000 for i in range(8)]
    with ThreadPoolExecutor(8) as threads:
        for _ in threads.map(lambda content: replace_file(path, content), contents * 20):
            pass
    assert path.read_bytes() in contents
    assert names_in(tmp_path) == ["file"]


def test_nobody_can_guess_the_temporary_name(tmp_path):
    found = set()
    for _ in range(50):
        with replacing(tmp_path / "file"):
            found.update(set(names_in(tmp_path)) - {"file"})
    assert len(found) == 50
    assert not any(str(os.getpid()) == name.split(".")[-1] for name in found)


@posix
@pytest.mark.parametrize("there", ["a link to a file", "a link to nothing", "a file that is written to"])
def test_what_stands_under_the_temporary_name_is_neither_followed_nor_removed(tmp_path, monkeypatch, there):
    monkeypatch.setattr(files.secrets, "token_hex", lambda *_: "guessed")
    folder, victim = tmp_path / "folder", tmp_path / "victim"
    folder.mkdir()
    with ExitStack() as stack:
        if there == "a file that is written to":
            stack.enter_context(replacing(folder / "file"))
            (planted,) = folder.iterdir()
        else:
            with replacing(folder / "file"):
                (planted,) = folder.iterdir()
            (folder / "file").unlink()
            planted.symlink_to(victim)
        if there == "a link to a file":
            victim.write_bytes(b"precious")
        with pytest.raises(FileExistsError):
            replace_file(folder / "file", b"new")
        assert list(folder.iterdir()) == [planted]
        assert planted.is_symlink() == ("link" in there)
        assert victim.exists() == (there == "a link to a file")
        if victim.exists():
            assert planted.read_bytes() == victim.read_bytes() == b"precious"


def killed_while_writing(path):
    """What a process leaves that is killed while it writes to a path."""
    code = "import os, sys\nfrom pathlib import Path\nfrom spacy_hpyp.storage.files import replacing\n"
    code += "with replacing(Path(sys.argv[1])) as file:\n    file.write(bytes(9))\n    file.flush()\n    os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code, path]).returncode == 9


def test_what_a_killed_process_has_left_is_removed_by_the_next_one_that_writes_to_the_path(tmp_path):
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


def test_a_mapped_file_is_overwritten_where_it_stands_or_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    mapped = MappedFile(path, path.stat())
    assert mapped.is_there()
    assert not mapped.is_overwritten()
    path.write_bytes(b"longer")
    assert mapped.is_there()
    assert mapped.is_overwritten()
    mapped = MappedFile(path, path.stat())
    with path.open("rb"):
        replace_file(path, b"new")
        assert not mapped.is_there()
        assert not mapped.is_overwritten()
        path.unlink()
        assert not mapped.is_overwritten()


@posix
def test_permissions_are_the_usual_ones(tmp_path):
    replace_file(tmp_path / "ours", b"")
    (tmp_path / "usual").write_bytes(b"")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "usual")]
    assert modes[0] == modes[1]


@posix
def test_content_and_name_are_on_the_disk_before_and_after_the_file_is_replaced(tmp_path, monkeypatch):
    steps = []
    fsync, replace = os.fsync, os.replace

    def synchronised(descriptor):
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def replaced(*paths):
        steps.append("replace")
        replace(*paths)

    monkeypatch.setattr(os, "fsync", synchronised)
    monkeypatch.setattr(os, "replace", replaced)
    replace_file(tmp_path / "file", b"content")
    assert steps == ["file", "replace", "folder"]


@posix
def test_a_directory_that_cannot_be_synchronised_is_no_error(tmp_path, monkeypatch):
    fsync = os.fsync

    def refuse(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(22, "Invalid argument")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)
    replace_file(tmp_path / "file", b"content")
    assert (tmp_path / "file").read_bytes() == b"content"


def test_long_names_have_room(tmp_path):
    path = tmp_path / ("x" * 255)
    replace_file(path, b"content")
    assert path.read_bytes() == b"content"


def test_a_directory_takes_the_place_of_another_one(tmp_path):
    for content in (b"old", b"new"):
        (tmp_path / "complete" / "inside").mkdir(parents=True)
        replace_file(tmp_path / "complete" / "inside" / "file", content)
        replace_folder(tmp_path / "folder", tmp_path / "complete")
        assert (tmp_path / "folder" / "inside" / "file").read_bytes() == content
    assert names_in(tmp_path) == ["folder"]


def test_a_directory_whose_content_is_not_on_the_disk_takes_no_place(tmp_path, monkeypatch):
    for name in ("folder", "complete"):
        (tmp_path / name).mkdir()
        replace_file(tmp_path / name / "file", name.encode())

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        replace_folder(tmp_path / "folder", tmp_path / "complete")
    assert (tmp_path / "folder" / "file").read_bytes() == b"folder"


def test_a_place_to_write_to_is_made_and_tried(tmp_path):
    prepare_folder(tmp_path / "new" / "folder")
    assert names_in(tmp_path / "new") == ["folder"]
    assert names_in(tmp_path / "new" / "folder") == []
    (tmp_path / "file").write_bytes(b"")
    for folder in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(NotADirectoryError):
            prepare_folder(folder)


def test_errors_name_the_file_that_was_asked_for(tmp_path):
    path = tmp_path / "nowhere" / "file"
    with pytest.raises(FileNotFoundError) as error:
        replace_file(path, b"")
    assert error.value.filename == str(path)
