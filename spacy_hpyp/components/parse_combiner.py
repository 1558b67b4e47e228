"""The trainable spaCy component `parse_combiner`, and its base class for components that weigh parses."""

from collections.abc import Callable, Iterable
from typing import ClassVar

import numpy as np
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
from .neighbours import PipelineReference, components_before, name_before
from .scorer import make_scorer
from .settings import VotingSettings


class VotingComponent(TrainableComponent):
    """Weighs the parses of several voters: those kept by `keep_parse`, and the current parse of the Doc.

    Each update learns from all documents since the component was initialized or loaded, by Newton's method.
    The loss is minus the mean log-probability of the gold heads of the last examples, in nats.
    """

    attribute = VOTES
    settings_type = VotingSettings
    #: The number of the voter whose trees are kept.
    kept: ClassVar[int | None] = None

    @property
    def last_voter(self) -> str:
        """The name of the parse that a Doc has now: `last`, or the nearest voter before the component."""
        before = [name for name, _ in components_before(self, self._pipeline())]
        voters = self.votes.voters
        known = [name for name in before if name in voters]
        if not known and voters:
            # The parsers have been renamed, or the pipeline is gone.
            known = voters if self.kept is None else [voters[self.kept]]
        return self.last or (known or before or [""])[-1]

    def _reset_training(self) -> None:
        super()._reset_training()
        self._seen: dict[bytes, tuple[Ballots, Gold]] = {}

    @property
    def votes(self) -> Votes:
        """The learned weights."""
        return self.model.attrs[VOTES]

    @property
    def is_trained(self) -> bool:
        """Whether the component has been initialized."""
        return bool(self.votes.labels)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the training data; voters may have others."""
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
        """Find the voters, collect tags and labels, and forget all weights.

        RAISES (ValueError): If there are fewer than two voters, or no labels.
        """
        examples = self._initial_examples(get_examples)
        if nlp is not None:
            self._pipeline = PipelineReference(nlp)
        voters = list(self.model.attrs["voters"]) or self.voters_in(self._pipeline())
        if len(voters) < 2:
            raise ValueError(
                f"The component '{self.name}' needs two voters at least, but there are {voters}. Put parsers "
                f"before it, each but the last with a 'keep_parse' after it, or name them in 'voters'."
            )
        if labels is None:
            docs = [doc for example in examples for doc in (example.reference, example.predicted)]
            tokens = [token for doc in docs for token in doc]
            labels = {
                "tags": sorted({token.tag_ for token in tokens if token.tag_}),
                "labels": sorted({token.dep_ for token in tokens if token.dep_}),
            }
        if not labels["labels"]:
            raise self._nothing_to_learn("labels of arcs")
        votes = Votes(voters)
        votes.use(labels["tags"], labels["labels"])
        self._use(votes)

    def voters_in(self, nlp: Language | None) -> list[str]:
        """Return the names of the parses kept before the component, and of the current one."""
        before = components_before(self, nlp)
        last = self.last or name_before(self, nlp)
        # The first component of a pipeline has no parse to keep: it notes boundaries.
        found = [component.name_of_parse for _, component in before[1:] if isinstance(component, KeepParse)]
        if last and not isinstance(dict(before).get(last), KeepParse):
            found.append(last)
        return list(dict.fromkeys(found))

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        found = [self._read(example) for example in examples if len(example.predicted)]
        if not found:
            return False
        for ballots, gold in found:
            content = b"".join(part.tobytes() for part in (*ballots, *gold))
            self._seen.setdefault(content_key(content), (ballots, gold))
        votes = Votes(self.votes.voters)
        votes.use(self.votes.tags, self.votes.labels)
        root = votes.names().labels[ROOT_LABEL]
        votes.learn(*join_ballots(self._seen.values()), root=root, kept=self.kept)
        self.model.attrs[VOTES] = votes
        losses[self.name] = votes.loss(*join_ballots(found))
        return False

    def _read(self, example: Example) -> tuple[Ballots, Gold]:
        """Read the ballots and the gold annotation of an example."""
        ballots, layout, names = self._ballots([example.predicted])
        heads, labels = example.get_aligned_parse(projectivize=False)
        tags = example.get_aligned("TAG", as_string=True)
        return ballots, read_gold_votes(example.predicted, layout, heads, labels, tags, names)

    def _ballots(self, docs: list[Doc]) -> tuple[Ballots, Layout, Names]:
        names = self.votes.names()
        ballots, layout = read_ballots(docs, self.votes.voters, names, last=self.last_voter, reader=self.name)
        return ballots, layout, names

    # Prediction

    def predict(self, docs: Iterable[Doc]) -> tuple[Layout, Result, Names]:
        """Vote on documents without changing them.

        docs (Iterable[Doc]): With the parses of all voters.
        RETURNS (tuple): Where the words stand, the result, and the names of tags and labels.
        RAISES (ValueError): If it has not been trained, or the parse of a voter is missing.
        """
        self._check_trained()
        ballots, layout, names = self._ballots(list(docs))
        return layout, self.votes.elect(ballots, root=names.labels[ROOT_LABEL], kept=self.kept), names


class ParseCombiner(VotingComponent):
    """Elects the best tree from the parses of several parsers.

    It reads the parses that `keep_parse` has kept (`doc._.parses`) and the current one, and sets
    `token.head`, `token.dep_`, `token.tag_`, `token._.head_prob` and `token._.tag_prob`.

    The weights of voters are learned from documents that no voter has been trained on, as `hpyp combine`
    does, or with the voters as `annotating_components` of a training.

    Its model is made by `spacy-hpyp.ParseVotes.v1`.
    """

    factory = "parse_combiner"
    default_scorer = staticmethod(make_scorer())

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Layout, Result, Names]) -> None:
        """Write the result of `predict` into its documents."""
        docs = list(docs)
        layout, elected, names = scores
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
)
