"""`hpyp compact`, `hpyp package` and `hpyp release`: pipelines that only predict, wheels of them, and a
folder that pip installs from.
"""

import re
import shutil
from email import message_from_bytes
from email.message import Message
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from zipfile import ZipFile

import srsly
from jinja2 import Template
from spacy.cli.package import generate_readme
from spacy.cli.package import package as package_by_spacy
from wasabi import MarkdownRenderer, msg

from ..about import __version__
from ..components.base import TrainableComponent
from ..storage.files import prepare_folder, replace_file
from ..treebanks.conllu import read_blocks
from .app import load_pipeline, note
from .convert import parts_of
from .info import MB, size_of
from .options import FILE, argument, option
from .output import percent
from .udeval import GIVEN, METRICS

# What the README of a treebank says of it: in UD between the lines of "machine-readable metadata".
_FACT = re.compile(r"^(License|Contributors): *(.+?) *$", re.MULTILINE)
_INDEX = Template(
    """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Pipelines</title></head>
<body>
<h1>Pipelines</h1>
<p><code>pip install --find-links ADDRESS_OF_THIS_PAGE NAME</code></p>
<ul>
{%- for each in wheels %}
<li><a href="{{ each.file }}#sha256={{ each.digest }}">{{ each.file }}</a>, {{ each.size }} MB. {{ each.about.Summary }}
{%- if each.card %} <a href="{{ each.card }}">Model card</a>. Licence: {{ each.about.License or "not known" }}.{% endif %}</li>
{%- endfor %}
</ul>
</body>
</html>
""",
    autoescape=True,
)


def package(
    pipeline: Annotated[str, argument("Name or path of a trained pipeline")],
    treebank: Annotated[
        Path, argument("What its treebank's files begin with, as assets/UD_Tamil-TTB/ta_ttb-ud")
    ],
    output: Annotated[Path, argument("Folder for the wheel and its model card", file_okay=False)],
    *,
    scores: Annotated[Path | None, option("What 'hpyp udeval' wrote: the card has its table", **FILE)] = None,
    version: Annotated[str, option("Of the package")] = "0.1.0",
    author: Annotated[str, option("Who made it; otherwise who the pipeline says, or else this package")] = "",
) -> None:
    """Make a wheel of a pipeline, named after its treebank: ta_ttb_hpyp of ta_ttb-ud.

    It has what 'hpyp compact' leaves, a model card (README.md), and the licence of the treebank, whose
    README.md and LICENSE.txt are read where they are. It is built by 'spacy package', which fetches what
    building needs.
    """
    with TemporaryDirectory() as folder:
        small = Path(folder, "pipeline")
        compact(pipeline, small)
        meta = srsly.read_json(small / "meta.json")
        # The card would show losses in percent, and link to an address that is empty.
        meta["performance"] = {
            k: score for k, score in meta.get("performance", {}).items() if not k.endswith("_loss")
        }
        meta["author"] = author or meta["author"] or f"spacy-hpyp {__version__}"
        meta |= {
            "name": package_name(treebank.name, meta["lang"]),
            "version": version,
            **_card(treebank, scores),
        }
        (small / "README.md").write_text(
            generate_readme({k: v for k, v in meta.items() if v != ""}), encoding="utf8"
        )
        srsly.write_json(small / "meta.json", meta)
        if (licence := treebank.with_name("LICENSE.txt")).is_file():
            shutil.copy(licence, small / "LICENSE")
        package_by_spacy(small, Path(folder), create_sdist=False, create_wheel=True)
        wheels = list(Path(folder).glob("*/dist/*.whl"))
        if not wheels:
            raise ValueError(f"No wheel of '{pipeline}' could be built: what is printed above says why.")
        prepare_folder(output)
        for path in (*wheels, small / "README.md"):
            replace_file(output / path.name, path.read_bytes())
    msg.good(f"Wrote {output / wheels[0].name}")


def package_name(prefix: str, lang: str) -> str:
    """How the package of a pipeline is called behind its language, which spaCy writes before each name:
    "ttb_hpyp".

    prefix (str): What the names of the treebank's files begin with, as "ta_ttb-ud".
    """
    return re.sub(r"\W+", "_", prefix.removesuffix("-ud").removeprefix(f"{lang}_")) + "_hpyp"


