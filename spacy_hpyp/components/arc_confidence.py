"""The trainable spaCy component `arc_confidence`."""

from collections.abc import Iterable

from spacy.language import Language
from spacy.tokens import Doc

from ..annotation.ballots import Ballots, Names
from ..annotation.documents import Layout
from ..annotation.extensions import mark_uncalibrated, write_head_probability
from ..models.votes import Result
from .factories import register
from .neighbours import name_before
from .parse_combiner import VotingComponent


class ArcConfidence(VotingComponent):
    """Sets `token._.head_prob` of another parser's arcs, and leaves its trees as they are.

    It stands after that parser. The parses that `keep_parse` has kept before are the evidence: their votes
    for or against each arc are weighed as by `ParseCombiner`. An `hpyp_parser` with `guides = true` among
    them says how probable arcs are that it does not choose itself.

    The weights are learned from documents that no parser has been trained on; `hpyp combine --rate` does it.
    Labels and tags need not be those of the treebank.

    Its model is made by `spacy-hpyp.ParseVotes.v1`.
    """

    factory = "arc_confidence"
    kept = 0

    def voters_in(self, nlp: Language | None) -> list[str]:
        """Return the parser that is rated, and the names of the parses that a pipeline keeps before."""
        return list(dict.fromkeys([self.last or name_before(self, nlp), *super().voters_in(nlp)]))

    def _ballots(self, docs: list[Doc]) -> tuple[Ballots, Layout, Names]:
        if any(len(doc) and not doc.has_annotation("DEP") for doc in docs):
            raise ValueError(
                f"The component '{self.name}' rates arcs, but a Doc has not been parsed. Put it behind a "
                "parser, and enable that."
            )
        return super()._ballots(docs)

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Layout, Result, Names]) -> None:
        """Write the result of `predict` into its documents."""
        docs, (layout, rated, _) = list(docs), scores
        for doc, words in zip(docs, layout.words):
            write_head_probability(doc, layout.token[words], rated.head_probability[words])
        if not self.votes.are_learned:
            mark_uncalibrated(docs, self.name)


make_arc_confidence = register(
    ArcConfidence,
    assigns=["token._.head_prob"],
    requires=["token.dep", "token.head", "doc._.parses"],
    scores={},
)
