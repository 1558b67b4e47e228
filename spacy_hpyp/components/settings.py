"""The settings of the components.

A new one is a line here, and a row of a table in docs/settings.md, which a test compares. Config, attribute,
checks, saving and loading follow.
"""

from dataclasses import dataclass
from typing import Any

from ..inference.pruning import BeamSearch
from ..inference.rounding import Search
from ..settings import HIGHEST_PARTICLES, NAME, SEED, TRUTH, Number, OneOf, Settings, Whole, setting

#: More labels of an arc or tags of a word than this no treebank has.
_MOST_OUTCOMES = 10_000


def _tokens() -> Any:
    return setting(
        "tokenizer",
        OneOf(("tokenizer", "gold")),
        "whose tokens are learned: the tokenizer's, or with `\"gold\"` the treebank's",
    )


@dataclass(frozen=True)
class ParserSettings(Settings):
    """All settings of `hpyp_parser`: how documents are parsed, what limits the search, and how training goes
    (B&B sections 2 and 5.4).
    """

    particles: int = setting(50, Whole(1, HIGHEST_PARTICLES), "K of Algorithm 1: more search, less speed")
    algorithm: str = setting(
        "particles",
        OneOf(("particles", "beam")),
        '`"particles"`, Algorithm 1; or `"beam"`, a beam of fixed size: everything is tried, and after each '
        "word as many derivations as "
        "`particles` says are kept, the most probable ones by `lookahead` and `outlook`. `tag_threshold` and "
        "`attachments` limit "
        "Algorithm 1 only",
    )
    lookahead: float = setting(
        0.5,
        Number(0.0),
        "what the selection step expects a word still on the stack to cost, in nats; 0 is Algorithm 1 to the "
        "letter. See "
        "Sentence boundaries",
    )
    labels_per_arc: int = setting(
        1, Whole(1, _MOST_OUTCOMES), "how many labels of a left- or right-arc a derivation is divided between"
    )
    tags_per_word: int = setting(
        3, Whole(1, _MOST_OUTCOMES), "how many tags of a word a derivation is divided between"
    )
    tag_threshold: float = setting(
        0.5,
        Number(0.0, 1.0),
        "a tag, or a direction of an arc, is not tried where it can be expected to get less than this part "
        "of a particle",
    )
    outlook: float = setting(
        1.0,
        Number(0.0, 1.0),
        "how much what a word's tag promises of the words to come, by a chain of tags, counts in the search; "
        "0 is Algorithm 1 to the "
        "letter. `hpyp surprisal` and `hpyp perplexity` search with 0: they predict words from what stands "
        "before them alone",
    )
    attachments: int = setting(
        10,
        Whole(0, 1_000_000),
        "a derivation that is behind is kept while attaching so many words, at `lookahead` each, could "
        "still bring it a particle",
    )
    decoding: str = setting(
        "mbr",
        OneOf(("best", "mbr")),
        '`"mbr"`: the tree with the least expected number of wrong arcs, and the most probable tags; '
        '`"best"`: those of the most '
        "probable derivation",
    )
    marginals: bool = setting(
        False,
        TRUTH,
        '`"best"` finds `_.head_prob` and `_.tag_prob` too, which takes longer; `"mbr"` finds them anyway',
    )
    guides: bool = setting(
        False,
        TRUTH,
        "writes what the parser believes about heads, labels and tags into `doc._.guide`, for components "
        "that read it. See Guides",
    )
    temperature: float = setting(
        1.0,
        # With lower ones all but one derivation have the probability 0, with higher ones all have the same.
        Number(0.01, 1000.0),
        "what makes posterior probabilities less sure: weights of derivations are raised to 1 / "
        "`temperature`",
    )
    threads: int = setting(2, Whole(1), "threads that decode a batch; the result does not depend on it")
    tags: str = setting(
        "joint",
        OneOf(("joint", "given")),
        '`"joint"` finds the tags together with the tree; `"given"` uses `token.tag_` as found, from a '
        "tagger or gold; those that it does not know it finds itself, with a warning",
    )
    tokens: str = _tokens()
    latent: str = setting(
        "nothing",
        OneOf(("nothing", "derivations", "parses")),
        'what training does not take from the treebank: `"derivations"`, the order of the actions that make '
        "a tree; or "
        '`"parses"`, tags and trees as well. Drawn by particle Gibbs sampling '
        "with a Metropolis-Hastings correction; `--verbose` training logs how many were accepted",
    )
    latent_after: int = setting(10, Whole(0), "after how many sweeps that is latent")
    latent_particles: int = setting(
        100, Whole(1, HIGHEST_PARTICLES), "how many particles a latent derivation is drawn with"
    )
    contrast: int = setting(
        3,
        Whole(0),
        "after how many sweeps over at least 100,000 tokens the weights of pools learn from what the beam "
        "gets wrong, and then stay as "
        "they are; 0: never, they are fitted to the likelihood alone",
    )
    seed: int = setting(0, SEED, "fixes training bit for bit")

    @property
    def given_tags(self) -> bool:
        """Whether tags are used as they are found."""
        return self.tags == "given"

    @property
    def search(self) -> Search:
        """The same for compiled code."""
        consensus = self.decoding == "mbr"
        found = {name: getattr(self, name) for name in Search._fields if hasattr(self, name)}
        found |= {"consensus": consensus, "marginals": self.marginals or consensus or self.guides}
        return (
            Search(**found)
            if self.algorithm == "particles"
            else BeamSearch(**{**found, "tag_threshold": 0.0})
        )


