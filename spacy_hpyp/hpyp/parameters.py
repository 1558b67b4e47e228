"""The weights of pools as the parameters of thinc models, so that spaCy's optimizers learn them."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from thinc.api import Model

from .pool import Weights

if TYPE_CHECKING:
    from .count_model import CountModel

#: What the parts of `Weights` are called among the parameters of a thinc model, and in files.
PARAMETERS = ("standing", "gate")
#: Learning rate of the weights of gates relative to those of restaurants: their symbols are many,
#: and some are rare.
GATE_PACE = 0.3
# How many tokens of the training data the initial weights are worth.
_WEIGHT_PRIOR = 30.0


class Parameters(Mapping[str, Weights]):
    """The weights of the pools, by distribution, as the parameters of a thinc model have them when
    they are asked for.

    attribute (str): The name of the attribute that holds a `CountModel`.
    """

    def __init__(self, model: Model, attribute: str) -> None:
        self._model, self._attribute = model, attribute

    def __getitem__(self, name: str) -> Weights:
        try:
            return _weights(name, self._model.get_param)
        except KeyError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._model.attrs[self._attribute].conditionals)

    def __len__(self) -> int:
        return len(self._model.attrs[self._attribute].conditionals)


def set_pooled(model: Model, attribute: str, pooled: "CountModel") -> Model:
    """Put a count model into a thinc model, whose parameters become its weights. Returns the thinc
    model.
    """
    weights = {name: pooled.weights[name] for name in pooled.conditionals}
    model.attrs[attribute] = pooled
    for name, own in weights.items():
        for part, value in zip(PARAMETERS, (own.bucket, own.gate / GATE_PACE), strict=True):
            model.set_param(f"{name}_{part}", value.astype(np.float32))
            # What was learned about the weights of another model, and not used yet, is of no use to
            # these.
            if model.has_grad(f"{name}_{part}"):
                model.set_grad(f"{name}_{part}", np.zeros(value.shape, dtype=np.float32))
    pooled.weights = Parameters(model, attribute)
    return model


def weights_from(pooled: "CountModel", parameters: dict[str, Any]) -> dict[str, Weights]:
    """The weights that parameters read from a file stand for.

    RAISES (KeyError | TypeError | ValueError): If one is missing or of the wrong kind.
    """
    return {name: _weights(name, parameters.__getitem__) for name in pooled.conditionals}


def _weights(name: str, parameter: Callable[[str], Any]) -> Weights:
    bucket, gate = (
        np.asarray(parameter(f"{name}_{part}"), dtype=np.float64) for part in PARAMETERS
    )
    return Weights(bucket, GATE_PACE * gate)


def add_gradients(
    model: Model, attribute: str, gradient: Mapping[str, Weights], tokens: int
) -> None:
    """Add the gradient of the loss to those of the parameters: of the negative log-likelihood for
    each token, and of a Gaussian prior around the weights that the pools begin with.

    model (Model), attribute (str): See `Parameters`.
    gradient (Mapping[str, Weights]): The gradient of the log-likelihood of a batch.
    """
    pooled: CountModel = model.attrs[attribute]
    seated = max(pooled.progress.tokens, 1)
    for name, first in pooled.first_weights().items():
        if pooled.conditionals[name].is_plain:
            continue
        bucket, gate = (
            _WEIGHT_PRIOR / seated * (ours - prior) - likelihood / tokens
            for ours, prior, likelihood in zip(pooled.weights[name], first, gradient[name])
        )
        model.inc_grad(f"{name}_standing", bucket.astype(np.float32))
        model.inc_grad(f"{name}_gate", (GATE_PACE * gate).astype(np.float32))


def no_gradient(weights: Mapping[str, Weights]) -> dict[str, Weights]:
    """Zeros in the shape of some weights."""
    return {name: Weights(*(np.zeros_like(part) for part in weights[name])) for name in weights}
