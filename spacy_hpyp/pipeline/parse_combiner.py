"""The spaCy components `keep_parse`, `parse_combiner` and `arc_confidence`."""

from collections.abc import Iterable, Sequence

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation import user_data
from ..annotation.arrays import joined
from ..annotation.encoding import Layout, write_probability, write_tags, write_trees
from ..annotation.sentences import UNLABELLED
from ..annotation.syntactic_words import to_word_doc, write_back
from ..annotation.user_data import ARCS_AND_TAGS, KeptParse
from ..combining.votes import ABSENT, VOTES, Ballots, Names, Votes, cast, parses_of
from ..settings import Settings
from .alignment import tokens_in_trees
from .base import Getter, LabelData, StoredPipe, TrainableComponent, components_before


class KeepParse(StoredPipe):
    """Moves the parse of a Doc to `doc._.hpyp_parses`, so that the next parser starts anew.

    It stands after each parser but the last one before a `parse_combiner`. Tags stay, for parsers
    that need them, and so do sentence boundaries.

    name_of_parse (str): The name of the parse. If it is "", the component takes the name of the one
        before it when it is first used, and keeps that wherever it is sourced.
    """

    file = "name_of_parse"

    def __init__(
        self, name: str = "keep_parse", *, name_of_parse: str = "", nlp: Language | None = None
    ) -> None:
        self.name = name
        self._given = self._found = name_of_parse
        self.nlp = nlp

    @property
    def name_of_parse(self) -> str:
        """The name of the parse that is kept."""
        before = [name for name, _ in components_before(self, self.nlp)]
        self._found = self._found or (before or [self.name])[-1]
        return self._found

    state = name_of_parse

    def _restore(self, state: str) -> None:
        self._found = self._given or state

    def initialize(self, get_examples: Getter, *, nlp: Language | None = None) -> None:
        """Forget a name that was found before, to find it again in a pipeline when it is used."""
        self.nlp, self._found = nlp, self._given

    def __call__(self, doc: Doc) -> Doc:
        """Keep the parse of a Doc's syntactic words with its probabilities, if there is one."""
        words = to_word_doc(doc)
        if words.has_annotation("DEP"):
            user_data.keep(words, self.name_of_parse, user_data.current_parse(words))
            user_data.take_back(words)
            user_data.forget(words, ARCS_AND_TAGS)
            write_back(words, doc)
        return doc


