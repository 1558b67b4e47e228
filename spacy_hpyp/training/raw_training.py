"""Learning from raw text: the best parse of each sentence is taken for its tree (B&B section 5.4).

Text is read once, a batch at a time. A batch is parsed with a frozen view of the model, then its events are
added, to the word distribution alone or to all of them. What has been added stays: memory grows with the
model, not with the text.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import srsly

from ..annotation.arrays import Blocks, Parses, Sentences, block_starts, sentence_blocks
from ..arc_standard.decoding import cut, decode
from ..arc_standard.distributions import DISTRIBUTIONS
from ..arc_standard.events import static_derivations
from ..compiled import NONE
from ..inference.rounding import Search
from ..interrupts import interrupts_deferred
from ..models.joint_model import JointModel
from ..settings import whole
from ..storage.files import prepare_folder, replace_folder

#: Distributions that learn, by the name of the setting.
LEARNING = {"words": ("word",), "all": DISTRIBUTIONS}
_MODEL, _CHECKPOINT, _PROGRESS = "model-last", "checkpoint", "progress.json"


@dataclass(frozen=True)
class RawTextProgress:
    """The progress of learning from raw text.

    texts, sentences, words (int): Those that have been learned from.
    log_prob (float): The sum of their log-probabilities in nats, each batch before it was added.
    """

    texts: int = 0
    sentences: int = 0
    words: int = 0
    log_prob: float = 0.0


def parsed_sentences(blocks: Blocks, parses: Parses) -> Sentences:
    """Return the sentences that a parser has found in some blocks."""
    offsets = cut(blocks, parses.heads).offsets
    heads = parses.heads + block_starts(blocks.offsets) - block_starts(offsets)
    return Sentences(
        words=blocks.words,
        tags=parses.tags,
        heads=np.where(parses.heads == NONE, NONE, heads).astype(np.int32),
        labels=parses.labels,
        offsets=offsets,
    )


def learn_from_text(
    model: JointModel,
    texts: Iterable[Sequence[str]],
    output: Path,
    *,
    save: Callable[[Path], None],
    search: Search,
    seed: int,
    threads: int,
    segmented: bool,
    learning: str = "words",
    batch_words: int = 50_000,
    checkpoint_words: int = 1_000_000,
) -> Iterator[RawTextProgress]:
    """Learn from raw text, and save the pipeline now and then.

    If the output directory has a checkpoint, learning goes on from there: the model has to be the
    checkpoint's (see `last_checkpoint`).

    texts (Iterable[Sequence[str]]): The words of each text that comes after the checkpoint.
    output (Path): Gets `model-last` in the end, and a checkpoint before that.
    save (Callable[[Path], None]): Saves the pipeline to a directory: its `to_disk`.
    segmented (bool): Whether each text is one sentence; else the parser finds the sentences.
    learning (str): "words" or "all", see `LEARNING`.
    batch_words (int): About how many words are parsed with the same view of the model.
    checkpoint_words (int): The number of words between checkpoints.
    YIELDS (RawTextProgress): After each batch, what has been learned since the beginning.
    RAISES (ValueError): If there are no words, a number of words is less than 1, or the parser has not been
        trained or generates no words.
    """
    whole("batch_words", batch_words)
    whole("checkpoint_words", checkpoint_words)
    if not model.is_initialized or not model.is_lexicalised:
        raise ValueError(
            "An unlexicalised model, or one that has not been trained, cannot learn from raw text."
        )
    prepare_folder(output)
    search = search._replace(marginals=False, consensus=False)
    done = last_checkpoint(output)[1]
    saved = done.words
    for batch in _batches(texts, batch_words):
        words, log_prob, sentences = _parse(model, batch, search, threads, segmented=segmented)
        _add(model, sentences, learning, seed=seed, threads=threads)
        done = RawTextProgress(
            done.texts + len(batch),
            done.sentences + len(sentences.offsets) - 1,
            done.words + words,
            done.log_prob + log_prob,
        )
        if done.words - saved >= checkpoint_words:
            _resample(model, seed)
            save_checkpoint(save, output, done)
            saved = done.words
        yield done
    if done.words == 0:
        raise ValueError("There are no words in the text: nothing can be learned from it.")
    _resample(model, seed)
    _replace(output / _MODEL, save)
    for left in output.glob(f"{_CHECKPOINT}*"):
        shutil.rmtree(left)


def _batches(texts: Iterable[Sequence[str]], size: int) -> Iterator[list[Sequence[str]]]:
    """Group texts into batches of about so many words."""
    batch, words = [], 0
    for text in chain(texts, [None]):
        if text is not None:
            batch.append(text)
            words += len(text)
        if words >= size or (text is None and words):
            yield batch
            batch, words = [], 0


def _parse(
    model: JointModel, batch: list[Sequence[str]], search: Search, threads: int, *, segmented: bool
) -> tuple[int, float, Sentences]:
    """Parse some texts: their number of words, their log-probability, and their trees."""
    numbers = [model.vocabulary.numbers_observed(text) for text in batch if len(text)]
    blocks = sentence_blocks([np.array(own, dtype=np.int32) for own in numbers])
    blocks = blocks._replace(may_start=np.full(len(blocks.words), not segmented))
    parses = decode(model.frozen, blocks, search, threads)
    found = parsed_sentences(blocks, parses)
    # The model learns the words that it generates.
    found = found._replace(words=model.vocabulary.outcomes[found.words])
    return len(blocks.words), float(parses.log_probability.sum()), found


def _add(model: JointModel, sentences: Sentences, learning: str, *, seed: int, threads: int) -> None:
    """Add the events of trees to the model."""
    unseated = np.zeros(len(sentences.offsets) - 1, dtype=bool)
    derivations = static_derivations(sentences)

    rng = np.random.default_rng([seed, model.progress.steps])
    with interrupts_deferred():
        model.progress.steps += 1
        model.visit(sentences, derivations, unseated, rng, threads, LEARNING[learning])
        model.progress.tokens += len(sentences.words)


def _resample(model: JointModel, seed: int) -> None:
    rng = np.random.default_rng([seed, model.progress.steps, 1])
    with interrupts_deferred():
        model.resample(rng)


def save_checkpoint(save: Callable[[Path], None], output: Path, done: RawTextProgress) -> None:
    """Save a pipeline, with how far it is, in the place of the previous checkpoint."""

    def save_both(folder: Path) -> None:
        save(folder)
        srsly.write_json(folder / _PROGRESS, asdict(done))

    _replace(output / _CHECKPOINT, save_both)


def _replace(path: Path, save: Callable[[Path], None]) -> None:
    """Save to a directory that takes the place of an older one when it is complete."""
    complete = path.with_name(f"{path.name}.new")
    shutil.rmtree(complete, ignore_errors=True)
    save(complete)
    replace_folder(path, complete)


def last_checkpoint(output: Path) -> tuple[Path | None, RawTextProgress]:
    """Find where learning was interrupted.

    RETURNS (tuple[Path | None, RawTextProgress]): The last checkpoint's pipeline, if there is one, and how
        far it is.
    """
    # Between the two steps of `replace_folder` only the old one is there.
    for name in (_CHECKPOINT, f"{_CHECKPOINT}.old"):
        if (output / name / _PROGRESS).exists():
            return output / name, RawTextProgress(**srsly.read_json(output / name / _PROGRESS))
    return None, RawTextProgress()
