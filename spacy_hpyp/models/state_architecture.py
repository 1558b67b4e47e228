"""The registered architecture of models with latent states, by its former place."""

from .latent_states import LatentStatesModel as LatentStatesModel
