"""`hpyp select-contexts`: the experts that a treebank asks for."""

import json
import os
import sys
import warnings
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy import util
from thinc.api import Config
from wasabi import msg

from ..annotation.arrays import Sentences
from ..annotation.documents import join, read_gold
from ..compat.cli import parse_config_overrides, show_validation_error
from ..components.alignment import sentences_of
from ..components.hpyp_parser import HPYPParser
from ..storage.files import replace_file
from ..training.selection import Selection, select_experts
from .options import FILE, NEW_FILE, TrainData, argument, option
from .progress import Bar
from .raw_text import read_training

_FACTORY = "hpyp_parser"
# The time that is left is anyone's guess: a pool may stay smaller than it may be.
_BAR = "{n}/{total} experts |{bar:30}| {elapsed}{postfix}"

#: The exit code of a command that was interrupted, as shells have it.
INTERRUPTED = 130


def select_contexts(
    ctx: typer.Context,
    config_path: Annotated[Path, argument("Config with an hpyp_parser", **FILE)],
    data_path: TrainData,
    output: Annotated[Path, argument("Where to write the config with the selected experts", **NEW_FILE)],
    *,
    max_experts: Annotated[
        list[str] | None,
        option("The most experts of a distribution, as 12 or tag=12, not those of the config", "-m"),
    ] = None,
    min_gain: Annotated[float, option("What another expert has to add, in nats a word", "-g")] = 0.0005,
    sentences: Annotated[int, option("How many sentences are left out and predicted", "-n", least=1)] = 1000,
    seed: Annotated[int, option("Fixes which sentences these are", "-s", least=0)] = 0,
    only: Annotated[str | None, option("Select those of this distribution alone")] = None,
    threads: Annotated[
        int, option("Threads; the result does not depend on it", "-t", least=1, show_default=False)
    ] = os.cpu_count() or 1,
) -> None:
    """Select the context lists of an hpyp_parser for a treebank, and write a config that has them.

    The pool of each distribution begins empty. In each round it gets the expert that makes sentences that are
    left out most likely, until another one adds too little. Candidates are the config's experts and lists
    generated from the context elements. Settings of the config can be overridden as for 'spacy train', as in
    --nlp.lang fr.

    When it is interrupted (Ctrl-C), it writes a config with what has been selected so far, and the same
    command goes on from there.
    """
    if not 0.0 < min_gain < float("inf"):
        raise ValueError(f"--min-gain must be a number above 0, but it is {min_gain}.")
    # What is wrong with them, spaCy prints to stdout.
    with redirect_stdout(sys.stderr), show_validation_error(config_path):
        task = read_task(config_path, data_path, parse_config_overrides([*ctx.args]))
    own = {name: len(each.experts) for name, each in task.parser.joint.conditionals.items()}
    limits = _limits(max_experts or [], own)
    if only is not None:
        if only not in limits:
            raise ValueError(f"--only is one of {', '.join(limits)}, not '{only}'.")
        limits = {only: limits[only]}
    msg.info(f"{len(task.sentences.offsets) - 1} sentences, {len(task.sentences.words)} words")
    journal = _Journal(output, task, limits, {"min_gain": min_gain, "sentences": sentences, "seed": seed})
    try:
        for number, (name, limit) in enumerate(limits.items(), 1):
            msg.divider(f"{name} ({number} of {len(limits)})")
            found = journal.found.get(name)
            if found is None or name not in journal.complete:
                with Bar(total=limit, bar_format=_BAR, miniters=0) as bar:

                    def show(seated: int, candidates: int, bar: Bar = bar) -> None:
                        bar.set_postfix_str(f"candidates: {seated} of {candidates}", refresh=False)
                        bar.update(0)

                    report = partial(_report, own=own[name], journal=journal, progress=bar)
                    how = {"max_experts": limit, "min_gain": min_gain, "sample": sentences, "seed": seed}
                    subject = (task.parser.joint, task.sentences, name)
                    found = select_experts(
                        *subject, **how, threads=threads, begun=found, report=report, progress=show
                    )
                journal.note(found, complete=True)
            msg.good(f"{len(found.experts)} experts, selected from {found.considered}")
    except KeyboardInterrupt:
        _save(output, task, journal.experts())
        done = ", ".join(journal.complete) or "no distribution"
        with redirect_stdout(sys.stderr):
            msg.warn(
                f"Interrupted. The experts of {done} have been selected; of the next one, those so far are "
                f"taken if they are better "
                f"than the config's own. Saved the config to {output}",
                "The same command goes on from here.",
            )
        raise typer.Exit(INTERRUPTED) from None
    _save(output, task, journal.experts())
    journal.path.unlink(missing_ok=True)
    msg.good(f"Saved the config to {output}")
    msg.text(f"Train with: python -m spacy train {output} --paths.train {data_path} ...")


