"""Easy-first models of words as bytes, with all that training needs to go on; what is read is checked before it is used."""

from dataclasses import asdict, fields
from typing import Any

import srsly

from ..easy_first.storage import perceptron_from_message, perceptron_to_message
from ..storage.checksum import unpack_message
from .decider import Decider, Pass
from .messages import check_count, check_format, part, vocabulary_from_message, vocabulary_to_message

#: The format that is written.
FORMAT = 1


def decider_to_bytes(model: Decider) -> bytes:
    """The whole model: its words and outcomes, its weights, and how far training is."""
    msg: dict[str, Any] = {"format": FORMAT, **_made_for(model)}
    if model.is_initialized:
        msg |= vocabulary_to_message(model.vocabulary)
        msg |= {"perceptron": perceptron_to_message(model.perceptron), "training": asdict(model.training)}
    return srsly.msgpack_dumps(msg)


def decider_from_bytes(model: Decider, data: bytes) -> Decider:
    """Read what `decider_to_bytes` wrote.

    model (Decider): A model with the settings of the one that was written; it stays as it is.
    RETURNS (Decider): A new model.
    RAISES (ValueError): If the bytes are damaged or belong to a model with other templates.
    """
    msg = unpack_message(data)
    check_format(msg, FORMAT, "a model")
    for name, ours in _made_for(model).items():
        if msg.get(name) != ours:
            raise ValueError(
                f"its '{name}' are not those of the config: the weights of a trained model are for its own"
            )
    loaded = model.untrained()
    if "perceptron" in msg:
        vocabulary = vocabulary_from_message(msg, model.vocabulary_settings.rule)
        loaded.initialize(vocabulary, perceptron_from_message(part(msg, "perceptron", dict), model.places, 1))
        training = part(msg, "training", dict)
        loaded.training = Pass(*(check_count(part(training, field.name, int)) for field in fields(Pass)))
    return loaded


def _made_for(model: Decider) -> dict[str, Any]:
    return {"outcome": model.task.outcome, "templates": model.templates, "places": model.places}
