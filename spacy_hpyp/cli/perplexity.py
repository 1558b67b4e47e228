"""`hpyp perplexity`: how well a model predicts text."""

from enum import Enum
from pathlib import Path

import srsly
import typer
from wasabi import msg

from ..ngram import NGramModel
from ..perplexity import CONVENTION, Perplexity
from ..raw_text import read_sentences
from .app import UNREADABLE, hpyp
from .ngram import SEGMENT_WITH, TOKENIZED, reader_of

_ROWS = {
    "perplexity": "PERPLEXITY",
    "log_prob_per_prediction": "LOG PROB (nats a prediction)",
    "log_prob": "LOG PROB (nats)",
    "sentences": "SENTENCES",
    "words": "WORDS",
    "predictions": "WORDS AND ENDS",
    "unknown": "WORDS KNOWN BY THEIR CLASS ONLY",
}


class Output(str, Enum):
    """How to print."""

    table = "table"
    json = "json"


@hpyp.command("perplexity")
def perplexity_cli(
    model: Path = typer.Argument(..., help="Model saved by 'hpyp ngram'", exists=True, dir_okay=False),
    data: Path = typer.Argument(
        ..., help="A .spacy file with gold sentences, or text in UTF-8 with one sentence a line", exists=True
    ),
    output: Output = typer.Option(Output.table, "--output", "-o", help="Print a table, or JSON"),
    tokenized: bool = typer.Option(False, "--tokenized", help=TOKENIZED),
    segment_with: str | None = typer.Option(None, "--segment-with", help=SEGMENT_WITH),
) -> None:
    """Print the perplexity of a text: exp of minus the mean log-probability of a word or end of sentence.

    The convention is that of a closed vocabulary: a word that is rare or unknown in training counts as its class, and there
    is one prediction a word and one for the end of the sentence. Only perplexities of models with the same vocabulary can
    be compared, see 'hpyp ngram --vocab-from'.
    """
    try:
        found = perplexity(model, data, tokenized=tokenized, segment_with=segment_with)
    except UNREADABLE as error:
        msg.fail(str(error), exits=1)
    figures = found.to_dict()
    if output == Output.json:
        print(srsly.json_dumps(figures, indent=2))
        return
    shown = {"perplexity": ".2f", "log_prob_per_prediction": ".4f", "log_prob": ".1f"}
    msg.table({label: format(figures[name], shown.get(name, "d")) for name, label in _ROWS.items()}, title="Perplexity")
    msg.info(CONVENTION[0].upper() + CONVENTION[1:])


def perplexity(
    model: str | Path, data: str | Path, *, tokenized: bool = False, segment_with: str | None = None
) -> Perplexity:
    """The perplexity of a text.

    model (str | Path): The file of an n-gram model.
    data (str | Path): The text, see `read_sentences`.
    tokenized (bool): Whether the words of text are separated by spaces already; else the tokenizer of the model's language
        finds them.
    segment_with (str | None): Name or path of a pipeline that finds words and sentences of running text, instead.
    RETURNS (Perplexity): The perplexity.
    RAISES (ValueError): If the model or the text cannot be read, or there are no sentences.
    """
    ngrams = NGramModel.from_disk(model)
    nlp = reader_of(ngrams.words.lang, tokenized=tokenized, segment_with=segment_with)
    return ngrams.perplexity(read_sentences(data, nlp, per_line=segment_with is None))
