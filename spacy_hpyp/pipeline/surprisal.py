"""Surprisal of texts and of tables of stimuli, by a parser or an n-gram model: what
`hpyp surprisal` and `spacy_hpyp.surprisal` do.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..annotation.extensions import bits
from ..annotation.syntactic_words import to_word_doc, word_spans
from ..annotation.user_data import entries_of
from ..language_model.align import Alignment
from ..language_model.increments import find_entropies
from ..language_model.ngram import NGramModel
from ..language_model.scoring import search_for_reading
from ..language_model.stimuli import Columns, read_passages, stimulus, texts_of_words
from ..language_model.surprisal import (
    PARTS,
    ROWS,
    TOKEN,
    Coverage,
    Frequencies,
    Row,
    TextPassage,
    TokenScores,
    passage_rows,
    rare_classes,
    table_rows,
)
from ..language_model.surprisal import entropy as distribution_entropy
from ..language_model.tables import is_table
from ..settings import HIGHEST_PARTICLES, OneOf, check, whole
from .corpus import mark_sentence
from .hpyp_parser import HPYPParser
from .tokenizer import create_learned_tokenizer

_STOPS = {*".?!。？！"}
#: Texts that are read together: few enough to show progress.
BATCH = 16


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
    """Compute the surprisal of each token, word or region of some texts. Where a token is several
    syntactic words, each of these counts as one.

    model (Language | NGramModel | str | Path): A pipeline with a trained `hpyp_parser`, an n-gram
        model, or where either is saved.
    texts (Iterable[str | Mapping[str, Any]] | Path): Each text by itself, as a string or as the row
        of a table: with `text`, or with `regions`, a string with `|` between them or a list of
        strings; other columns are carried through. Or the path of a table of stimuli, see
        `spacy_hpyp.language_model.stimuli`.
    by (str): The unit of a row of the result: "token", "word" (between white space) or "region".
    punctuation (bool): Whether punctuation has rows, and is a part of the word or region that it
    stands in. entropy (bool): Whether to find entropies, too. That takes longer.
    running (bool | None): Whether a text may have several sentences, which the parser finds; else
        each is one sentence. By default, texts of a table with one word a row may, and others not.
    particles (int | None): How many particles a parser reads with; without a number those of its
        setting, but 5,000 at least.
    context (str | None): The column of what is read before a text, and has no rows.
    text_by (str | None): Of a table with one word a row, the column that says which text a word
        belongs to. The result has the same rows, see
        `spacy_hpyp.language_model.surprisal.table_rows`, and `by` is ignored.
    word (str): The column of its words.
    reader_by (str | None): The column of readers, if several have read a text: rows are ordered by
    text. frequencies (Mapping[str, int] | None): How often words were seen, if not in the model's
    training data. lags (int): The number of words before that have columns in a row, too.
    RETURNS (list[dict[str, Any]]): The rows, as `pandas.DataFrame` takes them: carried columns (or
        `item`, a number), `region`, `sentence`, `word`, `token`, `start`, `end`, `text`, `tag`,
        surprisals and entropies in bits, `log_prob` in nats, `known`, `class`. See
        docs/surprisal.md.
    RAISES (ValueError): If a text or region is empty, a region ends inside of a token, or the model
        cannot do what is asked for.
    WARNS: If texts seem to have several sentences, or more than 5 % of the words are unknown to the
        model.
    """
    if text_by is None and (frequencies is not None or lags or reader_by):
        raise ValueError(
            "'frequencies', 'lags' and 'reader_by' are of tables with one word a row: give 'text_by', too."
        )
    passages = _passages(texts, Columns(context, text_by, word, reader_by))
    reader = reader_for(model, particles=particles)
    if text_by is not None:
        counted = reader.frequencies() if frequencies is None else Frequencies(frequencies)
        rows = partial(read_rows, frequencies=counted, lags=lags)
    else:
        rows = partial(read_rows, by=by)
    running = text_by is not None if running is None else running
    found = list(rows(reader, passages, punctuation=punctuation, entropy=entropy, running=running))
    for message, is_warning in reader.coverage.messages():
        if is_warning:
            warnings.warn(message, stacklevel=2)
    return found


class ParserReader:
    """Reads passages with the parser of a pipeline.

    nlp (Language): With one trained `hpyp_parser`. Nothing of it is changed.
    particles (int | None): See `search_for_reading`.
    RAISES (ValueError): If there is none, or it has not been trained.
    """

    def __init__(self, nlp: Language, *, particles: int | None = None) -> None:
        parsers = [(name, pipe) for name, pipe in nlp.pipeline if isinstance(pipe, HPYPParser)]
        if len(parsers) != 1 or not parsers[0][1].is_trained:
            raise ValueError(
                f"The pipeline should have one hpyp_parser that has been trained, but it has "
                f"{nlp.pipe_names}."
            )
        self.nlp, self.coverage = nlp, Coverage()
        self.name, self.parser = parsers[0]
        if particles is not None:
            particles = whole("particles", particles, least=1, highest=HIGHEST_PARTICLES)
        self.search = search_for_reading(self.parser.search, particles)

    def read(
        self, passages: list[TextPassage], *, running: bool = False, entropy: bool = False
    ) -> Iterator[tuple[Doc, TokenScores]]:
        """Parse passages and score their words, which are the tokens of the Docs.

        running (bool): Whether the parser finds the sentences.
        """
        made = _docs(self, passages, running=running)
        parsed = list(self.nlp.pipe(made, component_cfg={self.name: {"search": self.search}}))
        docs = list(map(to_word_doc, parsed))
        joint, given = self.parser.joint, not self.parser.predict_tags
        found = [{}] * len(docs)
        if entropy:
            found = find_entropies(
                joint, docs, self.search, threads=self.parser.threads, given_tags=given
            )
        for doc, own, entropies in zip(docs, map(word_spans, parsed), found):
            words = [token.text for token in doc]
            parts = {name: _column(doc, name) for name in PARTS[:2]}
            numbers = np.array(joint.vocabulary.numbers_observed(words), dtype=np.int32)
            summed = {
                "surprisal": sum(parts.values()),
                **parts,
                PARTS[2]: bits(joint.spell(words, numbers)),
            }
            summed["log_prob"] = _column(doc, "log_prob")
            classes, tags = rare_classes(joint.vocabulary, words), [token.tag_ for token in doc]
            yield doc, TokenScores(own, summed, classes, tags, entropies)

    def frequencies(self) -> Frequencies:
        """Return the frequencies of words in the parser's training data."""
        joint = self.parser.joint
        return Frequencies.of_training(
            joint.vocabulary, joint.word_counts()[: len(joint.vocabulary)]
        )


