"""Damaged model files: each is refused with a message that names it, or is a model that parses and learns."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import spacy
import srsly
from checks import check_parse, require
from spacy.language import Language
from spacy.training import Corpus, Example

from spacy_hpyp.hpyp.storage import pack_integers, unpack_integers

#: What a case returns.
REFUSED, LOADED = "refused", "loaded"
#: What is damaged: the file as it was saved, or what is written in it.
BYTES, CONTENT = "bytes", "content"
_TEXT = "The ferry leaves at noon. Zenobia forgot the bread, didn't she?"
_NUMBERS = [0, 1, -1, 2, 127, 255, 256, 2**15, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**64 - 1, -(2**31), -(2**63)]
_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 1e308, -1e308, float("inf"), float("-inf"), float("nan")]


def prepare(pipeline: Path, corpus: Path, folder: Path, seed: int) -> Callable[[int], str]:
    """Load a pipeline; see `children.run_cases`.

    pipeline (Path): A trained pipeline, whose model file is the one to be damaged.
    corpus (Path): A `.spacy` file with sentences that it has learned.
    folder (Path): The component, as it was saved, whose file is written over.
    seed (int): Fixes the damage. Cases with even numbers damage the bytes, the others the content.
    RETURNS (Callable): Runs a case, and returns REFUSED or LOADED and BYTES or CONTENT.
    """
    nlp = spacy.load(pipeline, config={"components.hpyp_parser.particles": 5})
    parser = nlp.get_pipe("hpyp_parser")
    saved = (pipeline / "hpyp_parser" / "model").read_bytes()
    # Without a checksum, where the file has one: what has changed inside is not seen at once.
    plain = parser.model.to_bytes()
    examples = list(Corpus(corpus, gold_preproc=True)(nlp))[:4]
    expected = annotation(nlp)
    file = folder / "model"

    def run(number: int) -> str:
        rng = random.Random(f"{seed}/{number}")
        kind = BYTES if number % 2 == 0 else CONTENT
        original = saved if kind == BYTES else plain
        damaged = original
        while damaged == original:
            damaged = damage_bytes(saved, rng) if kind == BYTES else damage_content(plain, rng)
        file.write_bytes(damaged)
        try:
            parser.from_disk(folder, exclude=["vocab"])
        except ValueError as error:
            require(str(file) in str(error), f"the message does not name the file: {error}")
            require(annotation(nlp) == expected, "the model that was there before has changed")
            return f"{REFUSED} {kind}"
        use(nlp, examples)
        require(kind == CONTENT, "the file has a checksum, but a change of its bytes was not seen")
        file.write_bytes(saved)
        parser.from_disk(folder, exclude=["vocab"])
        return f"{LOADED} {kind}"

    return run


def annotation(nlp: Language) -> list[tuple[Any, ...]]:
    """What a pipeline makes of a text."""
    return [(t.tag_, t.dep_, t.head.i, t._.log_prob) for t in nlp(_TEXT)]


def use(nlp: Language, examples: list[Example]) -> None:
    """Parse and learn with a model that should not have been loaded, perhaps: it may only say that it cannot."""
    check_parse(nlp, nlp(_TEXT))
    try:
        nlp.update([Example(nlp.make_doc(example.text), example.reference) for example in examples])
    except ValueError as error:
        require("sentence" in str(error), f"the message of 'update' is: {error}")
    else:
        check_parse(nlp, nlp(_TEXT))


def damage_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change some bytes of a file."""
    changed = bytearray(data)
    size = rng.choice([1, 2, 16, 500, len(data) // 3])
    start, other = rng.randrange(len(data)), rng.randrange(len(data))
    block = data[start : start + size]
    kind = rng.choice(["flip", "set", "zero", "cut", "remove", "insert", "repeat", "swap", "append", "reverse"])
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
    attributes = outer["attrs"][0]
    inner = srsly.msgpack_loads(attributes["joint_model"])
    if rng.random() < 0.1:
        change_somewhere(outer, rng)
    else:
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            change_somewhere(inner, rng)
        attributes["joint_model"] = srsly.msgpack_dumps(inner)
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
            changed[rng.randrange(len(changed))] = rng.choice([0.0, -1.0, 99.0, 1e30, float("inf"), float("nan")])
        return changed.reshape(value.shape) if rng.random() < 0.8 else changed[:-1]
    if isinstance(value, list):
        return rng.choice([value[::-1], value[:-1], value * 2, []])
    return {}
