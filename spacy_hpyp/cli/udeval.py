"""`hpyp udeval`: how good a pipeline is by the script with which systems for Universal Dependencies are compared."""

from collections import Counter
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from time import process_time
from typing import Annotated, Any

from spacy.language import Language

from ..settings import OneOf, check
from .app import load_pipeline, note, set_threads
from .options import AnyPipeline, Json, Threads, argument, option
from .output import percent, print_table, save_json
from .parse import Kept, Source, parsed
from .udpipe import UDPipe

#: What is measured: the F1 scores that the script calls so.
METRICS = "Tokens Words Sentences UPOS XPOS UFeats Lemmas UAS LAS CLAS MLAS BLEX".split()
#: What of the treebank each row is given, and what it is called.
GIVEN: dict[Kept, str] = {"text": "raw text", "sentences": "gold sentences", "words": "gold words"}
# A text that no speed is measured of.
_FIRST = "One sentence. Another one, of 9 words, stands behind it!"
_PEERS = OneOf(("", "udpipe"))
_Scores = dict[str, dict[str, dict[str, float]]]
#: Scores CoNLL-U beside a gold one: the script's own scores, by `METRICS`.
Official = Callable[[str], dict[str, Any]]


def udeval(
    model: AnyPipeline,
    treebank: Annotated[Path, argument("Treebank in CoNLL-U, with trees", exists=True, dir_okay=False)],
    *,
    output: Json = None,
    threads: Threads = None,
    peer: Annotated[str, option("Measure another system, too: udpipe, which is UDPipe 1")] = "",
    peer_model: Annotated[
        Path | None, option("Its model; where there is none yet, it is trained and saved there", dir_okay=False)
    ] = None,
    train: Annotated[Path | None, option("What it is trained on (.conllu)", exists=True, dir_okay=False)] = None,
    dev: Annotated[Path | None, option("What its training looks at to end early (.conllu)", exists=True)] = None,
) -> _Scores:
    """Evaluate a pipeline by the official script of Universal Dependencies, 'udeval' of the package 'udtools'.

    Three times: on the raw text, whose tokens, words and sentences the pipeline finds itself; on the text of each gold sentence; and on
    gold words. The figures are F1 scores in percent. Punctuation counts, and subtypes of labels do not.
    """
    check("peer", peer, _PEERS)
    score = official(treebank.read_text(encoding="utf8"), str(treebank))
    nlp = load_pipeline(model)
    set_threads(nlp, threads)
    systems: dict[str, Callable[[Kept], str]] = {"": lambda keep: "".join(_parse(nlp, treebank, keep))}
    if peer:
        if peer_model is None or (train is None and not peer_model.exists()):
            raise ValueError("A peer needs --peer-model, and --train where that is not there yet.")
        systems[peer] = UDPipe(peer_model, train, dev).reader(treebank)
    scores: _Scores = {}
    rows, speeds = [], {}
    # What is compiled or read the first time is no part of the speed.
    nlp(_FIRST)
    for name, system in systems.items():
        for keep, given in GIVEN.items():
            start = process_time()
            text = system(keep)
            seconds = process_time() - start
            found = {metric: each.f1 for metric, each in score(text).items()}
            scores.setdefault(name or "pipeline", {})[keep] = found
            if keep == "text":
                words = sum(line.split("\t")[0].isdigit() for line in text.splitlines())
                speeds[name or "pipeline"] = words / seconds
            rows.append((f"{name} {given}".strip(), *map(percent, found.values())))
    print_table(("", *METRICS), rows, f"Official scores of {treebank.name}")
    for name, found in speeds.items():
        note(f"{name}: {found:,.0f} words of raw text in a second of processor time, by all threads together")
    save_json(output, scores, "scores")
    return scores


def _parse(nlp: Language, treebank: Path, keep: Kept) -> Iterator[str]:
    return parsed(nlp, Source(treebank, treebank.stem, is_conllu=True), Counter(), keep=keep, bare=True)


def official(gold: str, name: str) -> Official:
    """What scores CoNLL-U beside a treebank.

    gold (str): The treebank.
    name (str): Of its file, for errors.
    RAISES (ValueError): If the treebank cannot be read by the script, or the script is not installed.
    """
    try:
        from udtools.udeval import UDError, evaluate, load_conllu
    except ImportError as error:
        raise ValueError(
            "The script is in the package 'udtools', of the extra 'ud': pip install 'spacy-hpyp[ud]'"
        ) from error

    def load(text: str, name: str) -> Any:
        try:
            return load_conllu(StringIO(text), name, {})
        except UDError as error:
            raise ValueError(f"The official script cannot read '{name}': {error}") from error

    def score(text: str) -> dict[str, Any]:
        # What is loaded is changed when it is scored.
        found = evaluate(load(gold, name), load(text, "the parses"))
        return {metric: found[metric] for metric in METRICS}

    load(gold, name)
    return score