class _Journal:
    """What has been selected so far, perhaps before it was interrupted, in a file beside the config that is
    to be written.

    task (str): What identifies the settings and the treebank.
    found (dict[str, Selection]): Of each distribution, as far as it has come.
    complete (list[str]): Those that have been selected.
    """

    def __init__(
        self, output: Path, task: "SelectionTask", limits: dict[str, int], settings: dict[str, Any]
    ) -> None:
        digest = sha256(json.dumps([task.config.to_str(interpolate=False), limits, settings]).encode())
        for column in task.sentences:
            digest.update(column.tobytes())
        self.path, self.task = output.with_name(f"{output.name}.progress.json"), digest.hexdigest()
        self.found: dict[str, Selection] = {}
        self.complete: list[str] = []
        if not self.path.exists():
            return
        problem = "it is of another selection"
        try:
            stored = json.loads(self.path.read_text(encoding="utf8"))
            if stored["task"] == self.task:
                self.found = {name: Selection.from_dict(each) for name, each in stored["found"].items()}
                self.complete = [name for name in stored["complete"] if name in self.found]
                msg.info(f"Goes on from {self.path}")
                return
        except (KeyError, TypeError, ValueError) as error:
            problem = f"it is damaged ({type(error).__name__})"
        msg.warn(f"Begins anew and not from {self.path}: {problem}.")

    def note(self, selection: Selection, *, complete: bool = False) -> None:
        """Write how far a selection has come, and whether it has ended."""
        self.found[selection.distribution] = selection
        self.complete += [selection.distribution] * complete
        stored = {name: found.to_dict() for name, found in self.found.items()}
        text = json.dumps({"task": self.task, "complete": self.complete, "found": stored})
        replace_file(self.path, text.encode())

    def experts(self) -> dict[str, list[list[str]]]:
        """The context lists of the distributions; of one that has not ended, if they are better than the
        config's own.
        """
        return {
            name: [list(expert) for expert in found.experts]
            for name, found in self.found.items()
            if name in self.complete or found.log_likelihood > found.own_log_likelihood
        }


def _save(output: Path, task: "SelectionTask", experts: dict[str, list[list[str]]]) -> None:
    config = task.config.copy()
    config["components"][task.parser.name]["model"].update(experts)
    replace_file(output, config.to_str(interpolate=False).encode())


@dataclass(frozen=True)
class SelectionTask:
    """What experts are to be selected for: a config with overrides, not interpolated; its parser, initialised
    for the training data; and its sentences.
    """

    config: Config
    parser: HPYPParser
    sentences: Sentences


def read_task(config_path: Path, data_path: Path, overrides: dict[str, Any]) -> SelectionTask:
    """Read a config, with settings by their names with dots that are overridden, and training data.

    RAISES (ValueError): If the config is none, or has no parser, or there is nothing to select for.
    """
    try:
        config = util.load_config(config_path, overrides=overrides)
    except UnicodeDecodeError as error:
        raise ValueError(f"'{config_path}' is not a config: it is not text in UTF-8 ({error}).") from error
    settings = config.interpolate()
    pipes = {name: pipe for name, pipe in settings.get("components", {}).items() if isinstance(pipe, dict)}
    names = [name for name, pipe in pipes.items() if pipe.get("factory") == _FACTORY]
    if len(names) != 1:
        raise ValueError(
            f"The config '{config_path}' should have one component with factory = \"{_FACTORY}\", but it has "
            f"{len(names)}."
        )
    component = {name: value for name, value in pipes[names[0]].items() if name != "factory"}
    if "model" not in component:
        raise ValueError(
            f"The component '{names[0]}' has no model. Run 'python -m spacy init fill-config' first."
        )
    lang = settings.get("nlp", {}).get("lang")
    if lang is None:
        raise ValueError(f"The config '{config_path}' does not say which language it is for: set nlp.lang.")
    nlp = util.get_lang_class(lang)()
    parser = nlp.add_pipe(_FACTORY, names[0], config=component)
    assert isinstance(parser, HPYPParser)
    # It may read classes of words, which lists may read then.
    if before_init := settings.get("initialize", {}).get("before_init"):
        util.registry.resolve({"before_init": before_init})["before_init"](nlp)
    examples = read_training(data_path, nlp, settings)
    if not examples:
        raise ValueError(f"There is no document in '{data_path}'.")
    with warnings.catch_warnings(record=True) as skipped:
        parser.initialize(lambda: examples, nlp=nlp)
    for warning in skipped:
        msg.warn(str(warning.message))
    encoder = parser.joint.encoder
    gold = (read_gold(raw) for example in examples for raw in sentences_of(example, parser.tokens))
    encoded = [encoder.encode(sentence, learned=True) for sentence in gold if not isinstance(sentence, str)]
    return SelectionTask(config, parser, join([rows for rows in encoded if not isinstance(rows, str)]))


def _limits(max_experts: list[str], own: dict[str, int]) -> dict[str, int]:
    """The most experts of each distribution that the config has context lists for."""
    limits = {name: number for name, number in own.items() if number > 0}
    for setting in max_experts:
        name, _, number = setting.rpartition("=")
        if not number.isdecimal() or int(number) < 1 or (name and name not in limits):
            known = ", ".join(f"{name}={number}" for name, number in limits.items())
            raise ValueError(
                f"--max-experts is a number, or that of one distribution ({known}), not '{setting}'."
            )
        for each in [name] if name else limits:
            limits[each] = int(number)
    return limits


def _report(selection: Selection, *, own: int, journal: _Journal, progress: Any) -> None:
    journal.note(selection)
    progress.set_postfix_str("")
    if not selection.steps:
        progress.write(
            f"{'':3} {selection.own_log_likelihood:9.4f}  the config's own {own} experts ({selection.events} "
            f"events)"
        )
        return
    step = selection.steps[-1]
    instead = f" instead of {', '.join(step.instead_of)}" if step.instead_of else ""
    progress.write(
        f"{len(selection.experts):3} {step.log_likelihood:9.4f}  {', '.join(step.expert)}{instead}"
    )
    progress.update(len(selection.experts) - progress.n)
