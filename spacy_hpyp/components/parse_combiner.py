"""The trainable spaCy component `parse_combiner`."""

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..annotation.ballots import ABSENT, Ballots, Gold, Names, join_ballots, read_ballots, read_gold_votes
from ..annotation.documents import ROOT_LABEL, UNLABELLED, Layout, write_trees
from ..annotation.extensions import mark_uncalibrated, register_extensions, write_tag_probability
from ..annotation.words import write_tags
from ..models.vote_architecture import VOTES, votes_from_bytes
from ..models.votes import Result, Votes
from ..settings import attributes, taking
from .base import TrainableComponent, reading_parts
from .factories import default_config
from .keep_parse import KeepParse
from .scorer import make_scorer
from .settings import CombinerSettings

register_extensions()

_DEFAULTS = default_config(CombinerSettings, "parse_combiner")


@Language.factory(
    "parse_combiner",
    assigns=[
        "token.tag",
        "token.dep",
        "token.head",
        "token.is_sent_start",
        "doc.sents",
        "token._.head_prob",
        "token._.tag_prob",
    ],
    requires=["doc._.parses"],
    default_config=_DEFAULTS,
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
@taking(CombinerSettings)
def make_parse_combiner(
    nlp: Language, name: str, model: Model, *, scorer: Callable | None, **settings: Any
) -> "ParseCombiner":
    """Make a combiner of parses; see `ParseCombiner`."""
    if not settings["last"] and nlp.component_names:
        # While the pipeline is being made, the last component is the one before this one.
        settings["last"] = nlp.component_names[-1]
    return ParseCombiner(nlp.vocab, model, name, scorer=scorer, **settings)


@attributes(CombinerSettings)
class ParseCombiner(TrainableComponent):
    """Makes of the parses of several parsers the best tree, by a vote in which each arc has the weight that it has earned.

    It reads the parses that `keep_parse` has kept (`doc._.parses`) and the one that the Doc has when it comes, and sets `token.head`,
    `token.dep_`, `token.tag_`, `token._.head_prob` and `token._.tag_prob`.

    How much a voter's arc, label or tag counts is learned from documents that the voters have not been trained on: a part of the treebank
    that was held out, with the voters as `annotating_components`, or references that have parses of leave-out annotation in
    `doc._.parses`. All documents that it has been given since it was initialized or loaded count.

    Every setting is an attribute; how it is saved and overridden, `TrainableComponent` says.

    vocab (Vocab): The shared vocabulary.
    model (Model): Made by `spacy-hpyp.ParseVotes.v1`.
    name (str): The name of the component instance.
    scorer (Callable | None): What `score` calls.
    **settings: See `spacy_hpyp.components.settings`.
    RAISES (ValueError): If a setting is not what it may be.
    """

    factory = "parse_combiner"
    settings_type = CombinerSettings
    attribute = VOTES

    @taking(CombinerSettings)
    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "parse_combiner",
        *,
        scorer: Callable | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(vocab, model, name, make_scorer() if scorer is None else scorer, settings)
        self._seen: dict[bytes, tuple[Ballots, Gold]] = {}

    @property
    def votes(self) -> Votes:
        """What has been learned."""
        return self.model.attrs[VOTES]

    @property
    def is_trained(self) -> bool:
        """Whether it knows labels, so whether it has been initialized."""
        return bool(self.votes.labels)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that it has learned from. Those of voters may be others."""
        return tuple(self.votes.labels)

    @property
    def label_data(self) -> dict[str, list[str]]:
        """Tags and labels, as `spacy init labels` writes them and `initialize` takes them."""
        return {"tags": list(self.votes.tags), "labels": list(self.votes.labels)}

    # Training

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: dict[str, list[str]] | None = None,
    ) -> None:
        """Find out who votes, collect tags and labels, and forget what was learned before.

        get_examples (Callable): Returns examples with gold annotation.
        nlp (Language | None): The pipeline.
        labels (dict | None): Tags and labels, as `label_data`; without them, those of the examples.
        RAISES (ValueError): If there are fewer than two voters, or no labels.
        """
        validate_get_examples(get_examples, "ParseCombiner.initialize")
        voters = list(self.model.attrs["voters"]) or self._voters_before(nlp)
        if len(voters) < 2:
            raise ValueError(
                f"The component '{self.name}' cannot be initialized: it combines parses of two voters at least, but there are "
                f"{voters}. Put parsers before it, each but the last with a 'keep_parse' after it, or name them in 'voters'."
            )
        if labels is None:
            tokens = [token for example in get_examples() for token in example.reference]
            labels = {
                "tags": sorted({token.tag_ for token in tokens if token.tag_}),
                "labels": sorted({token.dep_ for token in tokens if token.dep_}),
            }
        if not labels["labels"]:
            raise ValueError(
                f"The component '{self.name}' cannot be initialized: none of the training examples has labels of arcs. Is the "
                "right file in the corpus?"
            )
        self._use(Votes(voters, labels["tags"], labels["labels"]))

    def _voters_before(self, nlp: Language | None) -> list[str]:
        found = []
        for _, component in nlp.components if nlp is not None else []:
            if component is self:
                break
            if isinstance(component, KeepParse):
                found.append(component.name_of_parse)
        return list(dict.fromkeys([*found, self.last] if self._last_votes(nlp) else found))

    def _last_votes(self, nlp: Language | None) -> bool:
        """Whether the parse that a Doc has now may be a voter's: it is none that was kept."""
        component = dict(nlp.components).get(self.last) if nlp is not None else None
        return bool(self.last) and not isinstance(component, KeepParse)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | Literal[False] | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn the weights anew from all examples that it has been given.

        examples (Iterable[Example]): Their predicted documents have the parses of all voters, or their references have.
        drop (float): Not used.
        sgd (Optimizer | Literal[False] | None): Not used: weights are learned by Newton's method.
        losses (dict[str, float] | None): Gets, under the component's name, minus the mean log-probability of what is right about heads,
            in nats, of these examples.
        RETURNS (dict[str, float]): The losses.
        RAISES (ValueError): If it has not been initialized, or the parse of a voter is missing.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = self._examples(examples, "update")
        self._check_trained()
        found = [self._read(example) for example in examples if len(example.predicted)]
        if not found:
            return losses
        seen = dict(self._seen)
        for parts in found:
            content = b"".join(part.tobytes() for part in (*parts[0], *parts[1]))
            seen.setdefault(hashlib.blake2b(content, digest_size=16).digest(), parts)
        if len(seen) > len(self._seen):
            votes = self.votes
            learned = Votes(votes.voters, votes.tags, votes.labels, votes.weights)
            learned.learn(*join_ballots(seen.values()), longest=self._longest, root=self._root(self._names()))
            # What has been learned from counts as seen, and not what an interrupt came before.
            self.model.attrs[VOTES], self._seen = learned, seen
        losses[self.name] = self.votes.loss(*join_ballots(found))
        return losses

    def _read(self, example: Example) -> tuple[Ballots, Gold]:
        """What voters say of an example and what is right: on the reference's own tokens, if only that has parses."""
        predicted, reference = example.predicted, example.reference
        if not predicted._.parses and reference._.parses:
            ballots, layout, names = self._ballots([reference], last="")
            annotated = [(token.head.i, token.dep_, token.tag_) for token in reference]
            heads, labels, tags = zip(*((head if dep else None, dep, tag) for head, dep, tag in annotated))
            return ballots, read_gold_votes(reference, layout, heads, labels, tags, names)
        ballots, layout, names = self._ballots([predicted], last=self.last)
        heads, labels = example.get_aligned_parse(projectivize=False)
        tags = example.get_aligned("TAG", as_string=True)
        return ballots, read_gold_votes(predicted, layout, heads, labels, tags, names)

    def _names(self) -> Names:
        return Names.known(self.votes.tags, self.votes.labels)

    def _root(self, names: Names) -> int:
        return names.labels.setdefault(ROOT_LABEL, len(names.labels))

    def _ballots(self, docs: list[Doc], last: str) -> tuple[Ballots, Layout, Names]:
        names = self._names()
        self._root(names)
        ballots, layout = read_ballots(docs, self.votes.voters, names, last=last, reader=self.name)
        return ballots, layout, names

    def get_loss(self, examples: Iterable[Example], scores: Any) -> tuple[float, None]:
        """Minus the mean log-probability of what is right about heads, in nats. There is no gradient.

        examples (Iterable[Example]): Predicted and reference documents.
        scores (tuple): Not used: it depends on the votes.
        RAISES (ValueError): If it has not been trained.
        """
        self._check_trained()
        found = [self._read(example) for example in self._examples(examples, "get_loss") if len(example.predicted)]
        return (self.votes.loss(*join_ballots(found)) if found else 0.0), None

    # Prediction

    @property
    def _longest(self) -> int:
        """How many words a sentence may have whose tree is made projective."""
        return self.longest if self.decoding == "projective" else 0

    def predict(self, docs: Iterable[Doc]) -> tuple[Layout, Result, Names]:
        """Vote on documents without changing them.

        docs (Iterable[Doc]): With the parses of all voters.
        RETURNS (tuple): Where the words stand, what was elected, and the names of tags and labels.
        RAISES (ValueError): If it has not been trained, or the parse of a voter is missing.
        """
        self._check_trained()
        ballots, layout, names = self._ballots(list(docs), last=self.last)
        return layout, self.model.predict((ballots, self._root(names), self._longest)), names

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Layout, Result, Names]) -> None:
        """Write what was elected into documents.

        docs (Iterable[Doc]): The documents that were parsed.
        scores (tuple): What `predict` returned for them.
        """
        docs = list(docs)
        layout, elected, names = scores
        # Without a voter's label or tag, there is a label for arcs of no kind, and no tag.
        other = names.labels.setdefault(UNLABELLED, len(names.labels))
        labels = np.where(elected.labels == ABSENT, other, elected.labels)
        tags = np.where(elected.tags == ABSENT, len(names.tags), elected.tags)
        write_tags(docs, layout, tags, [*names.tags, ""])
        write_trees(docs, layout, elected.heads, labels, list(names.labels), elected.head_probability)
        for i, doc in enumerate(docs):
            words = slice(layout.docs[i], layout.docs[i + 1])
            write_tag_probability(doc, layout.token[words], elected.tag_probability[words])
        if not self.votes.are_learned:
            mark_uncalibrated(docs, self.name)

    # Storage

    def _load_model(self, attributes: dict[str, Any], parameters: dict[str, Any]) -> Votes:
        with reading_parts():
            stored = attributes[VOTES]
        return votes_from_bytes(stored)

    def _replace_model(self, loaded: Votes) -> None:
        self.model.attrs[VOTES] = loaded
        self._seen = {}
        util.logger.debug("%s: voters are %s", self.name, loaded.voters)
