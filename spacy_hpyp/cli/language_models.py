"""`hpyp perplexity`, `ngram`, `generate` and `self-train`: models as language models."""

from dataclasses import asdict
from functools import partial
from heapq import nlargest
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

import spacy
from spacy.language import Language
from wasabi import msg

from ..language_model.generation import doc_of
from ..language_model.ngram import (
    NGramModel,
    NGramVocabulary,
    collect_vocabulary,
    train_ngram_model,
)
from ..language_model.perplexity import Perplexity, estimate
from ..pipeline.hpyp_parser import HPYPParser
from ..pipeline.surprisal import NGramReader, ParserReader, Reader
from ..pipeline.tokenizer import LearnedTokenizer
from ..storage import prepare_folder, replace_file
from ..training.raw_training import learn_from_text
from .app import Bar, json_line, load_parser, load_pipeline, save_json
from .options import NEW_FILE, AnyModel, Json, Threads, Tokenized, argument, option
from .raw_text import read_sentences


def load_reader(
    model: str, particles: int | None, threads: int | None, segment_with: str | None = None
) -> Reader:
    """Load a pipeline, or an n-gram model, which is a file, and return a reader of texts.

    RAISES (ValueError | OSError): If the model cannot be loaded, or a setting does not apply to it:
        `particles` and `threads` are for parsers, `segment_with` for n-gram models.
    """
    if not Path(model).is_file():
        nlp, _ = load_parser(model, threads=threads)
        if segment_with is not None:
            raise ValueError("--segment-with is for n-gram models. This is a parser.")
        return ParserReader(nlp, particles=particles)
    if particles is not None or threads is not None:
        raise ValueError("--particles and --threads are for parsers. This is an n-gram model.")
    segmenter = None if segment_with is None else load_pipeline(segment_with)
    return NGramReader(NGramModel.from_disk(model), segmenter)


def perplexity(
    model: AnyModel,
    data: Annotated[
        Path, argument("A .spacy or .conllu file, or text with a sentence per line", exists=True)
    ],
    *,
    output: Json = None,
    tokenized: Tokenized = False,
    method: Annotated[
        Literal["beam", "particles"],
        option("Sum over the beam, or unbiased particle estimate", "--method -m"),
    ] = "beam",
    particles: Annotated[
        int | None, option("Particles (default: at least 5,000; estimates: 100)", "--particles -K")
    ] = None,
    threads: Threads = None,
) -> None:
    """Print the perplexity of a text.

    The model predicts each word and the end of each sentence. A rare word counts as its class, and
    as its letters if the model spells. Compare only perplexities of models with the same vocabulary
    ('hpyp ngram --vocab-from'), or bits per character of spelling models.
    """
    reader = load_reader(model, particles, threads)
    is_estimate = method == "particles"
    if is_estimate and not isinstance(reader, ParserReader):
        raise ValueError("--method particles is for parsers. This is an n-gram model.")
    found = read_sentences(data, None if tokenized else reader.nlp)
    with Bar(found, desc="Scoring", unit=" sentences") as sentences:
        if is_estimate:
            settings = {"particles": particles or 100, "threads": reader.parser.threads}
            scores = estimate(reader.model, sentences, **settings)
        else:
            scores = reader.perplexity(sentences)
        total = Perplexity.total(scores).to_dict()
    hidden = ["convention", *(() if is_estimate else ("variance", "standard_error", "bias"))]
    rows = {
        name.replace("_", " "): f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
        for name, value in total.items()
        if value is not None and name not in hidden
    }
    msg.table(rows, title="Perplexity")
    msg.info(total["convention"].capitalize())
    if is_estimate:
        error = total["perplexity"] * total["standard_error"]
        msg.info(f"An estimate: {total['perplexity']:.2f} ± {error:.2f}")
    elif isinstance(reader, ParserReader):
        msg.info("An upper bound: the beam leaves derivations out of the sum")
    save_json(output, total, "the figures")


def ngram(
    train: Annotated[
        list[Path], argument("Training data: .spacy, .conllu, or a sentence per line", exists=True)
    ],
    output: Annotated[Path, argument("File for the model", **NEW_FILE)],
    *,
    order: Annotated[int, option("Length of the longest n-gram", "--order -n")] = 5,
    sweeps: Annotated[int, option("Gibbs sweeps over the training data")] = 20,
    lang: Annotated[str, option("Language of tokenizer and word classes", "--lang -l")] = "en",
    spelling: Annotated[bool, option("Spell rare words: an open vocabulary")] = False,
    tokenized: Tokenized = False,
    vocab_from: Annotated[str | None, option("Take the vocabulary of a trained pipeline")] = None,
) -> None:
    """Train a hierarchical Pitman-Yor n-gram model by Gibbs sampling.

    The progress bar shows the mean log-probability of a prediction in nats; after the first sweep,
    each is made from all other n-grams. --vocab-from PIPELINE takes the pipeline's words, rule for
    rare words, tokenizer, and with --spelling its spelling.
    """
    nlp, words = spacy.blank(lang), partial(collect_vocabulary, lang=lang, spelling=spelling)
    if vocab_from is not None:
        nlp, words = _vocabulary_of(vocab_from, spelling=spelling)
    read = chain.from_iterable(read_sentences(path, None if tokenized else nlp) for path in train)
    with (
        Bar(read, desc="Reading", unit=" sentences") as sentences,
        Bar(total=sweeps, desc="Training", unit=" sweeps", leave=True, delay=1e-9) as bar,
    ):

        def show(sweep: int, log_prob: float) -> None:
            bar.set_postfix_str(f"{log_prob:.4f} nats", refresh=False)
            bar.update()

        model = train_ngram_model(sentences, words, order=order, sweeps=sweeps, progress=show)
    model.to_disk(output)
    sizes = f"{len(model.vocabulary.words)} words and {len(model.vocabulary.classes)} classes"
    msg.good(f"Saved a {order}-gram model of {sizes} to {output}")


