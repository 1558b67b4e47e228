"""`hpyp ngram`: train an n-gram model, the baseline for a parser's perplexity; and loading n-gram
models.
"""

from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import spacy
from spacy.language import Language
from wasabi import msg

from ..language_model.ngram import (
    NGramVocabulary,
    collect_vocabulary,
    resolve_rule,
    train_ngram_model,
)
from ..pipeline.tokenizer import LearnedTokenizer
from .app import NEW_FILE, Bar, MinClassCount, MinCount, Tokenized, argument, load_parser, option
from .raw_text import read_sentences


def ngram(
    train: Annotated[
        list[Path],
        argument("Training data: .spacy or .conllu, or text, a sentence a line", exists=True),
    ],
    output: Annotated[Path, argument("File for the model", **NEW_FILE)],
    *,
    order: Annotated[int, option("Length of the longest n-gram", "--order -n")] = 5,
    sweeps: Annotated[int, option("Gibbs sweeps over the training data")] = 20,
    min_count: MinCount = 2,
    min_class_count: MinClassCount = 5,
    lang: Annotated[
        str, option("Language: of the tokenizer, and of the classes of rare words", "--lang -l")
    ] = "en",
    spelling: Annotated[
        bool, option("Spell rare words out in letters: an open vocabulary")
    ] = False,
    seed: Annotated[int, option("Fixes the model bit for bit")] = 0,
    tokenized: Tokenized = False,
    vocab_from: Annotated[
        str | None, option("Take the vocabulary from other data, or from a trained pipeline")
    ] = None,
) -> None:
    """Train a hierarchical Pitman-Yor n-gram model by Gibbs sampling.

    The progress bar shows the mean log-probability of a word or end of sentence in nats, each
    sentence predicted from all others. With --vocab-from PIPELINE its rule for rare words,
    thresholds, spelling and learned tokenizer hold.
    """
    rare: dict[str, Any] = {
        "min_count": min_count,
        "min_class_count": min_class_count,
        "spelling": spelling,
    }
    words: Any = partial(collect_vocabulary, lang=lang, **rare, seed=seed)
    if vocab_from is None or (
        Path(vocab_from).exists() and not (Path(vocab_from) / "config.cfg").exists()
    ):
        nlp = None if tokenized else spacy.blank(lang)
        words = words if vocab_from is None else words(read_sentences(vocab_from, nlp))
    else:
        nlp, words = vocabulary_of_pipeline(vocab_from, spelling=spelling)
        nlp = None if tokenized else nlp
    read = chain.from_iterable(read_sentences(path, nlp) for path in train)
    with (
        Bar(read, desc="Reading", unit=" sentences") as sentences,
        Bar(total=sweeps, desc="Training", unit=" sweeps", leave=True, delay=1e-9) as bar,
    ):

        def show(sweep: int, log_prob: float) -> None:
            bar.set_postfix_str(f"{log_prob:.4f} nats", refresh=False)
            bar.update()

        settings = {"order": order, "sweeps": sweeps, "seed": seed}
        model = train_ngram_model(sentences, words, **settings, progress=show)
    model.to_disk(output)
    sizes = f"{len(model.vocabulary.words)} words and {len(model.vocabulary.classes)} classes"
    msg.good(f"Saved a {order}-gram model of {sizes} to {output}")


def vocabulary_of_pipeline(
    model: str | Path, *, spelling: bool = False
) -> tuple[Language, NGramVocabulary]:
    """Load a trained pipeline, and return it with the vocabulary of its hpyp_parser, perhaps with
    the spelling of rare words.

    RAISES (ValueError): If an n-gram model cannot have it, or the parser does not spell.
    """
    nlp, parser = load_parser(model)
    joint = parser.joint
    if joint.is_classed:
        raise ValueError(
            f"The parser of '{model}' knows rare words by their classes in raw text, which n-gram models do "
            f"not "
            f"have. Train a parser without --paths.classes."
        )
    if spelling and joint.spelling is None:
        raise ValueError(
            f"The parser of '{model}' does not spell rare words: train it with 'spelling = true'."
        )
    rule = dict(nlp.config.interpolate()["components"][parser.name]["model"]["unknown_words"])
    resolve_rule(rule)
    tokenizer = nlp.tokenizer.to_bytes() if isinstance(nlp.tokenizer, LearnedTokenizer) else b""
    spelled = joint.spelling if spelling else None
    return nlp, NGramVocabulary(joint.vocabulary, rule, nlp.lang, spelled, tokenizer)


def is_ngram_model(model: str | Path) -> bool:
    """Return whether a model is an n-gram model, which is a file, and no pipeline."""
    return Path(model).is_file()


def refuse(whose: str, **settings: object) -> None:
    """Check that settings that only something else has are not set.

    whose (str): The owner of the settings.
    RAISES (ValueError): If one of them is set.
    """
    for name, value in settings.items():
        if value is not None and value is not False:
            raise ValueError(f"--{name.replace('_', '-')} is a setting of {whose}.")
