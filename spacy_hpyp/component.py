"""The trainable spaCy component `hpyp_parser`."""

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import srsly
from spacy import util
from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Config, Model, Optimizer

from .annotation import Encoder, GoldSentence, Layout, encode_docs, join, raw_sentences, read_gold, write_parses
from .architectures import JOINT_MODEL, add_gradients, joint_model, set_joint_model, weights_of
from .extensions import register_extensions
from .hpyp.franchise import NONE
from .inference.beam import Search
from .inference.particle_filter import Parses
from .model import JointModel
from .scorer import score
from .text.vocabulary import Vocabulary

register_extensions()

DEFAULT_CONFIG = """
[hpyp_parser]
particles = 1000
lookahead = 0.5
threads = 1
tags = "joint"
seed = 0
scorer = {"@scorers": "spacy-hpyp.scorer.v1"}

[hpyp_parser.model]
@architectures = "spacy-hpyp.HPYPModel.v1"
transition = [["s1.tag", "s2.tag", "s1.right.tag", "s1.left.tag", "s3.tag", "s2.right.tag", "s1.word", "s2.word"]]
tag = [["s1.tag", "s2.tag", "s1.right.tag", "s1.left.tag", "s3.tag", "s2.right.tag", "s1.word", "s2.word"]]
word = [["next.tag", "s1.tag", "s1.right.tag", "s1.left.tag", "s1.word", "s2.word"]]
min_count = 2
min_class_count = 5
open_class_below = 50

[hpyp_parser.model.unknown_words]
@misc = "spacy-hpyp.UniversalUnknownWords.v1"
"""


@Language.factory(
    "hpyp_parser",
    assigns=[
        "token.tag",
        "token.dep",
        "token.head",
        "token.is_sent_start",
        "doc.sents",
        "token._.log_prob",
        "span._.log_prob",
        "doc._.log_prob",
    ],
    default_config=Config().from_str(DEFAULT_CONFIG)["hpyp_parser"],
    default_score_weights={
        "tag_acc": 0.2,
        "dep_uas": 0.4,
        "dep_las": 0.4,
        "dep_las_per_type": None,
        "sents_p": None,
        "sents_r": None,
        "sents_f": 0.0,
    },
)
def make_hpyp_parser(
    nlp: Language,
    name: str,
    model: Model,
    particles: int,
    lookahead: float,
    threads: int,
    tags: str,
    seed: int,
    scorer: Callable | None,
) -> "HPYPParser":
    """Make a generative tagger and parser; see `HPYPParser`."""
    return HPYPParser(
        nlp.vocab,
        model,
        name,
        particles=particles,
        lookahead=lookahead,
        threads=threads,
        tags=tags,
        seed=seed,
        scorer=scorer,
    )


class UnreadableModelError(ValueError):
    """A model that is damaged or belongs to another version or config."""


