"""Surprisal of texts and of tables of stimuli, by a parser or an n-gram model."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..annotation.encoding import bits
from ..annotation.syntactic_words import to_word_doc, word_spans
from ..annotation.user_data import entries_of
from ..language_model.increments import measure_beams
from ..language_model.ngram import NGramModel
from ..language_model.perplexity import Perplexity, check_lexicalised, reading_search
from ..language_model.surprisal import (
    ENTROPIES,
    STRUCTURE,
    TOKEN,
    UNITS,
    Coverage,
    Frequencies,
    Scores,
    entropy_of,
    passage_rows,
    rare_classes,
    table_rows,
)
from ..language_model.tables import Alignment, Passage, Row, make_passages, read_passages
from ..settings import HIGHEST_PARTICLES, OneOf, check, whole
from .corpus import mark_sentence
from .hpyp_parser import HPYPParser
from .tokenizer import create_learned_tokenizer

_STOPS = {*".?!。？！"}
# The number of texts to read together: few enough to show progress.
_BATCH = 16


def surprisal(
    model: Language | NGramModel | str | Path,
    texts: Iterable[str | Mapping[str, Any]] | Path,
    *,
    by: str = TOKEN,
    punctuation: bool = True,
    entropy: bool = False,
    running: bool | None = None,
    particles: int | None = None,
    context: str | None = None,
    text_by: str | None = None,
    word: str = "word",
    reader_by: str | None = None,
    frequencies: Mapping[str, int] | None = None,
    lags: int = 0,
) -> list[Row]:
    """Compute the surprisal of each token, word or region of some texts.

    The syntactic words of a multiword token count as tokens.

    model (Language | NGramModel | str | Path): A pipeline with a trained `hpyp_parser`, an n-gram
        model, or the path of either.
    texts (Iterable[str | Mapping[str, Any]] | Path): Strings; or rows with `text` or `regions` (a
        string with `|` between regions, or a list of strings); or the path of a table.
    by (str): The unit of a row: "token", "word" (between white space) or "region".
    punctuation (bool): Whether punctuation has rows and is part of words and regions.
    entropy (bool): Whether to compute entropies and the parser's structure, which takes longer.
    running (bool | None): Whether the parser finds the sentences of a text. Otherwise it is one
        sentence. By default only the texts of a table of words have several.
    particles (int | None): The parser's particles (default: as in its settings, at least 5,000).
    context (str | None): The column of the text that is read before and has no rows.
    text_by (str | None): The column of texts in a table with one word a row. The result has the
        same rows; `by` is ignored. `reader_by`, `frequencies` and `lags` need it.
    word (str), reader_by (str | None): The columns of words, and of readers if there are several.
    frequencies (Mapping[str, int] | None): Counts of words, instead of the model's training data.
    lags (int): The number of words before that have columns, too.
    RETURNS (list[dict[str, Any]]): Rows that `pandas.DataFrame` takes, with surprisals and
        entropies in bits and `log_prob` in nats. docs/surprisal.md explains the columns.
    RAISES (ValueError): If a text or region is empty, a region ends inside a token, or the model
        cannot do what is asked for. RAISES (OSError): If a path does not exist.
    WARNS: If texts seem to have several sentences, or over 5 % of the words are unknown.
    """
    if text_by is None and (frequencies is not None or lags or reader_by):
        raise ValueError(
            "'frequencies', 'lags' and 'reader_by' need 'text_by', the column of texts."
        )
    columns = {"context": context, "text_by": text_by, "word": word, "reader_by": reader_by}
    if isinstance(texts, Path):
        passages = read_passages(texts, **columns)
    elif isinstance(texts, str | Mapping) or hasattr(texts, "to_dict"):
        raise ValueError("'texts' should be a list of texts or rows: table.to_dict('records').")
    else:
        rows = [{"item": n, "text": t} if isinstance(t, str) else t for n, t in enumerate(texts, 1)]
        passages = make_passages(((f"text {n}", row) for n, row in enumerate(rows, 1)), **columns)
    reader = reader_for(model, particles=particles)
    settings = {"by": by, "punctuation": punctuation, "entropy": entropy, "lags": lags}
    if text_by is not None:
        counted = reader.frequencies() if frequencies is None else Frequencies(frequencies)
        settings["frequencies"] = counted
    running = text_by is not None if running is None else running
    found = list(read_rows(reader, passages, running=running, **settings))
    for message, is_warning in reader.coverage.messages():
        if is_warning:
            warnings.warn(message, stacklevel=2)
    return found


class Reader:
    """Reads texts with a model.

    A subclass defines `score`, which yields the scores of Docs. They have sentence boundaries, or
    get them if `running`. With `entropy`, it finds entropies, and the structure of a parser, too.

    nlp (Language): Makes Docs of texts. Nothing of it is changed.
    model (JointModel | NGramModel): Knows words and perhaps spells rare ones.
    """

    def __init__(self, nlp: Language, model: Any) -> None:
        self.nlp, self.model, self.coverage = nlp, model, Coverage()

    def perplexity(self, sentences: Iterable[Sequence[str]]) -> Iterator[Perplexity]:
        """Yield the log-probability of sentences: the sums of their rows.

        sentences (Iterable[Sequence[str]]): The words of each sentence.
        RAISES (ValueError): During iteration, if the model is untrained or unlexicalised.
        """
        check_lexicalised(self.model)
        is_open = self.model.spelling is not None
        for batch in minibatch(sentences, _BATCH):
            docs = [mark_sentence(Doc(self.nlp.vocab, words=list(words))) for words in batch]
            for words, scores in zip(batch, self.score(docs, running=False, entropy=False)):
                letters = -log(2.0) * float(scores.summed["surprisal_letters"].sum())
                unknown, log_prob = sum(map(bool, scores.classes)), scores.summed["log_prob"].sum()
                counts, spelling = (len(words), unknown, 1), letters if is_open else None
                yield Perplexity(float(log_prob), *counts, sum(map(len, words)), 0.0, spelling)

    def frequencies(self) -> Frequencies:
        """Return the frequencies of words in the model's training data."""
        vocabulary, counts = self.model.vocabulary, self.model.word_counts()
        return Frequencies.of_training(vocabulary, counts[: len(vocabulary)])


