"""`hpyp ngram`: train an n-gram model, the baseline that a parser's perplexity is compared with; and what
commands have in common that mix both.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import spacy
from spacy.language import Language
from wasabi import msg

from ..components.hpyp_parser import HPYPParser
from ..inference.rounding import Search
from ..language_model.interpolation import Interpolation
from ..language_model.ngram import (
    CLASSED_RULE,
    NGramModel,
    NgramProgress,
    NGramVocabulary,
    UnknownRuleError,
    collect_vocabulary,
    resolve_rule,
    train_ngram_model,
)
from ..text.ngrams import NGrams
from .app import load_parser, load_pipeline
from .options import NEW_FILE, Cluster, MinClassCount, MinCount, SegmentWith, Tokenized, argument, option
from .progress import Bar
from .raw_text import read_sentences
from .shards import CountTask, count_texts, made_with


def ngram(
    train: Annotated[
        list[Path], argument("Training data: .spacy or .conllu, or text, a sentence a line", exists=True)
    ],
    output: Annotated[Path, argument("File for the model", **NEW_FILE)],
    *,
    order: Annotated[int, option("Length of the longest n-gram", "-n")] = 5,
    sweeps: Annotated[int, option("Gibbs sweeps over the training data")] = 20,
    samples: Annotated[int, option("Samples to average over, from the second half of the sweeps")] = 10,
    min_count: MinCount = 2,
    min_class_count: MinClassCount = 5,
    lang: Annotated[str, option("Language: of the tokenizer, and of the classes of rare words", "-l")] = "en",
    unknown_words: Annotated[
        str | None, option("Registered rule for rare words; by default the language's")
    ] = None,
    spelling: Annotated[
        bool, option("Spell rare words out in letters, so that the vocabulary is an open one")
    ] = False,
    seed: Annotated[int, option("Fixes the model bit for bit")] = 0,
    tokenized: Tokenized = False,
    segment_with: SegmentWith = None,
    vocab_from: Annotated[
        str | None,
        option(
            "Take the vocabulary from data as for training, or from a trained pipeline, whose rule, "
            "thresholds and spelling hold"
        ),
    ] = None,
    cluster: Cluster = Cluster(max_errors=0),
) -> None:
    """Train a hierarchical Pitman-Yor n-gram model by Gibbs sampling.

    The progress bar shows the mean log-probability of a word or end of sentence in nats, each sentence
    predicted from all others. With --ray, workers find words and sentences and count the n-grams, into a
    folder beside the model, which is the same.
    """
    rare: dict[str, Any] = {"min_count": min_count, "min_class_count": min_class_count, "spelling": spelling}
    collect = partial(collect_vocabulary, lang=lang, unknown_words=unknown_words, **rare, seed=seed)
    words: NGramVocabulary | Callable[[Iterable[Sequence[str]]], NGramVocabulary] = collect
    nlp = reader_of(lang, tokenized=tokenized, segment_with=segment_with)

    def read(path: str | Path) -> Iterator[list[str]]:
        return read_sentences(path, nlp, per_line=segment_with is None)

    if vocab_from is not None:
        if not Path(vocab_from).exists() or (Path(vocab_from) / "config.cfg").exists():
            words = vocabulary_of_pipeline(vocab_from, spelling=spelling)
        else:
            words = collect(read(vocab_from))
    sentences: Iterable[list[str]] = chain.from_iterable(map(read, train))
    counted: NGrams | None = None
    if cluster.ray is not None:
        own_lang = None if tokenized else lang
        task = CountTask(
            *made_with(segment_with), segment_with is None, cluster.field, "counts", own_lang, order
        )
        counted = count_texts("ngram", task, train, output, cluster)
    with (
        Bar(sentences, desc="Reading", unit=" sentences", disable=counted is not None) as reading,
        Bar(desc="Training", unit=" words", unit_scale=True, leave=True, delay=1e-9) as bar,
    ):

        def show(done: NgramProgress) -> None:
            if bar.total is None:
                # Time counts from here.
                bar.reset(done.total)
            bar.set_postfix_str(f"sweep {done.sweep}/{sweeps}, {done.log_prob:.4f} nats", refresh=False)
            bar.update(done.predictions)

        text = reading if counted is None else counted
        settings = {"order": order, "sweeps": sweeps, "samples": samples, "seed": seed}
        model = train_ngram_model(text, words, **settings, progress=show)
    model.to_disk(output)
    vocabulary = model.vocabulary
    msg.good(
        f"Saved a {order}-gram model of {len(vocabulary.words)} words and {len(vocabulary.classes)} classes "
        f"to {output}"
    )


def reader_of(usual: Language | str, *, tokenized: bool, segment_with: str | None) -> Language | None:
    """What finds the words of text, see `read_sentences`: a pipeline or the tokenizer of a language, if words
    are not separated by spaces already, and no other pipeline is to find sentences as well.
    """
    if segment_with is not None:
        return load_pipeline(segment_with)
    return None if tokenized else spacy.blank(usual) if isinstance(usual, str) else usual


def vocabulary_of_pipeline(model: str | Path, *, spelling: bool = False) -> NGramVocabulary:
    """The vocabulary of a trained pipeline's hpyp_parser, perhaps with its spelling of rare words.

    RAISES (ValueError): If the parser has not been trained, or does not spell; or words that it would spell
        are drawn from raw text.
    """
    nlp, parser = load_parser(model)
    vocabulary = parser.joint.vocabulary
    if parser.joint.is_classed:
        if spelling:
            raise ValueError(
                f"The parser of '{model}' knows rare words by their classes in raw text, which an n-gram "
                f"model does not have. Train one without "
                "--spelling and mix it with the parser, which has its own spelling: 'hpyp perplexity "
                "--interpolate'."
            )
        return NGramVocabulary(vocabulary, {"@misc": CLASSED_RULE}, nlp.lang)
    if spelling and parser.joint.spelling is None:
        raise ValueError(
            f"The parser of '{model}' was not trained to spell rare words out ('spelling = true')."
        )
    unknown_words = nlp.config.interpolate()["components"][parser.name]["model"]["unknown_words"]
    return NGramVocabulary(
        vocabulary, dict(unknown_words), nlp.lang, parser.joint.spelling if spelling else None
    )


def is_ngram_model(model: str | Path) -> bool:
    """Whether a model is an n-gram model, which is a file, and no pipeline."""
    return Path(model).is_file()


def load_ngrams(model: str | Path, unknown_words: str | None) -> NGramModel:
    """An n-gram model from its file, with the rule for rare words that the option --unknown-words names, if
    it does.
    """
    rule = None if unknown_words is None else resolve_rule({"@misc": unknown_words})
    return NGramModel.from_disk(model, unknown_words=rule)


def load_interpolation(
    parser: HPYPParser,
    ngrams: Path,
    weights_from: Path | None,
    read: Callable[[Path], Iterable[Sequence[str]]],
    *,
    search: Search,
) -> Interpolation:
    """The mixture that the options of a command say.

    weights_from (Path | None): Held-out sentences, or the file of weights, which ends with .json.
    read (Callable): Reads the sentences of a file.
    search (Search): How the parser searches in held-out sentences.
    RAISES (ValueError): If there are no weights, or a file cannot be used.
    """
    if weights_from is None:
        raise ValueError(
            "A mixture needs --weights-from: weights, or sentences that neither model has learned from."
        )
    try:
        model = NGramModel.from_disk(ngrams)
    except UnknownRuleError:
        # The words of a mixture are numbered by the parser, whose rule has been loaded with the pipeline.
        model = NGramModel.from_disk(ngrams, unknown_words=parser.joint.vocabulary.rule)
    if weights_from.suffix == ".json":
        return Interpolation.from_disk(weights_from, parser.joint, model)
    return Interpolation.learn(parser.joint, model, read(weights_from), search, threads=parser.threads)


def refuse(whose: str, **settings: object) -> None:
    """See that nothing is set, of settings by their names, that only something else has. RAISES (ValueError):
    If something is.

    whose (str): What has the settings, and perhaps what is here instead.
    """
    for name, value in settings.items():
        if value is not None and value is not False:
            raise ValueError(f"--{name.replace('_', '-')} is a setting of {whose}.")
