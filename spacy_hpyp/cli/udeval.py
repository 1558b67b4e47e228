"""`hpyp udeval`: the official scores of Universal Dependencies."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from time import process_time
from typing import Annotated, Any

from spacy.language import Language

from .app import load_pipeline, note, of_extra, set_threads
from .options import FILE, AnyPipeline, Json, Threads, argument
from .output import percent, print_table, save_json
from .parse import Given, Source, parsed

#: The F1 scores of the script.
METRICS = "Tokens Words Sentences UPOS XPOS UFeats Lemmas UAS LAS CLAS MLAS BLEX".split()
#: The annotation that each row is given.
GIVEN: dict[Given, str] = {"text": "raw text", "sentences": "gold sentences", "words": "gold words"}
# A text before speed is measured.
_FIRST = "One sentence. Another one, of 9 words, stands behind it!"


def udeval(
    model: AnyPipeline,
    treebank: Annotated[Path, argument("Treebank in CoNLL-U, with trees", **FILE)],
    *,
    output: Json = None,
    threads: Threads = None,
) -> dict[str, dict[str, float]]:
    """Evaluate a pipeline by the official script of Universal Dependencies, udtools.

    Three times: on raw text, on the text of each gold sentence, and on gold words. The figures are F1 scores
    in percent, with punctuation, and without subtypes of labels.
    """
    score = official(treebank.read_text(encoding="utf8"), str(treebank))
    nlp = load_pipeline(model)
    set_threads(nlp, threads)
    nlp(_FIRST)
    return show_scores(of_pipeline(nlp, treebank), score, treebank, output)


def show_scores(
    system: Callable[[Given], str],
    score: Callable[[str], dict[str, Any]],
    treebank: Path,
    output: Path | None,
) -> dict[str, dict[str, float]]:
    """Print and save the scores of a system, which writes CoNLL-U given some of the annotation."""
    scores: dict[str, dict[str, float]] = {}
    for given in GIVEN:
        start = process_time()
        text = system(given)
        seconds = process_time() - start
        scores[given] = {metric: found.f1 for metric, found in score(text).items()}
        if given == "text":
            words = sum(line.split("\t")[0].isdigit() for line in text.splitlines())
            note(f"{words / seconds:,.0f} words of raw text in a second of processor time, of all threads")
    rows = [(GIVEN[given], *map(percent, found.values())) for given, found in scores.items()]
    print_table(("", *METRICS), rows, f"Official scores of {treebank.name}")
    save_json(output, scores, "scores")
    return scores


def official(gold: str, name: str) -> Callable[[str], dict[str, Any]]:
    """Return a function that scores CoNLL-U beside a treebank, by `METRICS`.

    RAISES (ValueError): If the script cannot read the treebank.
    RAISES (ImportError): If it is not installed.
    """
    script = of_extra("udtools.udeval", "The script is in the extra 'ud': pip install 'spacy-hpyp[ud]'")

    def load(text: str, name: str) -> Any:
        try:
            return script.load_conllu(StringIO(text), name, {})
        except script.UDError as error:
            raise ValueError(f"The official script cannot read '{name}': {error}") from error

    def score(text: str) -> dict[str, Any]:
        # Scoring changes the gold sentences.
        found = script.evaluate(load(gold, name), load(text, "the parses"))
        return {metric: found[metric] for metric in METRICS}

    load(gold, name)
    return score


def of_pipeline(nlp: Language, treebank: Path) -> Callable[[Given], str]:
    """Return a function that parses a treebank, given some of its annotation."""
    source = Source(treebank, treebank.stem, is_conllu=True)
    return lambda keep: "".join(parsed(nlp, source, keep=keep, bare=True))