class ParserReader(Reader):
    """Reader of texts with the parser of a pipeline.

    nlp (Language): A pipeline with one trained `hpyp_parser`.
    particles (int | None): See `reading_search`.
    RAISES (ValueError): If it has no such parser or several, or `particles` is out of range.
    """

    def __init__(self, nlp: Language, *, particles: int | None = None) -> None:
        parsers = [(name, pipe) for name, pipe in nlp.pipeline if isinstance(pipe, HPYPParser)]
        if len(parsers) != 1 or not parsers[0][1].is_trained:
            raise ValueError(
                f"The pipeline should have one trained hpyp_parser, but it has {nlp.pipe_names}."
            )
        self.name, self.parser = parsers[0]
        super().__init__(nlp, self.parser.joint)
        if particles is not None:
            particles = whole("particles", particles, highest=HIGHEST_PARTICLES)
        self.search = reading_search(self.parser.search, particles)

    def score(self, docs: Sequence[Doc], *, running: bool, entropy: bool) -> Iterator[Scores]:
        """See `Reader`."""
        names, model, parser = self.nlp.pipe_names, self.model, self.parser
        later = names[names.index(self.name) + 1 :]
        settings = {self.name: {"search": self.search}}
        parsed = list(self.nlp.pipe(docs, disable=later, component_cfg=settings))
        docs = list(map(to_word_doc, parsed))
        measures: Sequence[dict[str, np.ndarray]] = [{}] * len(docs)
        if entropy:
            how = {"threads": parser.threads, "given_tags": not parser.predict_tags}
            measures = measure_beams(model, docs, self.search, **how)
        for doc, tokens, measured in zip(docs, parsed, measures):
            words = [token.text for token in doc]
            lexical, syntactic, log_prob = (
                np.array(entries_of(doc, name), dtype=np.float64)
                for name in ("surprisal_lexical", "surprisal_syntactic", "log_prob")
            )
            numbers = np.array(model.vocabulary.numbers(words), dtype=np.int32)
            summed = {
                "surprisal": lexical + syntactic,
                "surprisal_lexical": lexical,
                "surprisal_syntactic": syntactic,
                "surprisal_letters": bits(model.spell(words, numbers)),
                "log_prob": log_prob,
            }
            classes, tags = rare_classes(model.vocabulary, words), [token.tag_ for token in doc]
            summed |= {name: measured[name] for name in STRUCTURE[1:] if measured}
            found = {name: measured[name] for name in ENTROPIES if measured}
            depth = measured.get(STRUCTURE[0])
            yield Scores(doc, word_spans(tokens), summed, classes, tags, found, depth)


