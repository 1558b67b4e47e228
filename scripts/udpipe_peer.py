"""Train UDPipe 1 on a treebank, and print its official scores beside those of `hpyp udeval`.

    python scripts/udpipe_peer.py corpus/UD_English-EWT/en_ewt-ud training/en_ewt.udpipe --output
    metrics/udpipe.json

reads `corpus/UD_English-EWT/en_ewt-ud-{train,dev,test}.conllu`. Training takes from ten minutes to
hours; a model that is there is used.
"""

from pathlib import Path
from typing import Annotated, Any

import typer
from ufal import udpipe

from spacy_hpyp.cli.parse import Given, Source, blocks_of_source, lines_of_text
from spacy_hpyp.cli.udeval import complete_part, official, show_scores

_INPUTS = {"text": "tokenizer", "sentences": "tokenizer=presegmented", "words": "conllu"}


def train(model: Path, train_path: Path, dev_path: Path) -> None:
    """Train a model, and save it."""
    error = udpipe.ProcessingError()
    data = [_read(path) for path in (train_path, dev_path)]
    learned = udpipe.Trainer.train("morphodita_parsito", *data, "", "", "", error)
    if error.occurred():
        raise ValueError(error.message)
    model.parent.mkdir(parents=True, exist_ok=True)
    model.write_bytes(learned)


def _read(path: Path) -> Any:
    found, error, sentence = udpipe.Sentences(), udpipe.ProcessingError(), udpipe.Sentence()
    reader = udpipe.InputFormat.newInputFormat("conllu")
    reader.setText(path.read_text(encoding="utf8"))
    while reader.nextSentence(sentence, error):
        found.push_back(sentence)
        sentence = udpipe.Sentence()
    if error.occurred():
        raise ValueError(error.message)
    return found


def parse(loaded: Any, treebank: Path, keep: Given) -> str:
    """Parse a treebank, given some of its annotation."""
    blocks = list(blocks_of_source(Source(treebank, treebank.stem, is_conllu=True)))
    text = treebank.read_text(encoding="utf8")
    if keep == "sentences":
        text = "".join(f"{block.text().strip()}\n" for block in blocks)
    elif keep == "text":
        text = "".join(f"\n{line}" if line == "\n" else line for line in lines_of_text(blocks))
    default, error = udpipe.Pipeline.DEFAULT, udpipe.ProcessingError()
    found = udpipe.Pipeline(loaded, _INPUTS[keep], default, default, "conllu").process(text, error)
    if error.occurred():
        raise ValueError(error.message)
    return found


def main(
    corpus: str, model: Path, output: Annotated[Path | None, typer.Option("--output", "-o")] = None
) -> None:
    """Train UDPipe if the model is not there, and print its scores."""
    if not model.exists():
        train(model, Path(f"{corpus}-train.conllu"), Path(f"{corpus}-dev.conllu"))
    loaded = udpipe.Model.load(str(model))
    with complete_part(Path(f"{corpus}-test.conllu")) as test:
        score = official(test.read_text(encoding="utf8"), str(test))
        show_scores(lambda keep: parse(loaded, test, keep), score, test, output)


if __name__ == "__main__":
    typer.run(main)
