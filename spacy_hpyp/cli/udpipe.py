"""UDPipe 1 (Straka & Straková 2017), the peer that users of Universal Dependencies know: trained with its own settings, and asked."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

from ..storage.files import prepare_folder, replacing
from .app import note
from .conllu_format import lines_of_text, read_sentences, text_of
from .parse import Kept

# What it reads in the form of which input.
_INPUTS = {"text": "tokenizer", "sentences": "tokenizer=presegmented", "words": "conllu"}
_METHOD = "morphodita_parsito"


class UDPipe:
    """A model of UDPipe.

    model (Path): Its file. Where there is none, it is trained, which takes from ten minutes to hours, and saved there.
    train (Path | None): What it is trained on then, in CoNLL-U.
    dev (Path | None): What its training looks at to end early.
    RAISES (ValueError): If UDPipe is not installed, or the model cannot be trained or read.
    """

    def __init__(self, model: Path, train: Path | None = None, dev: Path | None = None) -> None:
        try:
            from ufal import udpipe
        except ImportError as error:
            raise ValueError(
                "UDPipe is the package 'ufal.udpipe', of the extra 'ud': pip install 'spacy-hpyp[ud]'"
            ) from error
        self._udpipe = udpipe
        if not model.exists():
            if train is None:
                raise ValueError(f"There is no model of UDPipe at '{model}', and nothing to train it on.")
            self._train(model, train, dev)
        self._model = udpipe.Model.load(str(model))
        if self._model is None:
            raise ValueError(f"'{model}' is no model of UDPipe.")

    def _train(self, model: Path, train: Path, dev: Path | None) -> None:
        prepare_folder(model.parent)
        note(f"UDPipe learns from '{train}'; what follows is what it says itself")
        error = self._udpipe.ProcessingError()
        parts = (self._sentences(path) for path in (train, dev))
        found = self._udpipe.Trainer.train(_METHOD, *parts, "", "", "", error)
        self._check(error, train)
        with replacing(model, "wb") as file:
            file.write(found)

    def _sentences(self, path: Path | None) -> Any:
        found = self._udpipe.Sentences()
        if path is not None:
            reader, error = self._udpipe.InputFormat.newInputFormat("conllu"), self._udpipe.ProcessingError()
            reader.setText(path.read_text(encoding="utf8"))
            sentence = self._udpipe.Sentence()
            while reader.nextSentence(sentence, error):
                found.push_back(sentence)
                sentence = self._udpipe.Sentence()
            self._check(error, path)
        return found

    def _check(self, error: Any, path: Path) -> None:
        if error.occurred():
            raise ValueError(f"UDPipe cannot make anything of '{path}': {error.message}")

    def reader(self, treebank: Path) -> Callable[[Kept], str]:
        """What parses a treebank, given what of it is kept, and writes CoNLL-U."""

        def parse(keep: Kept) -> str:
            default, error = self._udpipe.Pipeline.DEFAULT, self._udpipe.ProcessingError()
            pipeline = self._udpipe.Pipeline(self._model, _INPUTS[keep], default, default, "conllu")
            found = pipeline.process(_input(treebank, keep), error)
            self._check(error, treebank)
            return found

        return parse


def _input(treebank: Path, keep: Kept) -> str:
    text = treebank.read_text(encoding="utf8")
    if keep == "words":
        return text
    sentences = read_sentences(StringIO(text), str(treebank))
    if keep == "sentences":
        return "".join(f"{text_of(sentence)}\n" for sentence in sentences)
    return "".join(f"\n{line}" if line == "\n" else line for line in lines_of_text(sentences))
