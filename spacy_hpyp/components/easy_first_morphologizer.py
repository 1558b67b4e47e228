"""The trainable spaCy component `easy_first_morphologizer`."""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from spacy.morphology import Morphology
from spacy.pipeline.morphologizer import morphologizer_score
from spacy.tokens import Doc

from ..annotation.words import Words, read_written, write_attribute
from .factories import register
from .settings import AttributeSettings
from .word_classifier import AttributeComponent

#: The part of speech in the name of an outcome, as spaCy's morphologizer has it; and that of white space.
_POS, SPACE_POS = "POS=", "SPACE"


class EasyFirstMorphologizer(AttributeComponent):
    """Finds universal parts of speech and features, the easiest word of a sentence first. It sets
    `token.pos_` and `token.morph`.

    Both are one outcome, whose weights are those of its part of speech, of its features and of it as a whole,
    so that what is learned of one holds for others. A word may be what it was in training, or, if it was rare
    there, what words with its ending were.

    If its templates read guides (`guide.tag`), it stands after an `hpyp_parser` with guides = true, and is
    trained on documents that 'python -m spacy hpyp guides' has written. Words under tokens are decided each
    by itself.

    Its model is made by `spacy-hpyp.EasyFirstMorphologizer.v1`.
    """

    factory = "easy_first_morphologizer"
    settings_type = AttributeSettings
    default_scorer = staticmethod(morphologizer_score)

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Words, np.ndarray]) -> None:
        """Write parts of speech and features into the documents that `predict` was given, by what it
        returned.
        """
        if not self._writes:
            return
        docs, (words, outcomes) = list(docs), scores
        found = map(_taken_apart, self.classifier.outcomes)
        for attribute, values, space in zip(("pos", "morph"), zip(*found), (SPACE_POS, "")):
            names = {value: number for number, value in enumerate(dict.fromkeys(values))}
            number = np.array([names[value] for value in values])
            write_attribute(docs, words.layout, attribute, list(names), number[outcomes], space=space)

    def _gold_outcomes(self, doc: Doc, words: Words) -> tuple[list[str], np.ndarray]:
        (parts, part), (morphs, morph) = (
            read_written([doc], words.layout, name) for name in ("pos", "morph")
        )
        pairs, place = np.unique(part * max(1, len(morphs)) + morph, return_inverse=True)
        return [
            _put_together(parts[pair // len(morphs)], morphs[pair % len(morphs)]) for pair in pairs.tolist()
        ], place


def _put_together(pos: str, features: str) -> str:
    own = [] if features in ("", Morphology.EMPTY_MORPH) else features.split(Morphology.FEATURE_SEP)
    return Morphology.FEATURE_SEP.join(sorted([*own, *([_POS + pos] if pos else [])]))


@lru_cache(1 << 12)
def _taken_apart(name: str) -> tuple[str, str]:
    """The part of speech, and the features."""
    parts = name.split(Morphology.FEATURE_SEP)
    pos = "".join(part.removeprefix(_POS) for part in parts if part.startswith(_POS))
    return pos, Morphology.FEATURE_SEP.join(part for part in parts if not part.startswith(_POS))


make_easy_first_morphologizer = register(
    EasyFirstMorphologizer,
    assigns=["token.pos", "token.morph"],
    scores={"pos_acc": 0.5, "morph_acc": 0.5, "morph_per_feat": None},
)
