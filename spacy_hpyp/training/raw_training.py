"""Learning from raw text: the best parse of each sentence is taken for its tree (B&B section 5.4).

Text is read once, a batch at a time. A batch is parsed with a frozen view of the model, then its events are
added, to the word distribution alone or to all of them. What has been added stays: memory grows with the
model, not with the text. Who parses does not matter: trees are added in the order of the text.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import srsly

from ..annotation.arrays import Blocks, Parses, Sentences, block_starts, joined, sentence_blocks
from ..arc_standard.decoding import cut, decode
from ..arc_standard.distributions import DISTRIBUTIONS
from ..arc_standard.events import static_derivations
from ..compiled import NONE
from ..inference.rounding import Search
from ..models.joint_model import JointModel
from ..settings import whole
from ..storage.arrays import load_arrays, save_arrays
from ..storage.checksum import DAMAGE
from ..storage.files import prepare_folder, replace_file, replace_folder, synchronise_folder

#: Which distributions learn, by the name of the setting.
LEARNING = {"words": ("word",), "all": DISTRIBUTIONS}
PROGRESS_FILE = "progress.json"
MODEL_FOLDER = "model-last"


@dataclass(frozen=True)
class RawTextProgress:
    """How far learning from raw text is.

    texts, sentences, words (int): How many have been learned from.
    log_prob (float): The sum of their log-probabilities in nats, each batch before it was added.
    shards (int): How many shards there were, where other processes parse.
    """

    texts: int = 0
    sentences: int = 0
    words: int = 0
    log_prob: float = 0.0
    shards: int = 0

    def __add__(self, other: "RawTextProgress") -> "RawTextProgress":
        return RawTextProgress(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values())))


class ParsedText(NamedTuple):
    """Text with the trees that it is to be learned with.

    ends_round (bool): Whether what comes after it is parsed with what has been learned so far, from a
        checkpoint.
    """

    size: RawTextProgress
    sentences: Sentences
    ends_round: bool = False

    def to_bytes(self) -> bytes:
        """As bytes, 4 to 16 a word."""
        return save_arrays(size=np.array([*asdict(self.size).values()]), **self.sentences._asdict())

    @classmethod
    def from_bytes(cls, data: bytes) -> "ParsedText":
        """From `to_bytes`."""
        arrays = load_arrays(data)
        texts, sentences, words, log_prob, shards = arrays.pop("size").tolist()
        return cls(
            RawTextProgress(int(texts), int(sentences), int(words), log_prob, int(shards)),
            Sentences(**arrays),
        )


def join_parsed(parts: Sequence[ParsedText]) -> ParsedText:
    """Parsed texts as one, which is a shard."""
    nothing = Sentences(*np.zeros((4, 0), dtype=np.int32), np.zeros(1, dtype=np.int64))
    size = sum((part.size for part in parts), RawTextProgress(shards=1))
    return ParsedText(size, joined([nothing, *(part.sentences for part in parts)]))


def parsed_sentences(blocks: Blocks, parses: Parses) -> Sentences:
    """The sentences that a parser has found in some blocks."""
    offsets = cut(blocks, parses.heads).offsets
    heads = parses.heads + block_starts(blocks.offsets) - block_starts(offsets)
    return Sentences(
        words=blocks.words,
        tags=parses.tags,
        heads=np.where(parses.heads == NONE, NONE, heads).astype(np.int32),
        labels=parses.labels,
        offsets=offsets,
    )


def parse_texts(
    model: JointModel,
    texts: Iterable[Sequence[str]],
    *,
    search: Search,
    threads: int,
    segmented: bool,
    batch_words: int = 50_000,
) -> Iterator[ParsedText]:
    """Parse texts, each batch with the model as it is then.

    texts (Iterable[Sequence[str]]): The words of each text. Where learning goes on from a checkpoint, those
        that come after it.
    segmented (bool): Whether each text is one sentence; else the parser finds the sentences.
    batch_words (int): About how many words are parsed with the same view of the model.
    RAISES (ValueError): If that is less than 1.
    """
    whole("batch_words", batch_words)
    search = search._replace(marginals=False, consensus=False)

    def parsed() -> Iterator[ParsedText]:
        some, words = [], 0
        for text in chain(texts, [None]):
            if text is not None:
                some.append(np.array(model.vocabulary.numbers_observed(text), dtype=np.int32))
                words += len(text)
            if words >= batch_words or (text is None and words):
                blocks = sentence_blocks([each for each in some if len(each)])
                blocks = blocks._replace(may_start=np.full(words, not segmented))
                parses = decode(model.frozen, blocks, search, threads)
                found = parsed_sentences(blocks, parses)
                # What is learned is what is generated.
                found = found._replace(words=model.vocabulary.outcomes[found.words])
                log_prob = float(parses.log_probability.sum())
                yield ParsedText(RawTextProgress(len(some), len(found.offsets) - 1, words, log_prob), found)
                some, words = [], 0

    return parsed()


def _add(model: JointModel, sentences: Sentences, learning: str, *, seed: int, threads: int) -> None:
    """Add the events of trees to the model, see `learn_from_trees`."""
    unseated = np.zeros(len(sentences.offsets) - 1, dtype=bool)
    derivations = static_derivations(sentences)

    def add() -> None:
        rng = np.random.default_rng([seed, model.progress.steps])
        model.progress.steps += 1
        model.visit(sentences, derivations, unseated, rng, threads, LEARNING[learning])
        model.progress.tokens += len(sentences.words)

    model.guard.change(add)


def learn_from_trees(
    model: JointModel,
    parsed: Iterable[ParsedText],
    output: Path,
    *,
    save: Callable[[Path], None],
    seed: int,
    threads: int,
    learning: str = "words",
    checkpoint_words: int = 1_000_000,
) -> Iterator[RawTextProgress]:
    """Learn from parsed text, and save the pipeline now and then.

    If the output directory has a checkpoint, learning goes on from there: the model has to be the
    checkpoint's (see `last_checkpoint`), and the texts the same as before.

    parsed (Iterable[ParsedText]): What comes after the checkpoint, if there is one; of each part the model
        has learned when the next one is asked for.
    output (Path): Gets `model-last` in the end, and checkpoints before that.
    save (Callable[[Path], None]): Saves the pipeline to a directory: its `to_disk`.
    learning (str): "words" or "all", see `LEARNING`.
    checkpoint_words (int): After how many words the pipeline is saved; besides, it is after each round.
    YIELDS (RawTextProgress): After each part, what has been learned since the beginning.
    RAISES (ValueError): If there are no words, a number of words is not at least 1, the checkpoint is
        damaged, or the parser has not been trained or generates no words.
    RAISES (OSError): If the output cannot be written; what was saved before is still there then.
    """
    whole("checkpoint_words", checkpoint_words)
    if not model.is_initialized or not model.is_lexicalised:
        raise ValueError(
            "An unlexicalised model, or one that has not been trained, cannot learn from raw text."
        )
    prepare_folder(output)
    done = last_checkpoint(output)[1]
    saved = done.words
    for part in parsed:
        _add(model, part.sentences, learning, seed=seed, threads=threads)
        done += part.size
        if part.ends_round or done.words - saved >= checkpoint_words:
            _resample(model, seed)
            save_checkpoint(save, output, done)
            saved = done.words
        yield done
    if done.words == 0:
        raise ValueError("There are no words in the text: nothing can be learned from it.")
    _resample(model, seed)
    save_last(save, output)


def _resample(model: JointModel, seed: int) -> None:
    rng = np.random.default_rng([seed, model.progress.steps, 1])
    model.guard.change(lambda: model.resample(rng))


def save_checkpoint(save: Callable[[Path], None], output: Path, done: RawTextProgress) -> None:
    """Save a pipeline beside the previous checkpoint, which is removed when the new one is complete."""
    name = f"checkpoint-{done.texts}"
    save(output / name)
    synchronise_folder(output / name)
    replace_file(output / PROGRESS_FILE, srsly.json_dumps({"checkpoint": name, **asdict(done)}).encode())
    _remove_checkpoints(output, name)


def save_last(save: Callable[[Path], None], output: Path) -> None:
    """Save a pipeline as the last one, in the place of an older one, and remove the checkpoints.

    The pipeline is complete before it gets its name, and until it has it the last checkpoint is there.
    """
    complete = output / "checkpoint-end"
    # What an interrupted run may have left.
    shutil.rmtree(complete, ignore_errors=True)
    save(complete)
    replace_folder(output / MODEL_FOLDER, complete)
    # A directory is a checkpoint as long as the progress is there that names it.
    (output / PROGRESS_FILE).unlink(missing_ok=True)
    _remove_checkpoints(output)


def _remove_checkpoints(output: Path, current: str | None = None) -> None:
    for checkpoint in output.glob("checkpoint-*"):
        if checkpoint.name != current:
            shutil.rmtree(checkpoint)


def last_checkpoint(output: Path) -> tuple[Path | None, RawTextProgress]:
    """Where learning was interrupted.

    RETURNS (tuple[Path | None, RawTextProgress]): The last checkpoint's pipeline, if there is one, and how
        far it is.
    RAISES (ValueError): If the checkpoint is damaged.
    """
    file = output / PROGRESS_FILE
    if not file.exists():
        return None, RawTextProgress()
    try:
        state = srsly.read_json(file)
        checkpoint = output / state.pop("checkpoint")
        progress = RawTextProgress(**state)
        for count in ("texts", "sentences", "words", "shards"):
            whole(count, getattr(progress, count), least=0)
        if not isinstance(progress.log_prob, (int, float)):
            raise ValueError("its log-probability is no number")
        if not (checkpoint / "meta.json").exists():
            raise ValueError("its pipeline is not there")
    except DAMAGE as error:
        raise ValueError(
            f"The checkpoint in '{output}' cannot be read: {error}. Remove {file} to start again."
        ) from error
    return checkpoint, progress
