"""Damaged files: each is refused with a message that names it, made again with a warning, or is a model that
parses and learns.
"""

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import spacy
import srsly
from checks import check_trees, require
from kills import own_files
from pipelines import LEARNING, NGRAM, examples_of, learn
from spacy.language import Language
from spacy.training import Example

from spacy_hpyp.language_model.ngram import NGramModel
from spacy_hpyp.storage.arrays import pack_integers, unpack_integers
from spacy_hpyp.storage.checksum import without_checksum

#: What a case returns.
REFUSED, REPAIRED, LOADED = "refused", "repaired", "loaded"
#: What is damaged: the file as it was saved, or what is written in it.
BYTES, CONTENT = "bytes", "content"
_TEXT = "The ferry leaves at noon. Zenobia forgot the bread, didn't she?"
_NUMBERS = [
    0,
    1,
    -1,
    2,
    127,
    255,
    256,
    2**15,
    2**31 - 1,
    2**31,
    2**32,
    2**63 - 1,
    2**64 - 1,
    -(2**31),
    -(2**63),
]
_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 1e308, -1e308, float("inf"), float("-inf"), float("nan")]


def prepare(pipeline: Path, corpus: Path, folder: Path, seed: int) -> Callable[[int], str]:
    """Load a pipeline; see `children.run_cases`.

    pipeline (Path): A trained pipeline, with all components.
    corpus (Path): Where the corpus is that it has learned from.
    folder (Path): A copy of the pipeline, whose files are written over.
    seed (int): Fixes the damage. Cases with even numbers damage the bytes of any file, the others the content
        of a model.
    RETURNS (Callable): Runs a case, and returns REFUSED, REPAIRED or LOADED, and BYTES or CONTENT.
    """
    nlp = spacy.load(pipeline)
    examples = examples_of(nlp, corpus)[:80]
    files = own_files(pipeline)
    models = [file for file in files if file.name == "model"]
    plain = {file: nlp.get_pipe(file.parent.name).model.to_bytes() for file in models}
    plain[Path(NGRAM)] = without_checksum((pipeline / NGRAM).read_bytes())
    expected = annotation(nlp)

    def run(number: int) -> str:
        rng = random.Random(f"{seed}/{number}")
        kind = BYTES if number % 2 == 0 else CONTENT
        # Those of the generative parser are the largest part of what there is.
        file = rng.choice(
            [each for each in files if each.parent.name == "hpyp_parser"] if rng.random() < 0.3 else files
        )
        if kind == CONTENT and file not in plain:
            file = rng.choice(models)
        saved = (pipeline / file).read_bytes()
        damaged = saved
        while damaged in (saved, plain.get(file)):
            damaged = damage_bytes(saved, rng) if kind == BYTES else damage_content(plain[file], rng)
        path = folder / file
        path.write_bytes(damaged)
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                outcome = f"{load_and_use(nlp, path, kind, warned, examples, expected)} {kind}"
        finally:
            path.write_bytes(saved)
            restore(nlp, folder, file)
        return outcome

    return run


def load_and_use(
    nlp: Language,
    path: Path,
    kind: str,
    warned: list[warnings.WarningMessage],
    examples: list[Example],
    expected: list[tuple[Any, ...]],
) -> str:
    """Load a damaged file into a pipeline. Returns what came of it."""
    name = path.parent.name
    try:
        if path.name == NGRAM:
            words = NGramModel.from_disk(path)
            require(np.isfinite(words.log_probs(_TEXT.split())).all(), "a word has an impossible probability")
        else:
            nlp.get_pipe(name).from_disk(path.parent, exclude=["vocab"])
    except ValueError as error:
        require(path.name != "view.bin", f"the pipeline was refused for its view: {error}")
        require(str(path) in str(error), f"the message does not name the file: {error}")
        require(annotation(nlp) == expected, "the model that was there before has changed")
        return REFUSED
    if path.name == "view.bin":
        messages = [str(each.message) for each in warned if str(path) in str(each.message)]
        require(len(messages) == 1, f"there should be one warning that names the file: {messages}")
        require(annotation(nlp) == expected, "a damaged view has changed a parse")
        return REPAIRED
    if path.name != NGRAM:
        use(nlp, name, examples)
    # The settings have no checksum: another value that may be is not seen.
    require(
        kind == CONTENT or path.name == "cfg",
        "the file has a checksum, but a change of its bytes was not seen",
    )
    return LOADED


def restore(nlp: Language, folder: Path, file: Path) -> None:
    """Load a component again, from files that are whole."""
    if file.name != NGRAM:
        nlp.get_pipe(file.parent.name).from_disk(folder / file.parent, exclude=["vocab"])


def annotation(nlp: Language) -> list[tuple[Any, ...]]:
    """What a pipeline makes of a text."""
    return [(t.tag_, t.dep_, t.head.i, t._.log_prob, t._.head_prob, t._.state) for t in nlp(_TEXT)]


