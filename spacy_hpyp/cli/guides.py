"""`hpyp guides`: the training data of a parser, annotated as if it had not seen them."""

from pathlib import Path
from typing import Annotated

from spacy.tokens import DocBin
from wasabi import msg

from ..pipeline.alignment import example_of_words
from ..pipeline.corpus import create_conllu_corpus
from ..storage import replace_file
from .app import Bar, load_parser
from .options import NEW_FILE, Generative, Threads, argument, option


def guides(
    model: Generative,
    corpus: Annotated[
        Path, argument("Training data of the parser: .conllu, .spacy, or a directory", exists=True)
    ],
    output: Annotated[Path, argument("File to write, .spacy", **NEW_FILE)],
    *,
    folds: Annotated[int, option("Number of parts, each held out once", min=2)] = 10,
    threads: Threads = None,
) -> None:
    """Annotate a parser's training data with its guides, by jack-knifing.

    The command removes each part from the model, parses it with the rest, and adds it again. So no
    sentence is parsed by a model trained on it. The documents have gold annotation on the parser's
    tokens and words, and guides for the words in `doc._.guide`. Guided components learn from them.
    """
    nlp, parser = load_parser(model, threads=threads)
    settings = nlp.config.get("corpora", {}).get("train", {})
    tokens = settings.get("tokens", "tokenizer")
    examples = list(create_conllu_corpus(corpus, tokens=tokens)(nlp))
    words = sum(len(example_of_words(example).predicted) for example in examples)
    if not words:
        raise ValueError(f"There is nothing to annotate in '{corpus}'.")
    with Bar(total=words, desc="Annotating", unit=" words") as bar:
        docs, learned = parser.leave_out(examples, folds=folds, progress=bar.update)
    replace_file(output, DocBin(docs=docs, store_user_data=True).to_bytes())
    msg.good(
        f"Annotated {words:,} words and left out {learned:,} learned sentences in turn: {output}"
    )
