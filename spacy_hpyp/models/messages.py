"""Vocabularies as parts of what models save."""

from typing import Any

from ..text.candidates import WordOutcomes
from ..text.tag_history import SeenForms, SeenTags
from ..text.unknown_words import UnknownWordRule
from ..text.vocabulary import Vocabulary

Message = dict[str, Any]


def vocabulary_to_message(vocabulary: Vocabulary) -> Message:
    """Return a vocabulary without its rule as a part of a message."""
    offsets = vocabulary.tag_offsets[: len(vocabulary) + 1]
    forms = vocabulary.forms
    return {
        "vocabulary": {
            "tags": list(vocabulary.tags),
            "words": list(vocabulary.words),
            "classes": list(vocabulary.classes),
            "tag_offsets": offsets,
            "candidate_tags": vocabulary.candidate_tags[: offsets[-1]],
            "rare": vocabulary.rare,
            "seen": None if vocabulary.seen is None else vars(vocabulary.seen),
            "forms": None if forms is None else {"names": forms.names, "seen": vars(forms.seen)},
        }
    }


def vocabulary_from_message(message: Message, rule: UnknownWordRule) -> Vocabulary:
    """Read what `vocabulary_to_message` wrote."""
    found = dict(message["vocabulary"])
    seen, forms = found.pop("seen"), found.pop("forms")
    return Vocabulary(
        **found,
        rule=rule,
        seen=seen and SeenTags(**seen),
        forms=forms and SeenForms(forms["names"], SeenTags(**forms["seen"])),
    )


def candidates_to_message(candidates: WordOutcomes | None) -> Message:
    """Return the outcomes that words may have as a part of a message."""
    names = ("forms", "endings", "offsets", "outcomes")
    found = None if candidates is None else {name: getattr(candidates, name) for name in names}
    return {"candidates": found}


def candidates_from_message(message: Message) -> WordOutcomes | None:
    """Read what `candidates_to_message` wrote."""
    found = message["candidates"]
    return None if found is None else WordOutcomes(**found)