def use(nlp: Language, name: str, examples: list[Example]) -> None:
    """Parse and learn with a component that should not have been loaded, perhaps: it may only say that it
    cannot.
    """
    component = nlp.get_pipe(name)
    # What takes long or much memory is its right.
    for setting, most in (
        ("particles", 20),
        ("sweeps", 4),
        ("threads", 2),
        ("k", 5),
        ("beam", 8),
        ("attachments", 5),
    ):
        if hasattr(component, setting):
            setattr(component, setting, min(getattr(component, setting), most))
    try:
        check_trees(nlp(_TEXT))
        if name in LEARNING:
            learn(nlp, name, examples)
            check_trees(nlp(_TEXT))
    except ValueError as error:
        known = any(
            part in str(error)
            for part in (name, "sentence", "parse of", "belong together", "cannot learn any more")
        )
        require(known, f"the message of a component is: {error}")


def damage_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change some bytes of a file."""
    changed = bytearray(data)
    size = rng.choice([1, 2, 16, 500, len(data) // 3])
    start, other = rng.randrange(len(data)), rng.randrange(len(data))
    block = data[start : start + size]
    kind = rng.choice(
        ["flip", "set", "zero", "cut", "remove", "insert", "repeat", "swap", "append", "reverse"]
    )
    if kind == "flip":
        for _ in range(rng.choice([1, 1, 2, 10])):
            changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == "set":
        changed[start : start + size] = rng.randbytes(len(block))
    elif kind == "zero":
        changed[start : start + size] = bytes(len(block))
    elif kind == "cut":
        del changed[start:]
    elif kind == "remove":
        del changed[start : start + size]
    elif kind == "insert":
        changed[start:start] = rng.randbytes(size)
    elif kind == "repeat":
        changed[start:start] = block
    elif kind == "swap":
        first, second = sorted((start, other))
        size = min(size, second - first, len(data) - second)
        changed[first : first + size], changed[second : second + size] = (
            data[second : second + size],
            data[first : first + size],
        )
    elif kind == "append":
        changed += block
    else:
        changed[start : start + size] = block[::-1]
    return bytes(changed)


def damage_content(data: bytes, rng: random.Random) -> bytes:
    """Change something that is written in a model file, so that it can be unpacked as before."""
    outer = srsly.msgpack_loads(data)
    # The models of components are messages within messages.
    inner, place, name = outer, None, ""
    if "attrs" in outer:
        place = outer["attrs"][0]
        name = next(key for key, value in place.items() if isinstance(value, bytes) and len(value) > 50)
        inner = srsly.msgpack_loads(place[name])
    if place is not None and rng.random() < 0.1:
        change_somewhere(outer, rng)
    else:
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            change_somewhere(inner, rng)
        if place is not None:
            place[name] = srsly.msgpack_dumps(inner)
    return srsly.msgpack_dumps(outer)


def change_somewhere(message: dict[str, Any], rng: random.Random) -> None:
    """Go down a message at random, and change what is found there."""
    place: Any = message
    while True:
        key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
        value = place[key]
        deeper = isinstance(value, (dict, list)) and len(value) > 0
        if isinstance(value, dict) and "data" in value and rng.random() < 0.8:
            place[key] = change_integers(value, rng)
            return
        if deeper and rng.random() < 0.9:
            place = value
            continue
        if rng.random() < 0.1:
            del place[key]
        elif isinstance(place, list) and rng.random() < 0.2:
            place.insert(rng.randrange(len(place)), value)
        else:
            place[key] = changed_value(value, rng)
        return


def change_integers(packed: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Change some of the integers of an array that `pack_integers` made, and pack it again."""
    try:
        values = unpack_integers(packed).astype(np.int64)
    except ValueError:
        # It has been changed before.
        return packed
    for _ in range(rng.choice([1, 1, 2, 20])):
        kind = rng.choice(["set", "add", "swap", "remove", "insert"])
        if kind == "insert" or len(values) == 0:
            values = np.insert(values, rng.randint(0, len(values)), rng.choice([0, 1, 2**31 - 2]))
            continue
        i, j = rng.randrange(len(values)), rng.randrange(len(values))
        if kind == "set":
            values[i] = rng.choice([0, 1, 2, 255, 2**16, 2**31 - 2, int(values[j])])
        elif kind == "add":
            values[i] = min(max(0, values[i] + rng.choice([-1, 1])), 2**31 - 2)
        elif kind == "swap":
            values[[i, j]] = values[[j, i]]
        else:
            values = np.delete(values, i)
    return pack_integers(values)


def changed_value(value: Any, rng: random.Random) -> Any:
    """Another value, of the same kind or of another one."""
    if rng.random() < 0.1:
        return rng.choice([None, True, "", "x", b"", -1, 0.5, [], {}, [None], {"x": 1}])
    if isinstance(value, float):
        return rng.choice([*_FLOATS, -value, value * 2, value + 1e-9])
    if isinstance(value, int):
        return rng.choice([*_NUMBERS, max(-(2**63), value - 1), min(2**63, value + 1)])
    if isinstance(value, str):
        return rng.choice(["", value[:-1], value * 2, value + "||x", "\0", "x" * 10_000])
    if isinstance(value, bytes):
        return damage_bytes(value, rng) if value else b"\0"
    if isinstance(value, np.ndarray):
        changed = value.copy().ravel()
        if len(changed):
            changed[rng.randrange(len(changed))] = rng.choice(
                [0.0, -1.0, 99.0, 1e30, float("inf"), float("nan")]
            )
        return changed.reshape(value.shape) if rng.random() < 0.8 else changed[:-1]
    if isinstance(value, list):
        return rng.choice([value[::-1], value[:-1], value * 2, []])
    return {}
