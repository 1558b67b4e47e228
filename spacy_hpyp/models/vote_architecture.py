"""The registered architecture of what is learned about voters, by its former place."""

from .votes import ParseVotes as ParseVotes
