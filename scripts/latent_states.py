"""Compare models of words with latent states (Wallach, Sutton & McCallum 2008): bits a word,
accuracy and top words.

    python scripts/latent_states.py train.conllu dev.conllu --output states.json

Bits a word are leave-one-out: each word is predicted from all others and their states, in the mean
over the samples of the second half of the sweeps. All models have the same vocabulary and words.
"""

import json
import sys
from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import typer
from wasabi import msg

from spacy_hpyp.annotation.syntactic_words import to_word_doc
from spacy_hpyp.annotation.uncased_words import UncasedWords, read_uncased, uncased_key
from spacy_hpyp.head_outward.latent_states import LatentStates
from spacy_hpyp.head_outward.states import DEPENDENCIES, LDA, SEMANTIC, SYNTACTIC
from spacy_hpyp.pipeline.corpus import read_treebank
from spacy_hpyp.text.unknown_words import unknown_words
from spacy_hpyp.text.vocabulary import VocabularySettings


def study_states(
    model: LatentStates,
    texts: Sequence[tuple[bytes, UncasedWords]],
    dev: Sequence[UncasedWords],
    *,
    sweeps: int,
    seed: int,
    top_words: int = 10,
) -> dict[str, Any]:
    """Train a model on documents and measure it.

    model (LatentStates): A model with a vocabulary that has seen nothing.
    texts (Sequence[tuple[bytes, UncasedWords]]): Documents with complete trees, and their keys.
    dev (Sequence[UncasedWords]): Other documents with complete trees.
    sweeps (int): At least 2; the second half counts.
    RETURNS (dict[str, Any]): "kind"; "states"; "bits" a word; "exact_bits", by the harmonic mean
        over samples, which makes up for states drawn with the word in sight; "accuracy", the share
        of right heads in dev, None if parents are not read; and "top_words" of each state.
    """
    rng = np.random.default_rng(seed)
    kept = sweeps // 2
    logarithms = inverses = 0.0
    for sweep in range(sweeps):
        probability = model.visit(texts, rng)
        model.end_sweep(rng)
        if sweep >= sweeps - kept:
            logarithms = logarithms + np.log(probability)
            inverses = inverses + 1.0 / probability
    accuracy = None
    if model.reads_parents:
        right = [model.parse(text) == text.heads for text in dev]
        accuracy = float(np.mean(np.concatenate(right)))
    return {
        "kind": model.kind,
        "states": model.states,
        "bits": -float(np.mean(logarithms)) / kept / log(2.0),
        "exact_bits": float(np.mean(np.log2(inverses / kept))),
        "accuracy": accuracy,
        "top_words": [
            [{"word": word, "probability": p} for word, p in words]
            for words in model.top_words(top_words)
        ],
    }


def compare(
    corpus: Path,
    dev: Path,
    output: Annotated[Path, typer.Option(help="JSON file for the figures")],
    *,
    lang: Annotated[str, typer.Option(help="Language")] = "en",
    states: Annotated[int, typer.Option(help="Number of states")] = 50,
    sweeps: Annotated[int, typer.Option(help="Gibbs sweeps; the second half counts", min=2)] = 50,
    seed: Annotated[int, typer.Option(help="Fixes the figures")] = 0,
) -> None:
    """Train and measure a model of each kind, on documents with trees."""
    vocab = spacy.blank(lang).vocab
    documents, others = (
        [to_word_doc(doc) for doc in read_treebank(path, vocab, n_sents=sys.maxsize)]
        for path in (corpus, dev)
    )
    texts = [(uncased_key(doc), read_uncased(doc).complete()) for doc in documents]
    texts = [(key, text) for key, text in dict(texts).items() if text.forms]
    unseen = [read_uncased(doc).complete() for doc in others]
    settings = VocabularySettings(unknown_words(lang))
    found = []
    for kind in (LDA, DEPENDENCIES, SYNTACTIC, SEMANTIC):
        model = LatentStates(kind, 1 if kind == DEPENDENCIES else states, settings)
        model.initialize(model.collect([text for _, text in texts]))
        found.append(study_states(model, texts, unseen, sweeps=sweeps, seed=seed))
        msg.text(f"{kind}: {found[-1]['bits']:.3f} bits a word")
    output.write_text(json.dumps(found, indent=1), encoding="utf8")


if __name__ == "__main__":
    typer.run(compare)
