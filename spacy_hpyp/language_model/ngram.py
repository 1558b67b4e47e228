"""The n-gram model: a hierarchical Pitman-Yor process over the previous words (Teh 2006), the baseline of B&B
section 5.2.

A word, or the end of the sentence, is predicted from the n - 1 words before it; each back-off level drops the
farthest one. Rare words are their class, by the same rules as in the parser. After Gibbs sampling, a
prediction is the mean of the predictive probabilities of several samples.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import srsly
from spacy import registry
from spacy.util import minibatch

from ..annotation.arrays import Blocks, sentence_blocks
from ..hpyp.franchise import Franchise, dish_counts, new_franchise, reserve
from ..hpyp.hyperparameters import resample
from ..hpyp.sequences import BEFORE
from ..hpyp.storage import pack, unpack
from ..models.messages import rare_from_message, rare_to_message
from ..models.spelling import Spelling, spell, write_out
from ..pools.finished import average, finish
from ..settings import whole
from ..storage.arrays import pack_integers, unpack_integers
from ..storage.checksum import DAMAGE, unpack_message, with_checksum
from ..storage.files import replace_file
from ..text.ngrams import NGrams, add_up, count_ngrams, ngram_rows
from ..text.unknown_words import RULES, UnknownWordRule, check_rule, plain_rule
from ..text.vocabulary import Vocabulary, VocabularySettings
from .generation import ATTEMPTS, check_drawing, unfound
from .ngram_seating import draw_stream, next_distributions, score_block, visit
from .scoring import Perplexity, perplexity_of, score_of

FORMAT = 1
KIND = "spacy-hpyp n-gram model"
HIGHEST_ORDER = 20
_BATCH = 512
# How many words are visited at once.
_CUSTOMERS = 1 << 14
#: What the rule of a parser is called in a file that knows rare words by their classes: the parser alone has
#: these.
CLASSED_RULE = "that of a parser with classes of words"
# The rule that has to be told the language.
_BY_LANGUAGE = "spacy-hpyp.UnknownWords.v1"
# What all samples have in common: which restaurants there are, and what they serve.
_STRUCTURE = ("restaurants", "children", "symbol", "dishes", "dish")


class UnknownRuleError(ValueError):
    """A model's rule for unknown words is not one of this package and has not been handed in, or the other
    way round.
    """


class NGramVocabulary(NamedTuple):
    """A vocabulary, and how to make its rule for unknown words again.

    vocabulary (Vocabulary): The words and the classes of rare words.
    unknown_words (dict[str, Any]): Its rule as a block of a config, {"@misc": name, ...}. Of a rule that is
        not one of this package, a file has the name alone.
    lang (str): The language code of the tokenizer that the words come from.
    """

    vocabulary: Vocabulary
    unknown_words: dict[str, Any]
    lang: str
    spelling: Spelling | None = None


class DrawnSentence(NamedTuple):
    """A sentence that has been drawn.

    log_prob (float): Of the words and the end, and of the letters of words that are spelled out, in nats.
    """

    words: list[str]
    log_prob: float


class NgramProgress(NamedTuple):
    """How far training is.

    sweep (int): The number of the sweep, from 1.
    predictions (int): Words and ends of sentences visited since the last report.
    total (int): Those to be visited in all sweeps.
    log_prob (float): The mean log-probability of a prediction in this sweep so far, in nats. Each sentence is
        predicted from all others; in the first sweep, from those before it.
    """

    sweep: int
    predictions: int
    total: int
    log_prob: float


def resolve_rule(unknown_words: dict[str, Any]) -> UnknownWordRule:
    """The rule for unknown words that a block of a config describes. It may be any registered function with
    any arguments, so the block must not come from a file of a model.

    unknown_words (dict[str, Any]): Such as {"@misc": "spacy-hpyp.UnknownWords.v1", "lang": "en"}.
    RAISES (ValueError): If it is no such block.
    """
    _name_of_rule(unknown_words)
    return registry.resolve({"rule": unknown_words})["rule"]


def _name_of_rule(unknown_words: Any) -> str:
    if not isinstance(unknown_words, dict) or not isinstance(unknown_words.get("@misc"), str):
        raise ValueError("the rule for unknown words is not the name of a registered function")
    return unknown_words["@misc"]


def _own_rule(unknown_words: Any) -> UnknownWordRule | None:
    """The rule that a block of a file describes, if it is one of this package."""
    name = _name_of_rule(unknown_words)
    if name not in RULES:
        return None
    return plain_rule(
        name, {argument: value for argument, value in unknown_words.items() if argument != "@misc"}
    )


def _stored_rule(unknown_words: dict[str, Any]) -> dict[str, Any]:
    """A block as it is written into a file."""
    return {"@misc": unknown_words["@misc"]} if _own_rule(unknown_words) is None else unknown_words


def collect_vocabulary(
    sentences: Iterable[Sequence[str]],
    *,
    lang: str = "en",
    unknown_words: str | None = None,
    min_count: int = 2,
    min_class_count: int = 5,
    spelling: bool = False,
    seed: int = 0,
) -> NGramVocabulary:
    """The vocabulary of a text: its frequent words, and the classes of the others by a rule.

    sentences (Iterable[Sequence[str]]): The words of each sentence, in any order.
    unknown_words (str | None): The name of the rule, a function in `spacy.registry.misc` that can be called
        without arguments, or "spacy-hpyp.UnknownWords.v1"; by default the latter, and for English
        "spacy-hpyp.EnglishSignatures.v1".
    min_count (int): Words seen less often are known by their class only.
    min_class_count (int): Classes seen less often give way to more general ones.
    spelling (bool): Whether to learn how rare words are spelled, so that the vocabulary is an open one.
    RAISES (ValueError): If a threshold is not a whole number of at least 1, there is no such rule, or there
        are no sentences.
    """
    whole("min_count", min_count)
    whole("min_class_count", min_class_count)
    usual = "spacy-hpyp.EnglishSignatures.v1" if lang == "en" else _BY_LANGUAGE
    name = usual if unknown_words is None else unknown_words
    rule = {"@misc": name, "lang": lang} if name == _BY_LANGUAGE else {"@misc": name}
    settings = VocabularySettings(resolve_rule(rule), min_count, min_class_count)
    found = iter(sentences)
    first = next(found, None)
    if first is None:
        raise ValueError("There is no sentence to take a vocabulary from.")
    types: set[str] = set()

    def read() -> Iterator[tuple[Sequence[str], list[int]]]:
        for words in chain([first], found):
            types.update(words if spelling else ())
            # All words have one and the same tag, whose name is empty: it says nothing about a word's class.
            yield words, [0] * len(words)

    vocabulary = Vocabulary.collect(read(), [""], settings)
    learned = (
        Spelling.learn(vocabulary, sorted(types), np.random.default_rng([seed, 0, 4])) if spelling else None
    )
    return NGramVocabulary(vocabulary, rule, lang, learned)


class NGramModel:
    """A trained n-gram model. Make one with `train_ngram_model`, `NGramModel.from_bytes` or
    `NGramModel.from_disk`.

    order (int): n, the length of the longest n-gram.
    samples (Sequence[dict[str, Any]]): At least one seating of the same sentences, as `hpyp.storage.pack`
        describes it.
    RAISES (ValueError): If there is no sample, or one does not fit the others, the order or the vocabulary.
    """

    def __init__(self, words: NGramVocabulary, order: int, samples: Sequence[dict[str, Any]]) -> None:
        self.words = words
        self.vocabulary, self.spelling = words.vocabulary, words.spelling
        self.order = whole("order", order, highest=HIGHEST_ORDER)
        self._samples = list(samples)
        self._average = average(map(finish, map(self._unpack, self._samples)), len(self._samples))

    def _unpack(self, sample: dict[str, Any]) -> Franchise:
        return unpack(sample, columns_of(self.order), len(self.vocabulary) + 1)

    @property
    def samples(self) -> int:
        """Over how many samples predictions are averaged."""
        return len(self._samples)

    def word_counts(self) -> np.ndarray:
        """How often each word and class of the vocabulary was seen in training (int64[words + classes])."""
        return dish_counts(self._unpack(self._samples[0]))[:-1]

    def log_probs(self, words: Sequence[str]) -> np.ndarray:
        """The log-probabilities of a sentence's words and of its end.

        RETURNS (float64[n + 1]): In nats, of each word given those before it, and of the end. A word that is
            not in the vocabulary has the probability of its class, times that of its letters if it is spelled
            out.
        """
        numbers = np.array(self.vocabulary.numbers(words), dtype=np.int32)
        found, _ = self.score_blocks(sentence_blocks([numbers]))
        found[:-1] += self.spell(words, numbers)
        return found

    def next_words(self, words: Sequence[str]) -> np.ndarray:
        """The distributions of the next word, or the end, after each prefix of a sentence.

        RETURNS (float64[n + 1, outcomes]): Probabilities of all words and classes of the vocabulary by their
            numbers, and in the last column of the end; before the first word and after each.
        """
        found = np.empty((len(words) + 1, len(self.vocabulary) + 1))
        next_distributions(self._average, np.array(self.vocabulary.numbers(words), dtype=np.int32), found)
        return found

    def score(self, sentences: Iterable[Sequence[str]]) -> Iterator[Perplexity]:
        """The log-probability of each sentence.

        sentences (Iterable[Sequence[str]]): The words of each sentence; some are held in memory at a time.
        """
        for batch in minibatch(sentences, _BATCH):
            numbers = [np.array(self.vocabulary.numbers(words), dtype=np.int32) for words in batch]
            values, _ = self.score_blocks(sentence_blocks(numbers))
            bounds = np.cumsum([len(own) + 1 for own in numbers])[:-1]
            for words, own, log_probs in zip(batch, numbers, np.split(values, bounds)):
                yield score_of(self, words, own, float(log_probs.sum()))

    def score_blocks(self, blocks: Blocks) -> tuple[np.ndarray, np.ndarray]:
        """The log-probabilities of the words and ends of blocks, summed over the boundaries that are not
        known.

        blocks (Blocks): Numbers of this model's vocabulary. Where sentences may begin inside of a block, the
            end of a sentence is counted with the word after it.
        RETURNS (float64[words + blocks], float64[words + blocks]): In nats, of each word given those before
            it in its block, and of the end behind each block's words; and what the words before leave of
            these predictions to the uniform distribution below all counts: the less it is, the more has been
            seen of them.
        """
        log_probability, passed_on = np.empty((2, len(blocks.words) + len(blocks.offsets) - 1))
        for block, (start, end) in enumerate(zip(blocks.offsets[:-1], blocks.offsets[1:])):
            own = slice(start + block, end + block + 1)
            words, may_start = blocks.words[start:end], blocks.may_start[start:end]
            score_block(self._average, words, may_start, log_probability[own], passed_on[own])
        return log_probability, passed_on

    def perplexity(self, sentences: Iterable[Sequence[str]]) -> Perplexity:
        """The perplexity of a text, see `spacy_hpyp.language_model.scoring`.

        RAISES (ValueError): If there are none.
        """
        return perplexity_of(self.score(sentences))

    def generate(
        self, count: int, *, begin_with: Sequence[str] = (), max_length: int = 60, seed: int = 0
    ) -> Iterator[DrawnSentence]:
        """Draw sentences from the model, word by word (B&B section 5.5).

        They are drawn from its distribution given that they have a word and are not too long. Rare words are
        spelled out where the model does that, and else written as the name of their class in angle brackets.

        max_length (int): The most words of a sentence.
        seed (int): Fixes the sentences. The first ones are the same for every count.
        RAISES (ValueError): If a setting is out of its range, or no sentence that is short enough is found.
        """
        count, max_length, seed = check_drawing(count, begin_with, max_length, seed)
        beginning = np.array(self.vocabulary.numbers(begin_with), dtype=np.int32)
        stream = np.empty(max_length + 1, dtype=np.int32)

        def draw(number: int) -> DrawnSentence:
            rng = np.random.default_rng([seed, number])
            n = draw_stream(self._average, beginning, ATTEMPTS, rng, stream)
            if n == 0:
                raise unfound("sentences", begin_with, max_length)
            drawn = [
                write_out(self.vocabulary, self.spelling, word, rng)
                for word in stream[len(begin_with) : n].tolist()
            ]
            words = [*begin_with, *drawn]
            values, _ = self.score_blocks(sentence_blocks([stream[:n]]))
            return DrawnSentence(words, float(values.sum() + self.spell(words, stream[:n]).sum()))

        return map(draw, range(count))

    def spell(self, words: Sequence[str], numbers: np.ndarray) -> np.ndarray:
        """What words have in log-probability besides that of what the vocabulary knows them by, see
        `models.spelling.spell`.
        """
        return spell(self.spelling, len(self.vocabulary.words), words, numbers)

    # Storage

    def to_bytes(self) -> bytes:
        """The whole model, with a checksum."""
        vocabulary = self.vocabulary
        usual = vocabulary.candidate_tags[vocabulary.tag_offsets[: len(vocabulary)]]
        message = {
            "kind": KIND,
            "format": FORMAT,
            "order": self.order,
            "lang": self.words.lang,
            "unknown_words": _stored_rule(self.words.unknown_words),
            "words": vocabulary.words,
            "classes": vocabulary.classes,
            "tags": vocabulary.tags,
            "usual_tags": pack_integers(usual),
            **rare_to_message(vocabulary),
            "structure": {name: self._samples[0][name] for name in _STRUCTURE},
            "samples": [
                {name: value for name, value in sample.items() if name not in _STRUCTURE}
                for sample in self._samples
            ],
            **({} if self.spelling is None else {"spelling": self.spelling.to_message()}),
        }
        return with_checksum(srsly.msgpack_dumps(message))

    @classmethod
    def from_bytes(cls, data: bytes, *, unknown_words: UnknownWordRule | None = None) -> "NGramModel":
        """Read what `to_bytes` wrote.

        unknown_words (UnknownWordRule | None): The rule for unknown words that it was trained with, if that
            is not one of this package: which code is run is not for a file to say.
        RAISES (ValueError): If the bytes are damaged or are no n-gram model, or the rule is not given, or one
            too many is.
        """
        message = unpack_message(data)
        if message.get("kind") != KIND or message.get("format") != FORMAT:
            raise ValueError("it is not an n-gram model of this version of spacy-hpyp")
        try:
            words, order = _read_vocabulary(message, unknown_words), message["order"]
            structure = {name: message["structure"][name] for name in _STRUCTURE}
            samples = [{**sample, **structure} for sample in message["samples"]]
        except ValueError:
            raise
        except DAMAGE as error:
            raise ValueError(f"a part is missing or of the wrong kind ({error})") from error
        return cls(words, order, samples)

    def to_disk(self, path: str | Path) -> None:
        """Save the model to a file, which takes the place of a previous one only when it is complete."""
        replace_file(Path(path), self.to_bytes())

    @classmethod
    def from_disk(cls, path: str | Path, *, unknown_words: UnknownWordRule | None = None) -> "NGramModel":
        """Load a model from a file.

        unknown_words (UnknownWordRule | None), RAISES (ValueError): As `from_bytes`.
        """
        try:
            return cls.from_bytes(Path(path).read_bytes(), unknown_words=unknown_words)
        except UnknownRuleError as error:
            raise UnknownRuleError(f"The n-gram model '{path}' cannot be read: {error}.") from error
        except ValueError as error:
            raise ValueError(
                f"The n-gram model '{path}' cannot be read: {error}. Train or copy it again."
            ) from error


def _read_vocabulary(message: dict[str, Any], given: UnknownWordRule | None) -> NGramVocabulary:
    names = {part: message[part] for part in ("words", "classes", "tags")}
    for part, values in names.items():
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise ValueError(f"the list of {part} is damaged")
        if len(set(values)) < len(values):
            raise ValueError(f"the list of {part} has something twice")
    if not names["classes"]:
        raise ValueError("there is no class of unknown words")
    usual = unpack_integers(message["usual_tags"])
    if len(usual) != len(names["words"]) + len(names["classes"]) or int(usual.max(initial=0)) >= len(
        names["tags"]
    ):
        raise ValueError("the tags do not fit the vocabulary")
    if not isinstance(message["lang"], str):
        raise ValueError("the language is damaged")
    rule = _rule_of_file(message["unknown_words"], given)
    rare = rare_from_message(message, names["words"], names["tags"])
    vocabulary = Vocabulary(
        **names, tag_offsets=np.arange(len(usual) + 1), candidate_tags=usual, rule=rule, rare=rare
    )
    spelling = (
        Spelling.from_message(message["spelling"], len(vocabulary.classes)) if "spelling" in message else None
    )
    return NGramVocabulary(vocabulary, _stored_rule(message["unknown_words"]), message["lang"], spelling)


def _rule_of_file(unknown_words: Any, given: UnknownWordRule | None) -> UnknownWordRule:
    own, name = _own_rule(unknown_words), _name_of_rule(unknown_words)
    if own is not None and given is not None:
        raise UnknownRuleError(f"its rule for unknown words is {name!r}, and it cannot have another one")
    if own is None and given is None:
        raise UnknownRuleError(
            f"its rule for unknown words is {name!r}, a function that does not belong to spacy-hpyp, and "
            f"which code is run is not "
            "for a file to say. If you trust that function, hand it in, as NGramModel.from_disk(path, "
            "unknown_words=rule), or "
            "name it, as 'hpyp perplexity --unknown-words NAME'"
        )
    rule = given if own is None else own
    check_rule(rule)
    return rule


def columns_of(order: int) -> np.ndarray:
    """The context elements of an n-gram model's only expert (int32[1, order - 1]): the previous words, the
    nearest first.
    """
    return np.arange(BEFORE, BEFORE + order - 1, dtype=np.int32).reshape(1, order - 1)


def train_ngram_model(
    text: Iterable[Sequence[str]] | NGrams,
    words: NGramVocabulary | Callable[[Iterable[Sequence[str]]], NGramVocabulary] = collect_vocabulary,
    *,
    order: int = 5,
    sweeps: int = 20,
    samples: int = 10,
    seed: int = 0,
    progress: Callable[[NgramProgress], None] | None = None,
) -> NGramModel:
    """Train an n-gram model by Gibbs sampling.

    The first sweep seats every n-gram, the others remove each and add it again, in an order that does not
    depend on that of the text; after every sweep, discounts and strengths are resampled. The samples are
    seatings of the second half of the sweeps, equally far apart, the last one that after the last sweep.

    text (Iterable[Sequence[str]] | NGrams): The words of each sentence, which are read once; or how often
        n-grams are there, by `ngram_rows`.
    words (NGramVocabulary | Callable): The vocabulary, or what makes one of all words.
    order (int): n, from 1 to 20.
    samples (int): How many samples are averaged, no more than there are sweeps.
    seed (int): Fixes the model bit for bit.
    progress (Callable[[NgramProgress], None] | None): Is told now and then how far training is.
    RAISES (ValueError): If a setting is out of its range, or there are no sentences.
    """
    whole("order", order, highest=HIGHEST_ORDER)
    whole("sweeps", sweeps)
    whole("samples", samples, highest=sweeps)
    whole("seed", seed, least=0)
    rng = np.random.default_rng(seed)
    interval = max(1, sweeps // (2 * samples))
    kept: list[dict[str, Any]] = []
    if not isinstance(text, NGrams):
        text = count_ngrams(text, ngram_rows(order))
    if not len(text.rows):
        raise ValueError("There is no sentence to train on.")
    words = words(text.tokens()) if callable(words) else words
    # Better now than when it is to be saved.
    _stored_rule(words.unknown_words)
    boundary = len(words.vocabulary)
    numbers = np.array([boundary, *words.vocabulary.numbers(text.words[1:])], dtype=np.int32)
    rows, counts = add_up(numbers[text.rows], text.counts)
    del text
    franchise = new_franchise(columns_of(order), boundary + 1)
    ends = np.cumsum(counts)
    for sweep in range(1, sweeps + 1):
        log_prob = 0.0
        for start in range(0, ends[-1], _CUSTOMERS):
            customers = np.arange(start, min(start + _CUSTOMERS, ends[-1]))
            franchise = reserve(franchise, len(customers))
            of_customers = rows[np.searchsorted(ends, customers, side="right")]
            log_prob += visit(franchise, of_customers, sweep > 1, rng)
            if progress is not None:
                visited = customers[-1] + 1
                progress(NgramProgress(sweep, len(customers), sweeps * int(ends[-1]), log_prob / visited))
        resample(franchise, rng)
        left, out_of_step = divmod(sweeps - sweep, interval)
        if out_of_step == 0 and left < samples:
            kept.append(pack(franchise))
    del franchise
    return NGramModel(words, order, kept)
