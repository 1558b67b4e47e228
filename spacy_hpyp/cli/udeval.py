"""`hpyp udeval`: how good a pipeline is by the script with which systems for Universal Dependencies are
compared, beside a peer.
"""

from collections import Counter
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from time import process_time
from typing import Annotated, Any

from spacy.language import Language

from ..settings import OneOf, check
from ..storage.files import prepare_folder, replacing
from .app import load_pipeline, note, of_extra, set_threads
from .conllu_format import checked_blocks, lines_of_text, text_of
from .options import FILE, AnyPipeline, Json, Threads, argument, option
from .output import percent, print_table, save_json
from .parse import Given, Source, parsed

#: What is measured: the F1 scores that the script calls so.
METRICS = "Tokens Words Sentences UPOS XPOS UFeats Lemmas UAS LAS CLAS MLAS BLEX".split()
#: What of the treebank each row is given, and what it is called.
GIVEN: dict[Given, str] = {"text": "raw text", "sentences": "gold sentences", "words": "gold words"}
# A text that no speed is measured of.
_FIRST = "One sentence. Another one, of 9 words, stands behind it!"
_PEERS = OneOf(("", "udpipe"))
_Scores = dict[str, dict[str, dict[str, float]]]
#: Scores CoNLL-U beside a gold one: the script's own scores, by `METRICS`.
Official = Callable[[str], dict[str, Any]]
#: Parses a treebank, given what of it is kept, and writes CoNLL-U.
System = Callable[[Given], str]


def udeval(
    model: AnyPipeline,
    treebank: Annotated[Path, argument("Treebank in CoNLL-U, with trees", **FILE)],
    *,
    output: Json = None,
    threads: Threads = None,
    peer: Annotated[str, option("Measure another system, too: udpipe, which is UDPipe 1")] = "",
    peer_model: Annotated[
        Path | None, option("Its model; what is not there is trained", dir_okay=False)
    ] = None,
    train: Annotated[Path | None, option("What it is trained on (.conllu)", **FILE)] = None,
    dev: Annotated[
        Path | None, option("What its training looks at to end early (.conllu)", exists=True)
    ] = None,
) -> _Scores:
    """Evaluate a pipeline by the official script of Universal Dependencies, 'udeval' of the package
    'udtools'.

    Three times: on the raw text, whose tokens, words and sentences the pipeline finds itself; on the text of
    each gold sentence; and on gold words. The figures are F1 scores in percent. Punctuation counts, and
    subtypes of labels do not.
    """
    check("peer", peer, _PEERS)
    score = official(treebank.read_text(encoding="utf8"), str(treebank))
    nlp = load_pipeline(model)
    set_threads(nlp, threads)
    systems = {"": of_pipeline(nlp, treebank)}
    if peer:
        if peer_model is None or (train is None and not peer_model.exists()):
            raise ValueError("A peer needs --peer-model, and --train where that is not there yet.")
        systems[peer] = udpipe(peer_model, train, dev, treebank)
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


def official(gold: str, name: str) -> Official:
    """What scores CoNLL-U beside a treebank.

    RAISES (ValueError): If the treebank cannot be read by the script.
    RAISES (ImportError): If the script is not installed.
    """
    script = of_extra(
        "udtools.udeval", "The script is in the package 'udtools': pip install 'spacy-hpyp[ud]'"
    )

    def load(text: str, name: str) -> Any:
        try:
            return script.load_conllu(StringIO(text), name, {})
        except script.UDError as error:
            raise ValueError(f"The official script cannot read '{name}': {error}") from error

    def score(text: str) -> dict[str, Any]:
        # What is loaded is changed when it is scored.
        found = script.evaluate(load(gold, name), load(text, "the parses"))
        return {metric: found[metric] for metric in METRICS}

    load(gold, name)
    return score


def of_pipeline(nlp: Language, treebank: Path) -> System:
    """A pipeline as what parses a treebank."""
    source = Source(treebank, treebank.stem, is_conllu=True)
    return lambda keep: "".join(parsed(nlp, source, Counter(), keep=keep, bare=True))


# What it reads in the form of which input.
_INPUTS = {"text": "tokenizer", "sentences": "tokenizer=presegmented", "words": "conllu"}
_METHOD = "morphodita_parsito"


def udpipe(model: Path, train: Path | None, dev: Path | None, treebank: Path) -> System:
    """UDPipe as what parses a treebank.

    model (Path): Its file. Where there is none, it is trained, which takes from ten minutes to hours, and
        saved there.
    train (Path | None): What it is trained on then, in CoNLL-U.
    dev (Path | None): What its training looks at to end early.
    RAISES (ValueError): If the model cannot be trained or read.
    RAISES (ImportError): If UDPipe is not installed.
    """
    library = of_extra("ufal.udpipe", "UDPipe is the package 'ufal.udpipe': pip install 'spacy-hpyp[ud]'")

    def check_no(error: Any, path: Path | None) -> None:
        if error.occurred():
            raise ValueError(f"UDPipe cannot make anything of '{path}': {error.message}")

    def read(path: Path | None) -> Any:
        found, error = library.Sentences(), library.ProcessingError()
        if path is not None:
            reader, sentence = library.InputFormat.newInputFormat("conllu"), library.Sentence()
            reader.setText(path.read_text(encoding="utf8"))
            while reader.nextSentence(sentence, error):
                found.push_back(sentence)
                sentence = library.Sentence()
            check_no(error, path)
        return found

    if not model.exists():
        prepare_folder(model.parent)
        note(f"UDPipe learns from '{train}'; what follows is what it says itself")
        error = library.ProcessingError()
        learned = library.Trainer.train(_METHOD, read(train), read(dev), "", "", "", error)
        check_no(error, train)
        with replacing(model, "wb") as file:
            file.write(learned)
    loaded = library.Model.load(str(model))
    if loaded is None:
        raise ValueError(f"'{model}' is no model of UDPipe.")

    def parse(keep: Given) -> str:
        default, error = library.Pipeline.DEFAULT, library.ProcessingError()
        found = library.Pipeline(loaded, _INPUTS[keep], default, default, "conllu").process(
            _input(treebank, keep), error
        )
        check_no(error, treebank)
        return found

    return parse


def _input(treebank: Path, keep: Given) -> str:
    text = treebank.read_text(encoding="utf8")
    if keep == "words":
        return text
    sentences = checked_blocks(StringIO(text), str(treebank))
    if keep == "sentences":
        return "".join(f"{text_of(sentence)}\n" for sentence in sentences)
    return "".join(f"\n{line}" if line == "\n" else line for line in lines_of_text(sentences))
