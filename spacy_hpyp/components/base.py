"""What the trainable components of this package have in common: labels, learning, scores, and the errors for people."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal

from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..annotation.documents import unannotated
from ..annotation.noun_chunks import use_noun_chunks
from ..annotation.syntactic_words import has_multiword_tokens, words_as_tokens, write_back
from ..models.guard import Guard
from ..models.stored import ClassedModel
from ..settings import Settings
from .stored import StoredComponent
from .word_classes import given_classes

# In the place of a scorer: none was given.
_USUAL: Any = object()


class TrainableComponent(StoredComponent):
    """A component that learns from examples, and whose settings are attributes. How these are saved, and overridden, `StoredComponent` says.

    A subclass is made known to spaCy by `factories.register`, and it defines

    * `factory` (str): The name under which spaCy knows the component, for what errors tell people to do.
    * `settings_type` (type[Settings]): The dataclass of its settings.
    * `attribute` (str): The attribute of the thinc Model that holds what learns, which has a `guard`.
    * `default_scorer` (Callable | None): What `score` calls where nothing else is said.
    * `initialize`, `get_loss`, `predict` and `set_annotations`, with spaCy's signatures; and `_learn_from`, which `update` calls.

    Where it needs to, it overrides `labels` and `label_data`, `_check_settings` (what the model cannot do), `_known_labels` (what is a
    label besides `labels`), `_reset_training` (what else to forget), `_load_model` and `_replace_model`.

    vocab (Vocab): The shared vocabulary.
    model (Model): A thinc Model of one layer.
    name (str): The name of the component instance; that of its factory if there is none.
    scorer (Callable | None): What `score` calls; if it is not given, the usual one.
    **settings: Those of `settings_type`, see `spacy_hpyp.components.settings`.
    RAISES (ValueError): If a setting is not what it may be.
    """

    factory: ClassVar[str]
    settings_type: ClassVar[type[Settings]]
    default_scorer: ClassVar[Callable | None] = None

    def __init__(
        self, vocab: Vocab, model: Model, name: str = "", *, scorer: Callable | None = _USUAL, **settings: Any
    ) -> None:
        self.vocab = vocab
        use_noun_chunks(vocab)
        self.model = model
        self.name = name or self.factory
        self.cfg: dict[str, Any] = {}
        self.scorer = self.default_scorer if scorer is _USUAL else scorer
        self._settings = self.settings_type()
        self.change(**settings)
        self._given = self.settings
        self._reset_training()

    @classmethod
    def settings_in(cls, nlp: Language, settings: dict[str, Any]) -> dict[str, Any]:
        """The settings of a component that is being made for the end of a pipeline."""
        return settings

    @property
    def learned(self) -> Any:
        """What learns, and has learned: the model itself."""
        return given_classes(self.model.attrs[self.attribute], self.vocab)

    @property
    def guard(self) -> Guard:
        """Lets one thread at a time read what has been learned, or change it."""
        return self.learned.guard

    @property
    def settings(self) -> Any:
        """The settings as they are now, without the scorer."""
        return self._settings

    def change(self, **settings: Any) -> None:
        """Change some settings, or on an error none of them.

        RAISES (ValueError): If one is not what it may be, or nothing that the model can do.
        """
        self._settings = self._changed(settings)

    def _changed(self, settings: dict[str, Any]) -> Any:
        try:
            changed = replace(self._settings, **settings)
            self._check_settings(changed)
        except ValueError as error:
            raise ValueError(f"Settings of the component '{self.name}': {error}") from error
        return changed

    # What a subclass defines, and may define otherwise

    def _check_settings(self, settings: Settings) -> None:
        """See that settings, each of which may be what it is, are together something that the model can do.

        RAISES (ValueError): If they are not.
        """

    @property
    def is_trained(self) -> bool:
        """Whether the component has learned, or been given, anything that it can predict with."""
        return self.learned.is_initialized

    @property
    def labels(self) -> tuple[str, ...]:
        """There are none."""
        return ()

    @property
    def label_data(self) -> Any:
        """There is none."""

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        """Learn from some examples; see `update`. What has been lost `_count_loss` writes down.

        RETURNS (bool): Whether `_end_pass` is to be called.
        """
        raise NotImplementedError

    def _end_pass(self) -> None:
        """Learn what is to be learned when all of the training data have been gone through, and weights have been updated."""

    def _reset_training(self) -> None:
        self._loss = (0.0, 0)

    @property
    def _known_labels(self) -> Collection[str]:
        """What `add_label` need not add."""
        return self.labels

    # Prediction

    def __call__(self, doc: Doc, **options: Any) -> Doc:
        """Predict for a document, see `pipe`."""
        return next(self.pipe([doc], **options), doc)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128, **options: Any) -> Iterator[Doc]:
        """Predict for documents, some at a time. What is read, and what something is found for, are their syntactic words.

        stream (Iterable[Doc]): The documents; they are changed and yielded.
        batch_size (int): How many at a time.
        **options: What `predict` takes besides, as `component_cfg` of `nlp.pipe` has it.
        """
        for docs in util.minibatch(stream, size=batch_size):
            words = list(map(words_as_tokens, docs))
            try:
                self.set_annotations(words, self.predict(words, **options))
                for each, doc in zip(words, docs):
                    write_back(each, doc)
                    # A component that was taken over from another pipeline has that one's vocabulary.
                    use_noun_chunks(doc.vocab, doc)
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)
            else:
                yield from docs

    # Labels, training and scores

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | Literal[False] | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from some examples.

        examples (Iterable[Example]): What is learned are the reference documents.
        drop (float): What is left out at random, for components that leave something out; count models have no dropout.
        sgd (Optimizer | Literal[False] | None): Updates the parameters of the model, if they are learned by a gradient. Without one
            the gradient is kept for `finish_update`.
        losses (dict[str, float] | None): Gets, under the component's name, the mean loss of all updates since the name was last
            missing; what it is of, the class says.
        RETURNS (dict[str, float]): The losses.
        RAISES (ValueError): If the component has not been initialized.
        """
        losses = {} if losses is None else losses
        if self.name not in losses:
            self._loss = (0.0, 0)
            losses[self.name] = 0.0
        examples = self._examples(examples, "update")
        self._check_trained()
        is_passed = self._learn_from(examples, drop, losses)
        if sgd:
            self.finish_update(sgd)
        if is_passed:
            self._end_pass()
        return losses

    def _loss_of(self, examples: list[Example], scores: Any) -> float:
        """See `get_loss`."""
        raise NotImplementedError

    def _count_loss(self, losses: dict[str, float], loss: float, count: int) -> None:
        """Add to the losses what an update has lost in all, of so many."""
        self._loss = (self._loss[0] + loss, self._loss[1] + count)
        losses[self.name] = self._loss[0] / max(1, self._loss[1])

    def finish_update(self, sgd: Optimizer) -> None:
        """Update the parameters of the model by the gradients that `update` has kept.

        sgd (Optimizer): How.
        """
        self.guard.change(lambda: self.model.finish_update(sgd))

    def get_loss(self, examples: Iterable[Example], scores: Any) -> tuple[float, None]:
        """The mean loss of what was predicted. There is no gradient: what learns here has other ways.

        examples (Iterable[Example]): Predicted and reference documents.
        scores (Any): What `predict` returned for the predicted ones.
        RETURNS (tuple[float, None]): The loss; what it is of, the class says.
        """
        return self._loss_of(self._examples(examples, "get_loss"), scores), None

    def add_label(self, label: str) -> int:
        """Labels cannot be added to a model: they are fixed by `initialize`.

        label (str): A tag or a label.
        RETURNS (int): 0 if the model has it already.
        RAISES (NotImplementedError): If it has not.
        """
        if label in self._known_labels:
            return 0
        raise NotImplementedError(
            f"The component '{self.name}' cannot be given the label {label!r}: its tags and labels are fixed by "
            "'nlp.initialize', which takes those of the training examples, or those of 'initialize(labels=...)' in the "
            "form of 'label_data'; in a config, [initialize.components] reads what 'spacy init labels' wrote."
        )

    def _check_trained(self) -> None:
        """RAISES (ValueError): If the component has not been trained, or reads classes of words that the pipeline does not have."""
        if not self.is_trained:
            raise ValueError(
                f"The component '{self.name}' has not been trained. Train it with 'python -m spacy train' ('python -m "
                f"spacy init config --pipeline {self.factory}' writes a config), load a trained pipeline with 'spacy.load', or "
                "call 'nlp.initialize' and 'nlp.update'."
            )
        if isinstance(self.learned, ClassedModel):
            self.learned.check_classes(f"component '{self.name}'")

    def _nothing_to_learn(self, what: str) -> ValueError:
        """The error that none of the training examples has what it takes, named with an article."""
        return ValueError(
            f"The component '{self.name}' cannot be initialized: none of the training examples has {what}. Is the right file in the corpus?"
        )

    def _examples(self, examples: Iterable[Example], method: str) -> list[Example]:
        """What a method of this name is given, as a list of Examples whose tokens are syntactic words."""
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.{method}")
        return list(map(example_of_words, examples))

    def _initial_examples(self, get_examples: Callable[[], Iterable[Example]]) -> list[Example]:
        """What `initialize` is given."""
        validate_get_examples(get_examples, f"{type(self).__name__}.initialize")
        return list(map(example_of_words, get_examples()))

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Compare predicted examples with their gold annotation, by the component's scorer.

        examples (Iterable[Example]): Predicted and reference documents.
        RETURNS (dict[str, Any]): The scores; none without a scorer.
        RAISES (TypeError): If it is a Doc that is given.
        """
        if isinstance(examples, Doc):
            raise TypeError(
                "'score' compares Examples with their gold annotation, but what it was given is a Doc."
                f"{self.instead_of_score}"
            )
        return {} if self.scorer is None else self.scorer(examples, **kwargs)

    #: What somebody who gives `score` a Doc may have been looking for; a sentence after a space.
    instead_of_score: ClassVar[str] = ""


def example_of_words(example: Example) -> Example:
    """An example whose tokens are the syntactic words of another's; that one itself if it has no multiword tokens.

    In the place of the words that the tokenizer finds there are the gold words, since both must be made of the same characters.
    """
    if not (has_multiword_tokens(example.reference) or has_multiword_tokens(example.predicted)):
        return example
    reference = words_as_tokens(example.reference)
    return Example(unannotated(reference), reference)


def listed(problems: Counter[str]) -> str:
    """Why some sentences cannot be learned from, in brackets, for the end of a clause.

    problems (Counter[str]): How many there are by what is wrong with them.
    RETURNS (str): Nothing if there are none.
    """
    if not problems:
        return ""
    return " (" + ", ".join(f"{count} {problem}" for problem, count in problems.most_common()) + ")"
