"""The trainable spaCy component `parse_combiner`, and what it has in common with others that let parsers
vote.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.ballots import ABSENT, Ballots, Gold, Names, join_ballots, read_ballots, read_gold_votes
from ..annotation.documents import ROOT_LABEL, UNLABELLED, Layout, content_key, write_trees
from ..annotation.extensions import mark_uncalibrated, write_probability
from ..annotation.words import write_tags
from ..models.votes import VOTES, Result, Votes
from .base import TrainableComponent
from .factories import TAG_AND_TREE_SCORES, TREES, register
from .keep_parse import KeepParse
from .neighbours import components_before
from .scorer import make_scorer
from .settings import CombinerSettings


class VotingComponent(TrainableComponent):
    """Weighs what several parsers say of the same words by what each has earned: those whose parses
    `keep_parse` has kept, and the parse that a Doc has when it comes.

    All documents that it has been given since it was initialized or loaded count. Weights are learned by
    Newton's method; the loss is minus the mean log-probability of what is right about heads, in nats, of the
    last examples.

    Its settings have `last`. A subclass defines `set_annotations`, and, where trees are elected, `_longest`.
    """

    attribute = VOTES
    # How many words a sentence may have whose tree is made projective; and the number of the voter whose
    # trees stay as they are.
    _longest: ClassVar[int] = 0
    _kept: ClassVar[int | None] = None

    @classmethod
    def settings_in(cls, nlp: Language, settings: dict[str, Any]) -> dict[str, Any]:
        """The settings with the component before it as `last`, if that is not said."""
        # While the pipeline is being made, the last component is the one before this one.
        return {**settings, "last": settings["last"] or (nlp.component_names or [""])[-1]}

    def _reset_training(self) -> None:
        super()._reset_training()
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

        RAISES (ValueError): If there are fewer than two voters, or no labels.
        """
        examples = self._initial_examples(get_examples)
        voters = list(self.model.attrs["voters"]) or self._voters_before(nlp)
        if len(voters) < 2:
            raise ValueError(
                f"The component '{self.name}' cannot be initialized: it combines parses of two voters at "
                f"least, but there are "
                f"{voters}. Put parsers before it, each but the last with a 'keep_parse' after it, or name "
                f"them in 'voters'."
            )
        if labels is None:
            labels = {name: sorted(each) for name, each in self._names_in(examples, nlp).items()}
        if not labels["labels"]:
            raise self._nothing_to_learn("labels of arcs")
        self._use(Votes(voters, labels["tags"], labels["labels"]))

    def _names_in(self, examples: list[Example], nlp: Language | None) -> dict[str, set[str]]:
        """The tags and labels of the training data."""
        tokens = [token for example in examples for token in example.reference]
        return {
            "tags": {token.tag_ for token in tokens if token.tag_},
            "labels": {token.dep_ for token in tokens if token.dep_},
        }

    def _voters_before(self, nlp: Language | None) -> list[str]:
        components = nlp.components if nlp is not None else []
        before = components_before(self, components)
        found = [component.name_of_parse for _, component in before if isinstance(component, KeepParse)]
        # The parse that a Doc has now may be a voter's if it is none that was kept.
        last = dict(components).get(self.last)
        return list(
            dict.fromkeys([*found, self.last] if self.last and not isinstance(last, KeepParse) else found)
        )

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        found = [self._read(example) for example in examples if len(example.predicted)]
        if not found:
            return False
        seen = dict(self._seen)
        for parts in found:
            content = b"".join(part.tobytes() for part in (*parts[0], *parts[1]))
            seen.setdefault(content_key(content), parts)
        if len(seen) > len(self._seen):
            votes = self.votes
            learned = Votes(votes.voters, votes.tags, votes.labels, votes.weights)
            settings = {
                "longest": self._longest,
                "root": self._names().labels[ROOT_LABEL],
                "kept": self._kept,
            }
            learned.learn(*join_ballots(seen.values()), **settings)
            # What has been learned from counts as seen, and not what an interrupt came before.
            self.model.attrs[VOTES], self._seen = learned, seen
        losses[self.name] = self.votes.loss(*join_ballots(found))
        return False

    def _read(self, example: Example) -> tuple[Ballots, Gold]:
        """What voters say of an example and what is right: on the reference's own tokens, if only that has
        parses.
        """
        predicted, reference = example.predicted, example.reference
        if self._kept is None and not predicted._.parses and reference._.parses:
            ballots, layout, names = self._ballots([reference], last="")
            annotated = [(token.head.i, token.dep_, token.tag_) for token in reference]
            heads, labels, tags = zip(*((head if dep else None, dep, tag) for head, dep, tag in annotated))
            return ballots, read_gold_votes(reference, layout, heads, labels, tags, names)
        ballots, layout, names = self._ballots([predicted], last=self.last)
        heads, labels = example.get_aligned_parse(projectivize=False)
        tags = example.get_aligned("TAG", as_string=True)
        return ballots, read_gold_votes(predicted, layout, heads, labels, tags, names)

    def _names(self) -> Names:
        names = Names.known(self.votes.tags, self.votes.labels)
        names.labels.setdefault(ROOT_LABEL, len(names.labels))
        return names

    def _ballots(self, docs: list[Doc], last: str) -> tuple[Ballots, Layout, Names]:
        names = self._names()
        ballots, layout = read_ballots(docs, self.votes.voters, names, last=last, reader=self.name)
        return ballots, layout, names

    # Prediction

    def predict(self, docs: Iterable[Doc]) -> tuple[Layout, Result, Names]:
        """Vote on documents without changing them.

        docs (Iterable[Doc]): With the parses of all voters.
        RETURNS (tuple): Where the words stand, what was elected, and the names of tags and labels.
        RAISES (ValueError): If it has not been trained, or the parse of a voter is missing.
        """
        self._check_trained()
        ballots, layout, names = self._ballots(list(docs), last=self.last)
        root = names.labels[ROOT_LABEL]
        return layout, self.votes.elect(ballots, longest=self._longest, root=root, kept=self._kept), names

    def _replace_model(self, loaded: Votes) -> None:
        super()._replace_model(loaded)
        util.logger.debug("%s: voters are %s", self.name, loaded.voters)