def _vocabulary_of(model: str, *, spelling: bool) -> tuple[Language, NGramVocabulary]:
    """Load a pipeline, and return it with the vocabulary of its parser."""
    nlp, parser = load_parser(model)
    joint = parser.joint
    if joint.is_classed:
        raise ValueError(
            f"The parser of '{model}' reads word classes of raw text, which n-gram models do not "
            f"have. Train a parser without --paths.classes."
        )
    if spelling and joint.spelling is None:
        raise ValueError(
            f"The parser of '{model}' does not spell rare words. Train it with 'spelling = true'."
        )
    rule = dict(nlp.config.interpolate()["components"][parser.name]["model"]["unknown_words"])
    tokenizer = nlp.tokenizer.to_bytes() if isinstance(nlp.tokenizer, LearnedTokenizer) else b""
    letters = joint.spelling if spelling else None
    return nlp, NGramVocabulary(joint.vocabulary, rule, nlp.lang, letters, tokenizer)


def generate(
    model: AnyModel,
    *,
    number: Annotated[int, option("Number of sentences to draw", "--number -n")] = 1000,
    best: Annotated[int, option("Number of sentences to show", "--best -b", min=1)] = 10,
    min_length: Annotated[int, option("Shortest sentence to show, in words")] = 10,
    max_length: Annotated[int, option("Longest sentence to draw, in words")] = 60,
    seed: Annotated[int, option("Random seed")] = 0,
    output: Annotated[
        Path | None, option("File for the shown sentences, .jsonl", "--output -o", **NEW_FILE)
    ] = None,
) -> None:
    """Draw sentences from a model and show the most probable ones.

    Numbers are log-probabilities in nats, by a parser summed over the beam. Short sentences are not
    shown (--min-length). Rare words are spelled, or without spelling are a class in angle brackets.
    """
    is_ngram = Path(model).is_file()
    if is_ngram:
        ngrams = NGramModel.from_disk(model)
        vocab = spacy.blank(ngrams.words.lang).vocab
        drawn = ngrams.generate(number, max_length=max_length, seed=seed)
        found = ((log_prob, doc_of(vocab, words)) for words, log_prob in drawn)
    else:
        docs = load_parser(model)[1].generate(number, max_length=max_length, seed=seed)
        found = ((doc._.log_prob, doc) for doc in docs)
    with Bar(found, desc="Generating", total=number, unit=" sentences") as bar:
        different = {doc.text: (log_prob, doc) for log_prob, doc in bar if len(doc) >= min_length}
    shown = nlargest(best, different.values(), key=lambda pair: pair[0])
    if not shown:
        raise ValueError(
            f"None of the {number} sentences has {min_length} words or more. Raise --number or "
            "lower --min-length."
        )
    lines = []
    for log_prob, doc in shown:
        print(f"{log_prob:8.2f}  {doc.text}")
        columns = {"words": [token.text for token in doc]}
        if not is_ngram:
            columns["tags"] = [token.tag_ for token in doc]
            columns["heads"] = [token.head.i for token in doc]
            columns["deps"] = [token.dep_ for token in doc]
        lines.append(json_line({"text": doc.text, "log_prob": log_prob, **columns}))
    if output is not None:
        replace_file(output, "".join(lines).encode())
        msg.good(f"Saved {len(lines)} sentences to {output}")


def self_train(
    model: Annotated[Path, argument("Path of a pipeline with an hpyp_parser", exists=True)],
    text: Annotated[
        Path, argument("Text with one sentence per line, .conllu or .spacy", exists=True)
    ],
    output: Annotated[Path, argument("Directory for the pipeline (model-last)", file_okay=False)],
    *,
    learning: Annotated[
        Literal["words", "all"], option("Distributions to train: only words, or all")
    ] = "words",
    tokenized: Tokenized = False,
    particles: Annotated[int, option("Particles for each sentence", "--particles -K")] = 100,
    threads: Threads = None,
) -> None:
    """Train a pipeline on its parses of raw text.

    The pipeline parses a batch of sentences and adds the best parses to the model as gold trees. It
    reads the text once and does not hold it in memory. The progress bar shows the mean
    log-probability of a word in nats, predicted before the word is added.
    """
    nlp, saved = load_parser(model)
    # These settings are not saved with the pipeline.
    parser = HPYPParser(nlp.vocab, saved.model, saved.name, **asdict(saved.settings))
    parser.change(particles=particles, threads=saved.threads if threads is None else threads)
    prepare_folder(output)
    settings = {"search": parser.search, "seed": parser.seed, "threads": parser.threads}
    sentences = read_sentences(text, None if tokenized else nlp)
    with Bar(sentences, desc="Learning", unit=" sentences", leave=True) as bar:
        for done in learn_from_text(parser.joint, bar, learning=learning, **settings):
            mean = done.log_prob / done.words
            bar.set_postfix_str(f"{done.words:,} words, {mean:.4f} nats/word")
    nlp.to_disk(output / "model-last")
    learned = f"{done.words:,} words in {done.sentences:,} sentences"
    msg.good(f"Learned from {learned}; saved {output / 'model-last'}")