class ParseCombiner(TrainableComponent):
    """Elects the best tree from the parses of several parsers.

    It reads the parses that `keep_parse` has kept (`doc._.hpyp_parses`) and the current one, and
    sets `token.head`, `token.dep_`, `token.tag_`, `token._.head_prob` and `token._.tag_prob`.
    Sentences are those of the first voter.

    The weights of voters are learned from documents that no voter has been trained on, as
    `hpyp combine` does, or with the voters as `annotating_components` of a training. Updates
    collect examples. After each pass, that is, as many examples as `initialize` was given, Newton's
    method fits the weights to those of the pass. The loss is minus the log-probability of a gold
    head, in nats, by the weights so far.

    Its model is made by `spacy-hpyp.ParseVotes.v1`.
    """

    factory = "parse_combiner"
    attribute = VOTES
    settings_type = Settings
    keeps_pipeline = True
    #: Whether the first voter's trees are kept and only rated.
    rates = False

    def _reset_training(self) -> None:
        super()._reset_training()
        self._seen: list[Ballots] = []
        self._missing = self.votes.examples

    @property
    def votes(self) -> Votes:
        """The learned weights."""
        return self.model.attrs[VOTES]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the training data; voters may have others."""
        return tuple(self.votes.labels)

    @property
    def label_data(self) -> LabelData:
        """Tags and labels, as `spacy init labels` writes them and `initialize` takes them."""
        return {"tags": list(self.votes.tags), "labels": list(self.votes.labels)}

    def initialize(
        self, get_examples: Getter, *, nlp: Language | None = None, labels: LabelData | None = None
    ) -> None:
        """Find the voters, collect tags and labels, or take `labels`, and forget all weights.

        RAISES (ValueError): If there are fewer than two voters, two of one name, or no labels.
        """
        examples = self._examples(get_examples(), "initialize")
        self.nlp = nlp or self.nlp
        voters = list(self.model.attrs["voters"]) or self.voters_in(self.nlp)
        if len(set(voters)) < max(2, len(voters)):
            raise ValueError(
                f"The component '{self.name}' needs at least two voters of different names, not "
                f"{voters}. Put parsers before it, each but the last with a 'keep_parse' after "
                "it, or list their parses in 'voters' by 'name_of_parse'."
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
        votes.use(labels["tags"], labels["labels"], len(examples))
        self._use(votes)

    def voters_in(self, nlp: Language | None) -> list[str]:
        """Return the names of the parses kept before the component, and of the current one."""
        before = components_before(self, nlp)
        voters = [pipe.name_of_parse for _, pipe in before if isinstance(pipe, KeepParse)]
        if before and not isinstance(before[-1][1], KeepParse):
            parsers = [name for name, _ in before if "token.dep" in nlp.get_pipe_meta(name).assigns]
            voters.append((parsers or [before[-1][0]])[-1])
        return voters

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        docs = [example.predicted for example in examples]
        ballots, *_ = self._ballots(docs, map(gold_parse, examples))
        self._seen.append(ballots)
        self._missing -= len(examples)
        self._count_loss(losses, *self.votes.loss(ballots))
        return self._missing <= 0

    def _end_pass(self) -> None:
        """Fit the weights to the examples of the pass."""
        votes = self.votes.untrained()
        votes.use(self.votes.tags, self.votes.labels, self.votes.examples)
        votes.learn(joined(self._seen), rates=self.rates)
        self._use(votes)

    def _ballots(
        self, docs: Sequence[Doc], gold: Iterable[KeptParse] = ()
    ) -> tuple[Ballots, Layout, Names]:
        """Return the ballots of all voters, and of the gold parse of each document as the last."""
        names = self.votes.names()
        parses = [parses_of(doc, self.votes.voters, reader=self.name) for doc in docs]
        for of_doc, parse in zip(parses, gold):
            of_doc.append(parse)
        return *cast(docs, parses, names), names

    def predict(self, docs: Iterable[Doc]) -> tuple[Layout, Ballots, Names]:
        """Vote on documents without changing them.

        docs (Iterable[Doc]): With the parses of all voters.
        RETURNS (tuple): Where the words stand, the result, and the names of tags and labels.
        RAISES (ValueError): If it has not been trained, or the parse of a voter is missing.
        """
        self._check_trained()
        ballots, layout, names = self._ballots(list(docs))
        return layout, self.votes.elect(ballots, rates=self.rates), names

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Layout, Ballots, Names]) -> None:
        """Write the result of `predict` into its documents."""
        docs, (layout, elected, names) = list(docs), scores
        other = names.labels.setdefault(UNLABELLED, len(names.labels))
        labels = np.where(elected.labels == ABSENT, other, elected.labels)
        tags = np.where(elected.tags == ABSENT, len(names.tags), elected.tags)
        write_tags(docs, layout, tags, [*names.tags, ""])
        write_trees(
            docs, layout, elected.heads, labels, list(names.labels), elected.head_probability
        )
        for doc, words in zip(docs, layout.words):
            write_probability(doc, layout.token[words], "tag_prob", elected.tag_probability[words])


class ArcConfidence(ParseCombiner):
    """Restores the tags and tree of the first parser, and sets `token._.head_prob` of its arcs.

    It stands after other parsers, whose votes for or against each arc are weighed as by
    `ParseCombiner`. An `hpyp_parser` with `guides = true` among them says how probable arcs are
    that it does not choose itself.

    The weights are learned from documents that no parser has been trained on; `hpyp combine --rate`
    does it. Labels and tags need not be those of the treebank.

    Its model is made by `spacy-hpyp.ParseVotes.v1`.
    """

    factory = "arc_confidence"
    rates = True

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Layout, Ballots, Names]) -> None:
        """Write the first voter's parse and its probabilities into the documents of `predict`."""
        layout, rated, _ = scores
        for doc, words, token in zip(docs, layout.words, layout.tokens):
            user_data.forget(doc, ARCS_AND_TAGS)
            parse = user_data.kept_parses(doc).get(self.votes.voters[0])
            if parse is not None:
                user_data.restore(doc, parse)
                write_probability(doc, token, "head_prob", rated.head_probability[words])


def gold_parse(example: Example) -> KeptParse:
    """Return the gold annotation on the predicted tokens; labels of unknown heads are ""."""
    heads, labels = example.get_aligned_parse(projectivize=False)
    known = [head is not None and ok for head, ok in zip(heads, tokens_in_trees(example)[0])]
    n = len(known)
    return KeptParse(
        np.array([h - i if ok else 0 for i, (h, ok) in enumerate(zip(heads, known))], np.int32),
        [label or "" if ok else "" for label, ok in zip(labels, known)],
        [tag or "" for tag in example.get_aligned("TAG", as_string=True)],
        *np.full((2, n), np.nan),
        np.zeros(n, dtype=bool),
    )