class ParseCombiner(VotingComponent):
    """Makes of the parses of several parsers the best tree, by a vote in which each arc has the weight that
    it has earned.

    It reads the parses that `keep_parse` has kept (`doc._.parses`) and the one that the Doc has when it
    comes, and sets `token.head`, `token.dep_`, `token.tag_`, `token._.head_prob` and `token._.tag_prob`.

    How much a voter's arc, label or tag counts is learned from documents that the voters have not been
    trained on: a part of the treebank that was held out, with the voters as `annotating_components`, or
    references that have parses of leave-out annotation in `doc._.parses`.

    Its model is made by `spacy-hpyp.ParseVotes.v1`.
    """

    factory = "parse_combiner"
    settings_type = CombinerSettings
    default_scorer = staticmethod(make_scorer())

    @property
    def _longest(self) -> int:
        return self.longest if self.decoding == "projective" else 0

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Layout, Result, Names]) -> None:
        """Write what was elected into the documents that `predict` was given, by what it returned."""
        docs = list(docs)
        layout, elected, names = scores
        # Without a voter's label or tag, there is a label for arcs of no kind, and no tag.
        other = names.labels.setdefault(UNLABELLED, len(names.labels))
        labels = np.where(elected.labels == ABSENT, other, elected.labels)
        tags = np.where(elected.tags == ABSENT, len(names.tags), elected.tags)
        write_tags(docs, layout, tags, [*names.tags, ""])
        write_trees(docs, layout, elected.heads, labels, list(names.labels), elected.head_probability)
        for doc, words in zip(docs, layout.words):
            write_probability(doc, layout.token[words], "tag_prob", elected.tag_probability[words])
        if not self.votes.are_learned:
            mark_uncalibrated(docs, self.name)


make_parse_combiner = register(
    ParseCombiner,
    assigns=["token.tag", *TREES, "token._.tag_prob"],
    requires=["doc._.parses"],
    scores=TAG_AND_TREE_SCORES,
    english=False,
)