class NGramReader:
    """Reads passages with an n-gram model.

    segmenter (Language | None): Finds the sentences of running text.
    """

    def __init__(self, model: NGramModel, segmenter: Language | None = None) -> None:
        self.model, self.segmenter, self.coverage = model, segmenter, Coverage()
        self.nlp = blank_pipeline(model) if segmenter is None else segmenter

    def read(
        self, passages: list[TextPassage], *, running: bool = False, entropy: bool = False
    ) -> Iterator[tuple[Doc, TokenScores]]:
        """As `ParserReader.read`; sentences are read one by one.

        RAISES (ValueError): If sentences are to be found, and nothing does.
        """
        if running and self.segmenter is None:
            raise ValueError(
                "An n-gram model finds no sentences. Write each on a line of its own and give --per-line, or "
                "name a pipeline that finds them with --segment-with."
            )
        docs = _docs(self, passages, running=running)
        for doc in self.nlp.pipe(docs) if running else docs:
            if not doc.has_annotation("SENT_START"):
                raise ValueError("The pipeline of --segment-with does not find sentences.")
            words = to_word_doc(doc)
            yield words, self._scores(words, word_spans(doc), entropy=entropy)

    def frequencies(self) -> Frequencies:
        """Return the frequencies of words in the model's training data."""
        return Frequencies.of_training(self.model.vocabulary, self.model.word_counts())

    def _scores(self, doc: Doc, spans: np.ndarray, *, entropy: bool) -> TokenScores:
        surprisal, log_prob, found = np.zeros(len(doc)), np.zeros(len(doc)), np.zeros((len(doc), 2))
        for span in doc.sents:
            places = [token.i for token in span if not token.is_space]
            if not places:
                continue
            words = [doc[i].text for i in places]
            values = self.model.log_probs(words)
            surprisal[places], log_prob[places] = bits(values[:-1]), values[:-1]
            # The end of the sentence is counted with its last word, as by the parser.
            log_prob[places[-1]] += values[-1]
            if entropy:
                each = distribution_entropy(self.model.next_words(words))
                found[places] = np.stack([each[:-1], each[1:]], axis=1)
        classes = rare_classes(self.model.vocabulary, [token.text for token in doc])
        summed = {"surprisal": surprisal, "log_prob": log_prob}
        return TokenScores(spans, summed, classes, None, {"next": found} if entropy else {})


