"""The trainable spaCy component `arc_confidence`."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from spacy import util
from spacy.attrs import SENT_START
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.ballots import Ballots, Gold, Names
from ..annotation.calibration import with_gold
from ..annotation.documents import Layout
from ..annotation.extensions import forget_probabilities, mark_uncalibrated, write_head_probability
from ..annotation.guides import write_guides
from ..annotation.nuclei import counterpart
from ..annotation.written import KeptParse, current_parse, keep, kept_parses, take_back
from ..models.votes import Result
from .factories import register
from .hpyp_parser import HPYPParser
from .neighbours import NeighbouringComponent
from .parse_combiner import VotingComponent
from .settings import ConfidenceSettings

#: The name of the parse of the parser that is asked, among those that are kept.
ASKED = "asked"


class ArcConfidence(NeighbouringComponent, VotingComponent):
    """Says how probable it is that the arcs are right that another parser has found, and leaves its trees as
    they are.

    It stands after any parser and sets `token._.head_prob`. An `hpyp_parser` is asked for the posterior
    probability of each arc, and for a parse of its own. Whether others find the arc, too, and how much that
    counts is as in `ParseCombiner`: these are its votes, and parses that `keep_parse` has kept before are
    among them.

    What counts how much is learned from documents that neither parser has learned from; `hpyp combine --rate`
    does it. Labels and tags need not be those of the treebank: that a head is right is learned alone.

    Its model is made by `spacy-hpyp.ParseVotes.v1`.
    """

    factory = "arc_confidence"
    settings_type = ConfidenceSettings
    _kept = 0
    _loaded: tuple[str, HPYPParser] | None = None

    @property
    def asked(self) -> HPYPParser | None:
        """The parser that is asked, if one is.

        RAISES (ValueError): If there is none of this name, nor a pipeline at this path.
        """
        if not self.source:
            return None
        place = self.place()
        if self.source in place.nlp.component_names or not Path(self.source).exists():
            parser = place.named(self.source, "source")
        else:
            if self._loaded is None or self._loaded[0] != self.source:
                pipes = [
                    pipe
                    for _, pipe in util.load_model(self.source).components
                    if isinstance(pipe, HPYPParser)
                ]
                self._loaded = self.source, pipes[0] if pipes else None
            parser = self._loaded[1]
        if not isinstance(parser, HPYPParser):
            raise ValueError(
                f"The 'source' of the component '{self.name}' is '{self.source}', but that is no hpyp_parser."
            )
        return parser

    def ask(self, docs: Sequence[Doc], parser: HPYPParser | None = None) -> None:
        """Write what the parser that is asked says into parsed documents: its own parse, and a guide, which
        says how probable their arcs are.

        docs (Sequence[Doc]): They are changed; those that it has been asked about are left out.
        parser (HPYPParser | None): Another one than `source`.
        """
        docs = [doc for doc in docs if len(doc) and ASKED not in kept_parses(doc)]
        parser = self.asked if parser is None else parser
        if parser is None or not docs:
            return
        own = [doc.copy() for doc in docs]
        for doc in own:
            take_back(doc, doc.to_array(SENT_START).view(np.int64))
            forget_probabilities(doc)
        layout, parses = parser.predict(own, search=parser.search._replace(marginals=True, guides=True))
        parser.set_annotations(own, (layout, parses))
        if not self.nuclei:
            write_guides(docs, layout, parses.guides, parser.joint.encoder)
        for doc, theirs in zip(docs, own):
            keep(doc, ASKED, self._as_rated(doc, theirs))

    def _as_rated(self, doc: Doc, theirs: Doc) -> KeptParse:
        """A parse of the same tokens by the parser that is asked, which has an arc of the other's where it
        says what that does.
        """
        parse = current_parse(theirs)
        saying = [
            counterpart(theirs[token.i], theirs[token.head.i]) if self.nuclei else None for token in doc
        ]
        heads = [
            own if word is None else token.head.i - token.i
            for own, word, token in zip(parse.heads, saying, doc)
        ]
        sure = [parse.head_prob[i if word is None else word.i] for i, word in enumerate(saying)]
        return parse._replace(heads=np.array(heads, dtype=np.int32), head_prob=np.array(sure))

    def _read(self, example: Example) -> tuple[Ballots, Gold]:
        ballots, gold = super()._read(example)
        word = np.cumsum([not token.is_space for token in example.predicted]) - 1
        for token, own, head in with_gold([example]) if self.nuclei else ():
            if head is not None and counterpart(own, head) is not None:
                gold.heads[word[token.i]] = ballots.heads[word[token.i], self._kept]
        return ballots, gold

    def _voters_before(self, nlp: Language | None) -> list[str]:
        others = [name for name in super()._voters_before(nlp) if name != self.last]
        return [self.last, *([ASKED] if self.source else []), *others]

    def _names_in(self, examples: list[Example], nlp: Language | None) -> dict[str, set[str]]:
        found = super()._names_in(examples, nlp)
        rated = dict(nlp.components).get(self.last) if nlp is not None else None
        return {**found, "labels": found["labels"].union(getattr(rated, "labels", ()))}

    def _ballots(self, docs: list[Doc], last: str) -> tuple[Ballots, Layout, Names]:
        unparsed = [doc for doc in docs if len(doc) and not doc.has_annotation("DEP")]
        if unparsed:
            raise ValueError(
                f"The component '{self.name}' says how probable arcs are, but it was given a Doc that has "
                f"not been parsed. Put it behind a "
                "parser that is not disabled."
            )
        docs = [doc.copy() for doc in docs]
        self.ask(docs)
        return super()._ballots(docs, last)

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Layout, Result, Names]) -> None:
        """Write how probable arcs are into the documents that `predict` was given, by what it returned."""
        docs, (layout, rated, _) = list(docs), scores
        for doc, words in zip(docs, layout.words):
            write_head_probability(doc, layout.token[words], rated.head_probability[words])
        if not self.votes.are_learned:
            mark_uncalibrated(docs, self.name)


make_arc_confidence = register(
    ArcConfidence,
    assigns=["token._.head_prob"],
    requires=["token.dep", "token.head"],
    scores={},
    english=False,
)
