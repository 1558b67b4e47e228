"""What components are made of that no config says anything about."""

import hashlib
import json

import pytest
import spacy

#: Checksums of what `add_pipe` makes of a name alone, in English and in French.
DEFAULTS = {
    "hpyp_parser": ("c6512f5c39e7ab2e", "f2491536d460ea17"),
    "easy_first_tagger": ("43a5f0ebaa8a3733", "d7a86fdcbaf341a9"),
    "easy_first_senter": ("9aece03164ba8476", "9aece03164ba8476"),
    "easy_first_parser": ("e781d1a85f62f9a2", "bdc9cc4bdc4c6c8f"),
    "head_outward_parser": ("6ec9bb1fad378b7d", "0f39a58918711fe5"),
    "head_outward_states": ("bd8513443f82fe66", "26ef1f955166e99b"),
    "parse_combiner": ("ee819b66ae403a40", "ee819b66ae403a40"),
    "arc_confidence": ("8c39935edb295ac3", "8c39935edb295ac3"),
    "parse_reranker": ("86d59d2d0c90e5e5", "de86220f3444d14b"),
    "transition_confidence": ("0294be8b6d8f8deb", "0294be8b6d8f8deb"),
    "attribute_rules": ("c70ee964f94f7248", "c70ee964f94f7248"),
    "keep_parse": ("ffcc6590aeafd7b8", "ffcc6590aeafd7b8"),
}


def settings_of(lang, factory):
    """What a config says of a component that has been added by its name."""
    nlp = spacy.blank(lang)
    nlp.add_pipe(factory)
    return nlp.config.interpolate()["components"][factory]


@pytest.mark.parametrize("factory", DEFAULTS)
def test_defaults_are_what_they_always_were(factory):
    found = [json.dumps(settings_of(lang, factory), sort_keys=True) for lang in ("en", "it")]
    assert tuple(hashlib.sha256(each.encode()).hexdigest()[:16] for each in found) == DEFAULTS[factory]
