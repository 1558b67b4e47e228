"""Stored easy-first parsers; what is read is checked before anything compiled works on it."""

from dataclasses import asdict, fields
from typing import Any

import srsly

from ..annotation.confidence import check_weights
from ..easy_first.storage import perceptron_from_message, perceptron_to_message
from ..storage.checksum import unpack_message
from .messages import check_count, part, strings, vocabulary_from_message, vocabulary_to_message
from .tree_model import UNLEARNED, ParserProgress, TreeModel

FORMAT = 1


def tree_model_to_bytes(model: TreeModel) -> bytes:
    """The whole model: templates, alphabets, vocabulary, weights with what their averages are made of, and how far training is."""
    message: dict[str, Any] = {"format": FORMAT, "templates": [model.arc_templates, model.label_templates]}
    if model.is_initialized:
        message |= {
            **vocabulary_to_message(model.vocabulary),
            "labels": model.labels,
            "arcs": perceptron_to_message(model.arc_perceptron),
            "arc_labels": perceptron_to_message(model.label_perceptron),
            "confidence": None if model.confidence is None else model.confidence.tolist(),
            "progress": asdict(model.progress),
        }
    return srsly.msgpack_dumps(message)


def tree_model_from_bytes(model: TreeModel, data: bytes) -> TreeModel:
    """Read a stored model.

    model (TreeModel): A model with the settings of the one that was written; it stays as it is.
    RETURNS (TreeModel): A new model.
    RAISES (ValueError): If the bytes are damaged or belong to a model with other templates.
    """
    message = unpack_message(data)
    if message.get("format") != FORMAT:
        raise ValueError("it is not an easy-first parser of this version of spacy-hpyp")
    if message.get("templates") != [model.arc_templates, model.label_templates]:
        raise ValueError("its templates are not those of the config: a trained model cannot change what it reads")
    loaded = model.untrained()
    if "arcs" not in message:
        return loaded
    labels = strings(part(message, "labels", list))
    vocabulary = vocabulary_from_message(message, model.vocabulary_settings.rule)
    loaded.initialize(vocabulary, labels, empty=True)
    loaded.arc_perceptron = perceptron_from_message(part(message, "arcs", dict), model.arc_places, 2)
    outcomes = max(1, len(labels))
    loaded.label_perceptron = perceptron_from_message(part(message, "arc_labels", dict), model.label_places, outcomes)
    if message.get("confidence") is not None:
        loaded.confidence = check_weights(part(message, "confidence", list), UNLEARNED)
    progress = part(message, "progress", dict)
    names = [field.name for field in fields(ParserProgress)]
    loaded.progress = ParserProgress(*(check_count(part(progress, name, int)) for name in names))
    return loaded
