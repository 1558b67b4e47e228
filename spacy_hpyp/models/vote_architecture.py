"""The registered architecture of what is learned about voters."""

from collections.abc import Sequence
from typing import Any

from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..annotation.ballots import Ballots, Names, read_ballots
from ..annotation.documents import ROOT_LABEL
from .votes import Result, Votes

#: The attribute of a thinc Model that holds `Votes`.
VOTES = "votes"

#: Ballots, the number of the label of roots, up to which length trees are to be projective, and the voter whose trees are to stay. Or Docs,
#: as `spacy debug model` gives them.
Request = tuple[Ballots, int, int, int | None] | list[Doc]


@registry.architectures("spacy-hpyp.ParseVotes.v1")
def ParseVotes(voters: Sequence[str]) -> Model[Request, Result]:
    """What is learned about voters (multinomial logistic regression), as a thinc model.

    Its attribute `votes` holds names and weights; it has no parameters.

    voters (Sequence[str]): The names of their parses in `doc._.parses`, in the order of their say about sentence boundaries. Without any,
        they are those whose parses the pipeline keeps before the component, when it is initialized.
    RETURNS (Model): Takes a request; gives what was elected.
    RAISES (ValueError): If one is named twice.
    """
    if len(set(voters)) < len(voters):
        raise ValueError(f"A voter is named twice: {list(voters)}.")
    model: Model = Model("parse_votes", _forward)
    model.attrs["voters"] = list(voters)
    model.attrs[VOTES] = Votes(voters, [], [])
    return model


def _forward(model: Model, request: Request, is_train: bool) -> tuple[Result, Any]:
    """Elect. There is nothing to propagate back: weights are learned by Newton's method."""
    votes: Votes = model.attrs[VOTES]
    if isinstance(request, list):
        names = Names.known(votes.tags, votes.labels)
        ballots, _ = read_ballots(request, votes.voters, names, last="", reader=model.name)
        request = ballots, names.labels.setdefault(ROOT_LABEL, len(names.labels)), 0, None
    ballots, root, longest, kept = request
    return votes.elect(ballots, longest=longest, root=root, kept=kept), lambda gradient: gradient