def _card(treebank: Path, scores: Path | None) -> dict[str, Any]:
    """What `meta.json` says of the treebank, of which `spacy package` makes the card."""
    parts = parts_of(treebank)
    sizes = [block.size for block in read_blocks(parts["train"])]
    name, readme = treebank.parent.name, treebank.with_name("README.md")
    facts = dict(_FACT.findall(readme.read_text(encoding="utf8"))) if readme.is_file() else {}
    if "License" not in facts:
        facts["License"] = "see LICENSE" if treebank.with_name("LICENSE.txt").is_file() else "not known"
        note(
            f"No line of '{readme}' begins with 'License:': the card has no name of it, '{facts['License']}'."
        )
    source = {"name": name, "license": facts["License"], "author": facts.get("Contributors", "")}
    if name.startswith("UD_"):
        source["url"] = f"https://github.com/UniversalDependencies/{name}"
    card = MarkdownRenderer()
    card.add(card.title(3, "Training"))
    card.add(
        f"`{parts['train'].name}`: {len(sizes):,} sentences, {sum(sizes):,} words. What training measured of "
        f"the development part chose the model."
    )
    if scores is not None:
        found = srsly.read_json(scores)["pipeline"]
        measured = next((path.name for path in (parts["test"], parts["dev"]) if path.exists()), None)
        what = f"`{measured}`" if measured else "the sentences of it that were held out"
        card.add(card.title(3, "Official scores"))
        card.add(f"F1 in percent by the script of Universal Dependencies, of {what}, given:")
        rows = [(GIVEN[given], *(percent(found[given][metric]) for metric in METRICS)) for given in GIVEN]
        card.add(card.table(rows, ["", *METRICS]))
    description = f"Trained on {name} by spacy-hpyp {__version__}."
    return {"description": description, "license": source["license"], "sources": [source], "notes": card.text}


def release(
    folders: Annotated[
        list[Path], argument("Folders with wheels in them or below", exists=True, file_okay=False)
    ],
    output: Annotated[Path, option("Folder for all of them", "-o", file_okay=False)],
) -> None:
    """Gather wheels in one folder, with checksums (SHA256SUMS), model cards and a page that 'pip install
    --find-links' takes (index.html).

    What the folder has already is a part of it.
    """
    prepare_folder(output)
    for path in sorted({path for folder in folders for path in folder.rglob("*.whl")}):
        replace_file(output / path.name, path.read_bytes())
    wheels = []
    for path in sorted(output.glob("*.whl")):
        about, card = _about(path), ""
        if not path.name.startswith("spacy_hpyp-"):
            card = f"{about['Name']}-{about['Version']}.md"
            replace_file(output / card, about.get_payload(decode=True))
        digest, size = sha256(path.read_bytes()).hexdigest(), f"{path.stat().st_size / MB:.1f}"
        wheels.append({"file": path.name, "digest": digest, "size": size, "about": about, "card": card})
    if not wheels:
        raise ValueError(f"There is no wheel in {', '.join(map(repr, map(str, folders)))}.")
    sums = "".join(f"{each['digest']}  {each['file']}\n" for each in wheels)
    replace_file(output / "SHA256SUMS", sums.encode())
    replace_file(output / "index.html", _INDEX.render(wheels=wheels).encode())
    msg.good(f"{len(wheels)} wheels: pip install --find-links {output / 'index.html'} NAME")


def _about(path: Path) -> Message:
    """What a wheel says of itself; its text is the model card."""
    with ZipFile(path) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(wheel.read(name))


def compact(
    pipeline: Annotated[str, argument("Name or path of a trained pipeline")],
    output: Annotated[Path, argument("Where to write the smaller one: another directory")],
) -> None:
    """Write a pipeline without what only further training needs, for packages.

    Of easy-first components the averages of their weights are left, to a 32nd. hpyp_parser keeps its seating:
    what it predicts by is made of it.
    """
    nlp = load_pipeline(pipeline)
    if output.resolve() == nlp.path.resolve():
        raise ValueError(
            f"{output} is the pipeline itself, which could not be trained any more: name another one."
        )
    for _, component in nlp.components:
        if isinstance(component, TrainableComponent):
            component.learned.compact()
    nlp.to_disk(output)
    msg.good(f"Wrote {output}, {size_of(output.rglob('*')) / MB:.1f} MB")
