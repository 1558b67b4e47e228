"""Train UDPipe 1 on a treebank, and print its official scores as `hpyp udeval` prints others.

    python scripts/udpipe_peer.py corpus/UD_English-EWT/en_ewt-ud en_ewt.udpipe -o udpipe.json

reads `corpus/UD_English-EWT/en_ewt-ud-{train,dev,test}.conllu`. Training takes from ten minutes to
hours; a model that is there is used.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from ufal import udpipe

from spacy_hpyp.cli.parse import Given, raw_lines
from spacy_hpyp.cli.udeval import complete_sentences, print_scores, text_of
from spacy_hpyp.treebanks.conllu import Block

_INPUTS = {"text": "tokenizer", "sentences": "tokenizer=presegmented", "words": "conllu"}


def train(model: Path, train_path: Path, dev_path: Path) -> None:
    """Train a model, and save it. RAISES (ValueError): If UDPipe reports an error."""
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


def parse(loaded: Any, blocks: Sequence[Block], keep: Given) -> str:
    """Return parses in CoNLL-U, given the words, sentences or text of a treebank (`keep`).

    RAISES (ValueError): If UDPipe reports an error.
    """
    text = text_of(blocks)
    if keep == "sentences":
        text = "".join(f"{block.text().strip()}\n" for block in blocks)
    elif keep == "text":
        text = "".join(f"\n{line}" if line == "\n" else line for line in raw_lines(blocks))
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
    test = Path(f"{corpus}-test.conllu")
    loaded = udpipe.Model.load(str(model))
    print_scores(partial(parse, loaded), complete_sentences(test), test.name, output)


if __name__ == "__main__":
    typer.run(main)