class HPYPParser(TrainablePipe):
    """A joint tagger and parser with a generative model (Buys & Blunsom 2015).

    It sets `token.tag_`, `token.head`, `token.dep_` and sentence boundaries, and `_.log_prob` of tokens, sentences and
    documents (see `spacy_hpyp.extensions`).

    vocab (Vocab): The shared vocabulary.
    model (Model): Made by `spacy-hpyp.HPYPModel.v1`.
    name (str): The name of the component instance.
    particles (int): K of Algorithm 1; more particles search more and take longer.
    lookahead (float): What the selection step expects a word that is still on the stack to cost, in nats. It keeps
        derivations from putting attachments off, above all where sentence boundaries are not given; 0 is Algorithm 1
        to the letter.
    threads (int): How many threads decode a batch. The result does not depend on it.
    tags (str): "joint" finds the tags together with the tree; "given" uses `token.tag_` as found, from a tagger or gold.
    seed (int): Fixes training bit for bit.
    scorer (Callable | None): What `score` calls.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "hpyp_parser",
        *,
        particles: int = 1000,
        lookahead: float = 0.5,
        threads: int = 1,
        tags: str = "joint",
        seed: int = 0,
        scorer: Callable | None = score,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.cfg: dict[str, Any] = {}
        self.particles = particles
        self.lookahead = lookahead
        self.threads = threads
        self.tags = tags
        self.seed = _whole("seed", seed, least=0)
        self.scorer = scorer
        self._reset_training()

    # Settings

    @property
    def particles(self) -> int:
        """K, the number of particles."""
        return self._particles

    @particles.setter
    def particles(self, value: int) -> None:
        self._particles = _whole("particles", value, least=1)

    @property
    def lookahead(self) -> float:
        """What the selection step expects a word that is still on the stack to cost, in nats."""
        return self._lookahead

    @lookahead.setter
    def lookahead(self, value: float) -> None:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value < float("inf"):
            raise ValueError(f"'lookahead' must be a finite number of nats, 0 or more, not {value!r}.")
        self._lookahead = float(value)

    @property
    def threads(self) -> int:
        """The number of threads that decode a batch."""
        return self._threads

    @threads.setter
    def threads(self, value: int) -> None:
        self._threads = _whole("threads", value, least=1)

    @property
    def tags(self) -> str:
        """Whether tags are found ("joint") or used as they are ("given")."""
        return self._tags

    @tags.setter
    def tags(self, value: str) -> None:
        if value not in ("joint", "given"):
            raise ValueError(f"'tags' of the component '{self.name}' must be \"joint\" or \"given\", not {value!r}.")
        if value == "joint" and not self.joint.is_lexicalised:
            raise ValueError(
                f"The component '{self.name}' has no context list for words: an unlexicalised model cannot find tags. "
                'Set tags = "given" and put a tagger before it.'
            )
        self._tags = value

    @property
    def joint(self) -> JointModel:
        """The probability model itself."""
        return joint_model(self.model)

    @property
    def labels(self) -> tuple[str, ...]:
        """The arc labels, including those that pseudo-projective trees need."""
        return tuple(self.joint.labels)

    @property
    def label_data(self) -> dict[str, list[str]]:
        """Tags and labels, as `spacy init labels` writes them and `initialize` takes them."""
        return {"tags": list(self.joint.tags), "labels": list(self.joint.labels)}

    # Training

    def _reset_training(self) -> None:
        #: How many copies of each sentence the corpus has, as far as it is known.
        self._copies: Counter[bytes] = Counter(self.joint.seated)
        self._visited = 0
        self._encoded: dict[bytes, np.ndarray | None] = {}
        self._skipped: Counter[str] = Counter()
        self._warned = False
        self._loss = (0.0, 0)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: dict[str, list[str]] | None = None,
    ) -> None:
        """Collect the vocabulary, the tags and the labels of the training data, and forget what was learned before.

        get_examples (Callable): Returns examples with gold annotation; their reference documents are what is learned.
        nlp (Language | None): The pipeline.
        labels (dict | None): Tags and labels, as `label_data`; without them, those of the examples.
        RAISES (ValueError): If no sentence has tags and a tree.
        """
        validate_get_examples(get_examples, "HPYPParser.initialize")
        gold: dict[bytes, GoldSentence] = {}
        copies: Counter[bytes] = Counter()
        skipped: Counter[str] = Counter()
        for example in get_examples():
            for raw in raw_sentences(example.reference):
                key = raw.key
                if key not in gold:
                    sentence = read_gold(raw, example.reference.vocab)
                    if isinstance(sentence, str):
                        skipped[sentence] += 1
                        continue
                    gold[key] = sentence
                copies[key] += 1
        if not gold:
            raise ValueError(
                f"The component '{self.name}' cannot be initialized: none of the training examples has a sentence with "
                f"a tag for every token and a complete tree{_listed(skipped)}. Is the right file in the corpus?"
            )
        if labels is None:
            tags = sorted({tag for sentence in gold.values() for tag in sentence.tags})
            arcs = {
                label
                for sentence in gold.values()
                for label, head in zip(sentence.labels, sentence.heads)
                if head != NONE
            }
            labels = {"tags": tags, "labels": sorted(arcs)}
        known_tags = {tag: number for number, tag in enumerate(labels["tags"])}
        model = self.joint
        usable = {key: s for key, s in gold.items() if known_tags.keys() >= set(s.tags)}
        vocabulary = Vocabulary.collect(
            (
                (sentence.words, [known_tags[tag] for tag in sentence.tags])
                for key, sentence in usable.items()
                for _ in range(copies[key])
            ),
            labels["tags"],
            model.vocabulary_settings,
        )
        model.initialize(labels["labels"], vocabulary)
        set_joint_model(self.model, model)
        self._reset_training()
        encoder = Encoder(model)
        for key, sentence in gold.items():
            self._remember(key, encoder.encode(sentence), copies[key])
        self._copies = Counter({key: copies[key] for key, rows in self._encoded.items() if rows is not None})
        self._skipped.update(skipped)
        self._warn_of_skipped(sum(copies.values()) + sum(skipped.values()))

    def _remember(self, key: bytes, encoded: np.ndarray | str, count: int) -> None:
        if isinstance(encoded, str):
            self._skipped[encoded] += count
            self._encoded[key] = None
        else:
            self._encoded[key] = encoded

    def _warn_of_skipped(self, total: int) -> None:
        if self._skipped and not self._warned:
            self._warned = True
            number = sum(self._skipped.values())
            warnings.warn(
                f"The component '{self.name}' skips {number} of {total} training sentences{_listed(self._skipped)}.",
                stacklevel=3,
            )

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """One Gibbs step for each sentence: remove its customers, where they are seated, and add them again.

        When every sentence that the corpus is known to have has been visited, the discounts and strengths are resampled.
        A sentence is recognised by its content, so it does not matter who made the Example.

        examples (Iterable[Example]): Their reference documents are learned.
        drop (float): Not used: a Bayesian model has no dropout.
        sgd (Optimizer | None): Updates the weights of pools, by the gradient of the log-likelihood of sentences that were
            removed and not yet added again. Without one the gradient is kept for `finish_update`.
        losses (dict[str, float] | None): Gets, under the component's name, the negative log-likelihood for each token in
            nats, of all updates since the name was last missing. Every sentence is predicted from all others.
        RETURNS (dict[str, float]): The losses.
        """
        losses = {} if losses is None else losses
        if self.name not in losses:
            self._loss = (0.0, 0)
            losses[self.name] = 0.0
        examples = list(examples)
        validate_examples(examples, "HPYPParser.update")
        model = self._initialized()
        encoder = Encoder(model)
        batch: list[np.ndarray] = []
        seated: list[bool] = []
        for example in examples:
            for raw in raw_sentences(example.reference):
                key = raw.key
                if key not in self._encoded:
                    sentence = read_gold(raw, example.reference.vocab)
                    encoded = sentence if isinstance(sentence, str) else encoder.encode(sentence)
                    self._remember(key, encoded, 1)
                rows = self._encoded[key]
                if rows is None:
                    continue
                present = model.seated.get(key, 0)
                if self._copies[key] == 0:
                    self._copies[key] = 1
                seated.append(present >= self._copies[key])
                if not seated[-1]:
                    model.seated[key] = present + 1
                batch.append(rows)
        if batch:
            rng = np.random.default_rng([self.seed, model.steps])
            model.steps += 1
            sentences = join(batch)
            total, tokens = self._loss
            log_probabilities, gradient = model.visit(sentences, np.array(seated), rng, self.threads)
            total -= sum(log_probabilities.values())
            # What is learned from sentences that the model has not seen before is not what it will need to know.
            if all(seated):
                add_gradients(self.model, gradient, len(sentences.words))
            self._loss = (total, tokens + len(sentences.words))
            losses[self.name] = total / self._loss[1]
            self._visited += len(batch)
            if self._visited >= self._copies.total():
                model.resample(rng)
                self._visited = 0
                self._warn_of_skipped(self._copies.total() + sum(self._skipped.values()))
            if sgd is not None:
                self.finish_update(sgd)
        return losses

    def get_loss(self, examples: Iterable[Example], scores: tuple[Layout, Parses]) -> tuple[float, None]:
        """The negative log-likelihood of parsed documents for each token, in nats, as the beam sums it up.

        examples (Iterable[Example]): Not needed: what the model predicts is the text itself.
        scores (tuple[Layout, Parses]): What `predict` returned for the examples.
        RETURNS (tuple[float, None]): The loss. There is no gradient: the model learns by Gibbs sampling.
        """
        validate_examples(examples, "HPYPParser.get_loss")
        values = scores[1].log_probability
        return (-float(values.mean()) if len(values) else 0.0), None

    # Prediction

    def _initialized(self) -> JointModel:
        model = self.joint
        if not model.is_initialized:
            raise ValueError(
                f"The component '{self.name}' has not been trained. Train it with 'python -m spacy train' (see "
                "configs/paper.cfg), load a trained pipeline with 'spacy.load', or call 'nlp.initialize' and 'nlp.update'."
            )
        return model

    def predict(self, docs: Iterable[Doc]) -> tuple[Layout, Parses]:
        """Parse documents without changing them.

        docs (Iterable[Doc]): Where sentence boundaries are set they are kept; elsewhere the model finds them.
        RETURNS (tuple[Layout, Parses]): The best trees, and where their words stand.
        RAISES (ValueError): If the component has not been trained, or should use tags that are not there.
        """
        model = self._initialized()
        blocks, layout = encode_docs(list(docs), Encoder(model), given_tags=self.tags == "given")
        search = Search(self.particles, self.lookahead)
        return layout, self.model.predict((blocks, search, self.threads))

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Layout, Parses]) -> None:
        """Write parses into documents.

        docs (Iterable[Doc]): The documents that were parsed.
        scores (tuple[Layout, Parses]): What `predict` returned for them.
        """
        write_parses(list(docs), *scores, self.joint)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score parsed examples by the component's scorer."""
        if self.scorer is None:
            return {}
        return self.scorer(examples, **kwargs)

    # Storage

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """Serialize the component, with everything that training needs to go on.

        exclude (Sequence[str]): Names of parts to leave out: "vocab", "model".
        RETURNS (bytes): The component.
        """
        parts = {"model": self.model.to_bytes, "vocab": lambda: self.vocab.to_bytes(exclude=exclude)}
        return util.to_bytes(parts, exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Sequence[str] = ()) -> "HPYPParser":
        """Load the component from bytes; on an error it stays as it was.

        RAISES (ValueError): If the bytes are damaged or belong to another model.
        """
        readers = {"vocab": lambda data: self.vocab.from_bytes(data, exclude=exclude), "model": self._read_model}
        try:
            message = srsly.msgpack_loads(bytes_data)
            if "model" not in message and "model" not in exclude:
                raise ValueError("there is no model in it")
            for part, read in readers.items():
                if part in message and part not in exclude:
                    read(message[part])
        except UnreadableModelError:
            raise
        except Exception as error:
            raise ValueError(f"The component '{self.name}' cannot be read: {error}.") from error
        return self

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Save the component to a directory.

        The model is one file that takes the place of the previous one only when it is complete: a full disk or an
        interrupt leaves what was there before.
        """
        parts = {
            "model": lambda file: replace_file(file, self.model.to_bytes()),
            "vocab": lambda folder: self.vocab.to_disk(folder, exclude=exclude),
        }
        util.to_disk(path, parts, exclude)

    def from_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> "HPYPParser":
        """Load the component from a directory; on an error it stays as it was.

        RAISES (ValueError): If the model file is damaged or belongs to another model.
        """
        # The model comes last: if something is damaged, the component stays as it was.
        readers = {
            "vocab": lambda folder: self.vocab.from_disk(folder, exclude=exclude),
            "model": lambda file: self._read_model(file.read_bytes(), file),
        }
        util.from_disk(path, readers, exclude)
        return self

    def _read_model(self, data: bytes, source: Path | None = None) -> None:
        where = f" from {source}" if source else ""
        try:
            message = srsly.msgpack_loads(data)
            (attributes,), (parameters,) = message["attrs"], message["params"]
            loaded = self.model.attrs[JOINT_MODEL].from_bytes(attributes["joint_model"])
            loaded.set_weights(weights_of(parameters))
        except Exception as error:
            raise UnreadableModelError(
                f"The model of the component '{self.name}' cannot be read{where}: {error}. "
                "The file is damaged, or belongs to another version or another config; train or install it again."
            ) from error
        set_joint_model(self.model, loaded)
        self._reset_training()


def _whole(setting: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"'{setting}' must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def _listed(problems: Counter[str]) -> str:
    if not problems:
        return ""
    return " (" + ", ".join(f"{count} {problem}" for problem, count in problems.most_common()) + ")"


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that at every moment either the old or the new content stands under its name."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
