"""Write the tables of docs/settings.md from the declarations of settings. Meanings stay.

python scripts/settings_page.py
"""

import json
import re
from dataclasses import Field, fields
from pathlib import Path

from spacy_hpyp.arc_standard.architectures import ModelSettings
from spacy_hpyp.easy_first.tree_model import TreeModelSettings
from spacy_hpyp.easy_first.word_model import ClassifierSettings
from spacy_hpyp.head_outward.latent_states import StateModelSettings
from spacy_hpyp.head_outward.model import EstimatorSettings
from spacy_hpyp.pipeline.settings import (
    EasyFirstParserSettings,
    HeadOutwardSettings,
    ParserSettings,
    RerankerSettings,
    SenterSettings,
    StateSettings,
)

PAGE = Path(__file__).parent.parent / "docs" / "settings.md"
#: The settings of each table, by the name in its header.
SETTINGS = {
    "the component": ParserSettings,
    "the model": ModelSettings,
    "`easy_first_parser`": EasyFirstParserSettings,
    "the parser's model": TreeModelSettings,
    "`easy_first_senter`": SenterSettings,
    "the morphologizer's and the lemmatizer's model": ClassifierSettings,
    "`head_outward_parser`": HeadOutwardSettings,
    "the head-outward model": EstimatorSettings,
    "`head_outward_states`": StateSettings,
    "the latent-state model": StateModelSettings,
    "`parse_reranker`": RerankerSettings,
}
_TABLE = re.compile(
    r"(?P<head>\| setting of (?P<name>.+) \| default \| may be \| meaning \|\n\|[ |-]+\|\n)"
    r"(?P<rows>(?:\|.*\n)+)(?:\nAlso .*, as above\.\n)?"
)
_MEANING = re.compile(r"^\| `(\w+)` \|.* \| (.*) \|$", re.MULTILINE)


def write(page: str) -> str:
    """Return the page with the settings, defaults and ranges that are declared.

    RAISES (ValueError): If a setting has no row in its table, nor in one above with its values.
    """
    described: set[str] = set()

    def write_table(found: re.Match) -> str:
        meanings, rows, above = dict(_MEANING.findall(found["rows"])), "", []
        for field in fields(SETTINGS[found["name"]]):
            values = f"| `{field.name}` | {json.dumps(field.default)} | {_range_of(field)} |"
            if field.name in meanings:
                rows += f"{values} {meanings[field.name]} |\n"
                described.add(values)
            elif values in described:
                above.append(f"`{field.name}`")
            else:
                raise ValueError(f"Add '{field.name}' to the table of {found['name']}.")
        return found["head"] + rows + (f"\nAlso {', '.join(above)}, as above.\n" if above else "")

    return _TABLE.sub(write_table, page)


def _range_of(field: Field) -> str:
    """Return the possible values. The default tells whether a number is whole."""
    text = str(field.metadata["possible"])
    text = re.sub(r"a (whole |finite )?number (of at least|from) (\S+)", r"\3", text)
    return re.sub(r"^([\d.,]+)$", r"\1 or more", text.replace(" and at most ", " to "))


if __name__ == "__main__":
    PAGE.write_text(write(PAGE.read_text(encoding="utf8")), encoding="utf8")