class NGramReader(Reader):
    """Reads texts with an n-gram model.

    model (NGramModel), segmenter (Language | None): The model, and a pipeline that finds sentences.
    """

    def __init__(self, model: NGramModel, segmenter: Language | None = None) -> None:
        nlp = segmenter or spacy.blank(model.words.lang)
        if segmenter is None and model.words.tokenizer:
            nlp.tokenizer = create_learned_tokenizer()(nlp).from_bytes(model.words.tokenizer)
        super().__init__(nlp, model)
        self.segmenter = segmenter

    def score(self, docs: Sequence[Doc], *, running: bool, entropy: bool) -> Iterator[Scores]:
        """See `Reader`. RAISES (ValueError): If nothing finds sentences that are to be found."""
        if running and self.segmenter is None:
            raise ValueError(
                "An n-gram model finds no sentences. Write each on a line of its own and use "
                "--per-line, or name a pipeline that finds them: --segment-with."
            )
        for tokens in self.nlp.pipe(docs) if running else docs:
            if not tokens.has_annotation("SENT_START"):
                raise ValueError("The pipeline of --segment-with does not find sentences.")
            doc = to_word_doc(tokens)
            columns = "surprisal", "surprisal_letters", "log_prob"
            summed = {name: np.zeros(len(doc)) for name in columns}
            entropies = np.zeros((len(doc), 2))
            for sentence in doc.sents:
                places = [token.i for token in sentence if not token.is_space]
                if not places:
                    continue
                words = [doc[i].text for i in places]
                *log_probs, end = self.model.log_probs(words)
                summed["surprisal"][places] = bits(np.array(log_probs))
                summed["surprisal_letters"][places] = bits(self.model.spell(words))
                summed["log_prob"][places] = log_probs
                # The end of a sentence counts towards its last word, as in the parser.
                summed["log_prob"][places[-1]] += end
                if entropy:
                    found = entropy_of(self.model.next_words(words))
                    entropies[places] = np.stack([found[:-1], found[1:]], axis=1)
            classes = rare_classes(self.model.vocabulary, [token.text for token in doc])
            of_doc = {"next": entropies} if entropy else {}
            yield Scores(doc, word_spans(tokens), summed, classes, None, of_doc)


def reader_for(
    model: Language | NGramModel | str | Path, *, particles: int | None = None
) -> Reader:
    """Make the reader of a model, see `surprisal`. An n-gram model takes no `particles`."""
    if isinstance(model, str | Path):
        model = NGramModel.from_disk(model) if Path(model).is_file() else spacy.load(model)
    if isinstance(model, Language):
        return ParserReader(model, particles=particles)
    if particles is not None:
        raise ValueError("'particles' is a setting of parsers. An n-gram model has none.")
    return NGramReader(model)


def read_rows(
    reader: Reader,
    passages: Iterable[Passage],
    *,
    by: str = TOKEN,
    punctuation: bool = True,
    entropy: bool = False,
    running: bool = False,
    frequencies: Frequencies | None = None,
    lags: int = 0,
    alignment: Alignment | None = None,
) -> Iterator[Row]:
    """Yield the rows of passages a few at a time, see `surprisal`.

    frequencies (Frequencies | None): Frequencies of words, for passages made of tables of words.
    alignment (Alignment | None): Another model, whose values get a column.
    """
    check("by", by, OneOf(UNITS))
    shown = {"punctuation": punctuation}
    for batch in minibatch(passages, _BATCH):
        docs = [reader.nlp.make_doc(passage.text) for passage in batch]
        if not running:
            several = zip(batch, map(_has_several_sentences, docs))
            reader.coverage.joined += [passage.name for passage, is_joined in several if is_joined]
            docs = [mark_sentence(doc) for doc in docs]
        for passage, scores in zip(batch, reader.score(docs, running=running, entropy=entropy)):
            reader.coverage.add(scores, passage)
            if frequencies is not None:
                shown |= {"lags": lags, "alignment": alignment}
                yield from table_rows(scores, passage, frequencies, **shown)
                continue
            rows = [row for _, row in passage_rows(scores, passage, by=by, **shown)]
            if alignment is not None:
                for row, value in zip(rows, alignment.take([row["text"] for row in rows])):
                    row[alignment.column] = value
            yield from rows


def _has_several_sentences(doc: Doc) -> bool:
    """Return whether the tokenizer found a boundary, or if it finds none, whether a word that is
    not in lower case follows a full stop, question mark or exclamation mark.
    """
    if doc.has_annotation("SENT_START"):
        return any(token.is_sent_start for token in doc[1:])
    pairs = zip(doc, doc[1:])
    return any(stop.text in _STOPS and word.is_alpha and not word.is_lower for stop, word in pairs)
