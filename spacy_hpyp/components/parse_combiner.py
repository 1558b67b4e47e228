"""The trainable spaCy component `parse_combiner`."""

from collections.abc import Iterable

import numpy as np
from spacy.tokens import Doc

from ..annotation.ballots import ABSENT, Names
from ..annotation.documents import UNLABELLED, Layout, write_trees
from ..annotation.extensions import mark_uncalibrated, write_probability
from ..annotation.words import write_tags
from ..models.votes import Result
from .factories import TAG_AND_TREE_SCORES, TREES, register
from .scorer import make_scorer
from .settings import CombinerSettings
from .voting import VotingComponent


class ParseCombiner(VotingComponent):
    """Makes of the parses of several parsers the best tree, by a vote in which each arc has the weight that it has earned.

    It reads the parses that `keep_parse` has kept (`doc._.parses`) and the one that the Doc has when it comes, and sets `token.head`,
    `token.dep_`, `token.tag_`, `token._.head_prob` and `token._.tag_prob`.

    How much a voter's arc, label or tag counts is learned from documents that the voters have not been trained on: a part of the treebank
    that was held out, with the voters as `annotating_components`, or references that have parses of leave-out annotation in
    `doc._.parses`.

    Its model is made by `spacy-hpyp.ParseVotes.v1`. Every setting is an attribute; how it is saved and overridden, `TrainableComponent` says.
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
