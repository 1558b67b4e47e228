"""What a worker does to a shard."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

from .folder import Folder
from .inputs import Document, Shard

# How many documents are worked on at once.
_BATCH = 32

#: Makes of documents of a shard what is written, and counts their words.
Process = Callable[[Shard, Sequence[Document]], tuple[Any, int]]


class TooManyFailuresError(ValueError):
    """More documents have failed than may."""


class Task(Protocol):
    """What is done to all shards. It is sent to workers, and holds settings alone."""

    def start(self) -> Process:
        """Get ready, once in each worker. Where that cannot be, every worker would fail."""

    def documents(self, shard: Shard) -> Iterator[Document]:
        """Read a shard. RAISES (ValueError | OSError): If it cannot be read."""

    def write(self, file: Any, found: Iterable[Any]) -> None:
        """Write what a `Process` has found of documents, some at a time, to a binary file."""


def work_on(shard: Shard, task: Task, process: Process, folder: Folder, max_errors: int) -> dict[str, Any]:
    """Make the output of a shard, of which so many documents may fail.

    Some documents are worked on at a time, and where that fails each by itself; those that fail alone are
    noted with their places.

    RETURNS (dict[str, Any]): What is noted of the shard: file, range, and numbers of documents, words and
        errors.
    RAISES (TooManyFailuresError): If more fail.
    RAISES (OSError): If the output cannot be written.
    RAISES (ValueError): If the shard cannot be read.
    """
    words, count, errors = 0, 0, []

    def attempt(documents: Sequence[Document]) -> Iterator[Any]:
        nonlocal words
        try:
            for document in documents:
                if document.problem:
                    raise ValueError(document.problem)
            found, number = process(shard, documents)
        except Exception as error:
            if len(documents) > 1:
                for document in documents:
                    yield from attempt([document])
                return
            message = f"{type(error).__name__}: {error}"
            errors.append({"file": shard.path, "place": documents[0].place, "message": message})
            if len(errors) > max_errors:
                raise TooManyFailuresError(
                    f"{len(errors)} documents of '{shard.path}' failed, as that at {documents[0].place}: "
                    f"{message}"
                ) from error
        else:
            words += number
            yield found

    def found() -> Iterator[Any]:
        nonlocal count
        reading = _read(task, shard)
        while batch := list(islice(reading, _BATCH)):
            count += len(batch)
            yield from attempt(batch)

    with folder.writing(shard) as file:
        task.write(file, found())
    record = {"file": shard.path, "start": shard.start, "end": shard.end, "documents": count, "words": words}
    record["errors"] = len(errors)
    folder.finish(shard, record, errors)
    return record


def _read(task: Task, shard: Shard) -> Iterator[Document]:
    try:
        yield from task.documents(shard)
    except (OSError, EOFError) as error:
        raise ValueError(f"'{shard.path}' cannot be read: {error}") from error