@dataclass(frozen=True)
class AttributeSettings(Settings):
    """All settings of `easy_first_morphologizer` and `easy_first_lemmatizer`."""

    beam: int = setting(1, Whole(1, 10_000), "how many states are kept; training searches with it, too")
    threads: int = setting(
        2, Whole(1), "threads that a batch is divided between; the result does not depend on it"
    )


@dataclass(frozen=True)
class ClassifyingSettings(AttributeSettings):
    """All settings of `easy_first_tagger`, and those of `easy_first_senter` but for one."""

    tokens: str = _tokens()


@dataclass(frozen=True)
class SenterSettings(ClassifyingSettings):
    """All settings of `easy_first_senter`."""

    certainty: float = setting(
        0.0,
        Number(0.0),
        "by how much one score is to be higher than the other for a boundary to be set, or ruled out. Others "
        "are left to an "
        "`hpyp_parser` that comes after it; for a pipeline without one it must be 0",
    )


@dataclass(frozen=True)
class EasyFirstParserSettings(Settings):
    """All settings of `easy_first_parser`."""

    beam: int = setting(
        8, Whole(1, 10_000), "how many states the beam holds; 1 is greedy search, the fastest"
    )
    threads: int = setting(
        2, Whole(1), "threads that parse a batch, or learn from it; the result does not depend on it"
    )
    tokens: str = _tokens()
    folds: int = setting(
        10,
        Whole(0, 1000),
        "the tags of the training part are those of so many taggers, each of which has not seen the part "
        "that it tags "
        "(jack-knifing); 0: the gold tags",
    )
    seed: int = setting(0, SEED, "fixes training bit for bit")


@dataclass(frozen=True)
class HeadOutwardSettings(Settings):
    """All settings of `head_outward_parser`."""

    decoding: str = setting(
        "best",
        OneOf(("best", "mbr")),
        '`"best"`: the most probable tree; `"mbr"`: the one with the least expected number of wrong arcs',
    )
    tokens: str = _tokens()
    threads: int = setting(
        1, Whole(1), "threads that a batch is divided between; the result does not depend on it"
    )
    seed: int = setting(0, SEED, "fixes training bit for bit")


@dataclass(frozen=True)
class StateSettings(Settings):
    """All settings of `head_outward_states`."""

    trees: str = setting(
        "given",
        OneOf(("given", "sampled")),
        'which trees are learned from: those of the documents, or, with `"sampled"`, others that training '
        "draws and that begin with "
        "these",
    )
    seed: int = setting(0, SEED, "fixes training bit for bit, and the states of a document")


@dataclass(frozen=True)
class VotingSettings(Settings):
    """All settings of `parse_combiner` and `arc_confidence`."""

    last: str = setting(
        "",
        NAME,
        'the name of a document\'s current parse; in a config, `""` is the component before this one',
    )


@dataclass(frozen=True)
class RerankerSettings(Settings):
    """All settings of `parse_reranker`."""

    source: str = setting(
        "",
        NAME,
        "the name of the parser before it among whose trees it chooses; none: the last parser before it",
    )
    k: int = setting(
        20, Whole(1, 1_000_000), "how many trees of a sentence, the one that the document has among them"
    )
    generative: str = setting(
        "",
        NAME,
        "the name of an `hpyp_parser` in the pipeline that says how probable it takes the trees for, too; "
        "none: no such feature",
    )
    decoding: str = setting(
        "mbr",
        OneOf(("best", "mbr")),
        '`"best"`: the most probable tree; `"mbr"`: the one with the least expected number of wrong arcs',
    )
    tokens: str = _tokens()
    threads: int = setting(
        1, Whole(1), "threads that sentences are divided between; the result does not depend on it"
    )
    seed: int = setting(0, SEED, "fixes training bit for bit")
