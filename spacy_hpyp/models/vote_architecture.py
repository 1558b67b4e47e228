"""The registered architecture of what is learned about voters."""

from collections.abc import Sequence

from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..annotation.ballots import Names, read_ballots
from ..annotation.documents import ROOT_LABEL
from .stored import model_holding
from .votes import Result, Votes

#: The attribute of a thinc Model that holds `Votes`.
VOTES = "votes"


@registry.architectures("spacy-hpyp.ParseVotes.v1")
def ParseVotes(voters: Sequence[str]) -> Model[list[Doc], Result]:
    """What is learned about voters (multinomial logistic regression), as a thinc model.

    Its attribute `votes` holds names and weights; it has no parameters.

    voters (Sequence[str]): The names of their parses in `doc._.parses`, in the order of their say about sentence boundaries. Without any,
        they are those whose parses the pipeline keeps before the component, when it is initialized.
    RETURNS (Model): Takes Docs with parses and gives what was elected.
    RAISES (ValueError): If one is named twice.
    """
    if len(set(voters)) < len(voters):
        raise ValueError(f"A voter is named twice: {list(voters)}.")
    model = model_holding(Votes(voters, [], []), "parse_votes", VOTES, _elect)
    # In the order of files of earlier versions.
    model.attrs.update({"voters": list(voters), VOTES: model.attrs.pop(VOTES)})
    return model


def _elect(votes: Votes, docs: list[Doc]) -> Result:
    names = Names.known(votes.tags, votes.labels)
    ballots, _ = read_ballots(docs, votes.voters, names, last="", reader="parse_votes")
    return votes.elect(ballots, longest=0, root=names.labels.setdefault(ROOT_LABEL, len(names.labels)))