Reader = ParserReader | NGramReader


def blank_pipeline(model: NGramModel) -> Language:
    """Make a pipeline with the tokenizer that an n-gram model reads text with."""
    nlp = spacy.blank(model.words.lang)
    if model.words.tokenizer:
        nlp.tokenizer = create_learned_tokenizer()(nlp).from_bytes(model.words.tokenizer)
    return nlp


def reader_for(
    model: Language | NGramModel | str | Path, *, particles: int | None = None
) -> Reader:
    """Make what reads passages with a model, see `surprisal`."""
    if isinstance(model, str | Path):
        model = NGramModel.from_disk(model) if Path(model).is_file() else spacy.load(model)
    if isinstance(model, Language):
        return ParserReader(model, particles=particles)
    if particles is not None:
        raise ValueError("'particles' is a setting of a parser, but here is an n-gram model.")
    return NGramReader(model)


def read_rows(
    reader: Reader,
    passages: Iterable[TextPassage],
    *,
    by: str = TOKEN,
    punctuation: bool = True,
    entropy: bool = False,
    running: bool = False,
    frequencies: Frequencies | None = None,
    lags: int = 0,
    alignment: Alignment | None = None,
) -> Iterator[Row]:
    """Yield the rows of some passages, which are not all held in memory; see `surprisal`.

    frequencies (Frequencies | None): Of words; with them, each row of a table of words is given
    back. alignment (Alignment | None): Values of another model for another column.
    """
    check("by", by, OneOf(ROWS))
    for batch in minibatch(passages, BATCH):
        for passage, (doc, scores) in zip(
            batch, reader.read(batch, running=running, entropy=entropy)
        ):
            reader.coverage.add(doc, scores, passage)
            if frequencies is not None:
                settings = {"lags": lags, "punctuation": punctuation, "alignment": alignment}
                yield from table_rows(doc, scores, passage, frequencies, **settings)
                continue
            rows = list(passage_rows(doc, scores, passage, by=by, punctuation=punctuation))
            if alignment is not None:
                for row, value in zip(rows, alignment.take([row["text"] for row in rows])):
                    row[alignment.column] = value
            yield from rows


def _passages(
    texts: Iterable[str | Mapping[str, Any]] | Path, columns: Columns
) -> Iterable[TextPassage]:
    if isinstance(texts, Path):
        if not is_table(texts):
            raise ValueError(f"The name of a table ends with .csv or .tsv, but this is '{texts}'.")
        return read_passages(texts, columns)
    if isinstance(texts, str | Mapping) or hasattr(texts, "to_dict"):
        raise ValueError(
            "'texts' should be a list of texts or rows; of pandas, table.to_dict('records')."
        )
    if columns.text_by is not None:
        return texts_of_words(((f"row {i}", row) for i, row in enumerate(texts, 1)), columns, {})
    return [
        stimulus({"item": number}, {"text": text}, f"text {number}")
        if isinstance(text, str)
        else stimulus({}, text, f"text {number}", columns.context)
        for number, text in enumerate(texts, 1)
    ]


def _docs(reader: Reader, passages: Iterable[TextPassage], *, running: bool) -> list[Doc]:
    docs = [reader.nlp.make_doc(passage.text) for passage in passages]
    if running:
        return docs
    reader.coverage.joined += [
        one.name for one, doc in zip(passages, docs) if _has_several_sentences(doc)
    ]
    return [mark_sentence(doc) for doc in docs]


def _has_several_sentences(doc: Doc) -> bool:
    """Return whether the tokenizer has found a boundary, or if it finds none, whether a word with a
    capital letter stands behind a full stop.
    """
    if doc.has_annotation("SENT_START"):
        return any(token.is_sent_start for token in doc[1:])
    pairs = zip(doc, doc[1:])
    return any(one.text in _STOPS and word.is_alpha and not word.is_lower for one, word in pairs)


def _column(doc: Doc, name: str) -> np.ndarray:
    return np.array(entries_of(doc, name), dtype=np.float64)
