"""Run every command and Python block of the README and the pages on the sample, with small
settings.
"""

import csv
import re
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
import spacy
from command_line import run
from spacy.cli.train import train
from spacy.training import Example
from test_docs import CODE, PROJECT, by_page
from test_sample import SMALL

from spacy_hpyp.pipeline.corpus import read_treebank

_COMMAND = "python -m spacy "

#: Names used in pages, mapped to the sample and to pipelines trained on it.
NAMES = {
    "UD_English-EWT": "sample",
    "UD_French-Sequoia": "sample",
    "UD_Tamil-TTB": "sample",
    "en_ewt-ud": "en_sample-ud",
    "fr_sequoia-ud": "en_sample-ud",
    "ta_ttb-ud": "en_sample-ud",
    "--vars.lang fr": "--vars.lang en",
    "--vars.lang ta": "--vars.lang en",
    "en_core_web_sm": "training/sample-spacy/model-best",
    "HPYP_PIPELINE": "training/sample/model-best",
    "MY_PIPELINE": "training/sample-spacy/model-best",
    "MODEL": "training/sample/model-best",
}
#: Commands that need a network, server, cluster or terminal; other tests run them without.
ELSEWHERE = ("project assets", "spacy download", "hpyp explore", "--ray")
#: Modules of extras that commands and code need.
EXTRAS = {
    "hpyp cross-validate": "udtools",
    "hpyp reading": "statsmodels",
    "hpyp udeval": "udtools",
    "pd.": "pandas",
}
#: Small settings of commands.
SETTINGS = {
    "hpyp classes": "--classes 8 --min-count 2",
    "hpyp cross-validate": "--folds 2 --training.max_epochs 1",
    "hpyp generate": "--number 50 --min-length 3",
    "hpyp ngram": "--sweeps 1",
    "hpyp perplexity": "-K 10",
    "hpyp self-train": "-K 10",
    "hpyp surprisal": "-K 10",
    "project run": "--dry --force",
    "train": "--training.max_epochs 1",
}
QUICK = {"training.max_epochs": 1, "training.max_steps": 0}


def write_table(name, rows):
    """Write a table in CSV."""
    with open(name, "w", encoding="utf8", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture(scope="module", name="project")
def folder(tmp_path_factory):
    """A copy of the project with pipelines, data and users' files."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("assets", "configs"):
        shutil.copytree(PROJECT / name, folder / name)
    shutil.copy(PROJECT / "project.yml", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("hpyp", "split", "assets/sample", "corpus/sample")
        sample = {part: f"corpus/sample/en_sample-ud-{part}" for part in ("train", "dev")}
        run("hpyp", "convert", *(f"{file}.conllu" for file in sample.values()), "corpus/sample")
        paths = {f"paths.{part}": f"{file}.conllu" for part, file in sample.items()}
        quick = {**paths, **QUICK, "components.hpyp_parser.particles": 10}
        quick["components.hpyp_parser.guides"] = True
        train(Path("configs/pool.cfg"), Path("training/sample"), overrides=quick)
        annotated = f"{sample['train']}-guided.spacy"
        run("hpyp", "guides", "training/sample/model-best", paths["paths.train"], annotated)
        guided = {**paths, **QUICK, **SMALL, "paths.train": annotated}
        guided["paths.parser"] = "training/sample/model-best"
        train(Path("configs/guided.cfg"), Path("training/sample-guided"), overrides=guided)
        spacys = spacy.blank("en")
        docs = list(read_treebank(Path(f"{sample['train']}.spacy"), spacys.vocab))
        for name in ("tagger", "parser"):
            spacys.add_pipe(name)
        spacys.initialize(lambda: [Example(spacys.make_doc(doc.text), doc) for doc in docs])
        Path("training/sample-spacy").mkdir()
        spacys.to_disk("training/sample-spacy/model-best")
        texts = [doc.text for doc in docs]
        for name in ("raw.txt", "text.txt"):
            Path(name).write_text("\n".join(texts), encoding="utf8")
        shutil.copy(f"{sample['dev']}.conllu", "unseen.conllu")
        words = [(story, word) for story in range(9) for word in texts[story].split()]
        rows = [(*word, 300 + 7 * len(word[1]) + i % 5) for i, word in enumerate(words)]
        write_table("times.tsv", [("story", "word", "time"), *rows])
        rows = [(word, len(word)) for _, word in words]
        write_table("gpt2.csv", [("word", "surprisal"), *rows])
    return folder


def blocks_of(page):
    """The code blocks of a page with their languages, after replacing names by the sample's."""
    text = page.read_text(encoding="utf8")
    for name, own in NAMES.items():
        text = re.sub(rf"(?<![\w/]){name}(?!\w)" if name.isupper() else re.escape(name), own, text)
    return CODE.findall(text.replace("\\\n", " "))


def is_left_out(code):
    """Tell whether a command or block needs something unavailable."""
    needed = [module for part, module in EXTRAS.items() if part in code]
    return any(part in code for part in ELSEWHERE) or not all(map(find_spec, needed))


def run_command(command):
    """Run a command with small settings."""
    arguments = command.removeprefix(_COMMAND)
    for name, settings in SETTINGS.items():
        is_ngram = ".ngram" in arguments and "-K" in settings
        if f"{arguments} ".startswith(f"{name} ") and not is_ngram:
            arguments += f" {settings}"
    run(*shlex.split(arguments))


@by_page
def test_commands_and_code_of_a_page_run_in_order(project, page, monkeypatch, capsys):
    monkeypatch.chdir(project)
    names = {"spacy": spacy, "path": "training/sample/model-best"}
    names["texts"] = ["The ferry leaves."] * 3
    for language, block in blocks_of(page):
        if language == "python" and not is_left_out(block):
            names.setdefault("nlp", spacy.load(names["path"]))
            exec(block, names)
        for command in block.split("\n") if not language else ():
            if command.startswith(_COMMAND) and not is_left_out(command):
                run_command(command)
