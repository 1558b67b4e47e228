"""A tokenizer learned from a treebank: tokens, words of multiword tokens, and sentence ends."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from spacy.attrs import IDX, IS_SPACE, LENGTH, NORM, ORTH, SENT_START, intify_attrs
from spacy.language import Language
from spacy.scorer import PRFScore, Scorer
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import get_lang_class, registry
from spacy.vocab import Vocab
from wasabi import msg

from ..annotation.encoding import write_probability
from ..annotation.syntactic_words import (
    Analysis,
    multiword_tokens,
    to_word_doc,
    word_spans,
    write_words,
)
from ..settings import SEED, OneOf, check
from ..storage import blaming, dump, load, replace_file, with_checksum, without_checksum
from ..text.multiword import MultiwordTokens, are_cut
from ..text.segmentation import Segmenter, Segments
from ..text.word_classes import classes_in, uncased_classes

# The probability from which a boundary is set, and that up to which it is excluded. The best F1 is
# at a threshold of half that F1 (Lipton et al. 2014).
# A narrower band has more F1 on dev than 0.9 and 0.1 (sentences of EWT 90.23 -> 91.01, LAS of
# Coptic 61.68 -> 62.49, Sequoia alike), and the parser searches half as many places.
_BOUNDS = {"sure": (0.7, 0.3), "all": (0.4, 0.4), "none": None}
_METHODS = _LEARNED, _RULES, _AUTO = ("learned", "rules", "auto")
# One document in this many decides between the learned tokens and those of spaCy's rules.
_HELD_OUT = 10


@registry.tokenizers("spacy-hpyp.LearnedTokenizer.v1")
def create_learned_tokenizer(
    sentences: str = "sure", method: str = "learned", seed: int = 0
) -> Callable[[Language], "LearnedTokenizer"]:
    """Create a tokenizer that learns from the training data, in `nlp.initialize`.

    sentences (str): The sentence boundaries to set. "sure": those with a probability of 0.7 and
        more; up to 0.3 none is possible, and later components decide the others. "all": those with
        0.4 and more, for treebanks without punctuation. "none".
    method (str): The source of tokens: the "learned" model, spaCy's "rules" for the language, or
        with "auto" the rules if they find the words of held-out documents at least as well.
    seed (int): The seed of its training.
    RETURNS (Callable): Makes the tokenizer of a pipeline.
    RAISES (ValueError): If a setting is not valid.
    """
    check("sentences", sentences, OneOf(tuple(_BOUNDS)))
    check("method", method, OneOf(_METHODS))
    check("seed", seed, SEED)
    return lambda nlp: LearnedTokenizer(nlp.vocab, nlp.lang, sentences, method, seed)


class LearnedTokenizer:
    """Tokenizer that splits a text into tokens as a treebank does, and tokens into words.

    Once trained on text with white space, it sets `token._.sent_end_prob`, the probability that a
    sentence ends with a token, and the boundaries that `sentences` allows.

    vocab (Vocab), lang (str): The vocabulary, and the language of spaCy's tokenizer, `rules`, which
        finds tokens before training, or if `method` chooses it.
    sentences (str), method (str), seed (int): See `create_learned_tokenizer`.
    """

    def __init__(self, vocab: Vocab, lang: str, sentences: str, method: str, seed: int) -> None:
        self.vocab, self.lang = vocab, lang
        self.sentences, self.method, self.seed = sentences, method, seed
        self.by_rules = True
        self.segmenter: Segmenter | None = None
        self.multiword_tokens = MultiwordTokens([], np.zeros(1, dtype=np.float32))
        self.special_cases: dict[str, list[tuple[str, str]]] = {}

    @cached_property
    def rules(self) -> Tokenizer:
        """Make spaCy's tokenizer of the language, or of "xx" if a package that it needs is missing,
        when it is needed: that of English has thousands of exceptions.
        """
        try:
            return get_lang_class(self.lang)(vocab=self.vocab).tokenizer
        except ImportError:
            rules = get_lang_class("xx")().tokenizer.to_bytes(exclude=["vocab"])
            return Tokenizer(self.vocab).from_bytes(rules)

    def __call__(self, text: str) -> Doc:
        """Make a Doc of a text."""
        segments = None if self.segmenter is None else self.segmenter.segment(text)
        doc = self.rules(text) if self.by_rules else self._make_doc(text, segments)
        token = np.flatnonzero(doc.to_array(IS_SPACE) == 0)
        starts, lengths = doc.to_array([IDX, LENGTH]).view(np.int64)[token].T
        ends = starts + lengths
        words = self.multiword_tokens.words([doc[i].text for i in token.tolist()])
        if segments is not None and len(token):
            self._set_sentences(doc, token, ends, segments)
            owner = np.searchsorted(starts, segments.cuts) - 1
            for n in np.unique(owner[segments.cuts < ends[owner]]).tolist():
                bounds = [starts[n], *segments.cuts[owner == n], ends[n]]
                words[n] = [text[begin:end] for begin, end in zip(bounds, bounds[1:])]
        for i, own in zip(token.tolist(), words):
            if len(own) > 1:
                write_words(doc, i, [Analysis(word) for word in own])
        return doc

    def _make_doc(self, text: str, segments: Segments) -> Doc:
        """Make a Doc of the tokens of a text, and of special cases."""
        bounds = {0, len(text), *segments.starts.tolist(), *segments.ends.tolist()}
        norms: dict[int, str] = {}
        for begin, _, form, norm in self._find_special_cases(text):
            end = begin + len(form)
            bounds.difference_update(range(begin, end))
            bounds |= {begin, end}
            norms |= {begin: norm} if norm else {}
        words, spaces = [], []
        for begin, end in pairwise(sorted(bounds)):
            # A space belongs to the token before it.
            if words and text[begin] == " ":
                spaces[-1], begin = True, begin + 1
            if begin < end:
                words.append(text[begin:end])
                spaces.append(False)
        doc = Doc(self.vocab, words, spaces)
        for token in doc if norms else ():
            token.norm_ = norms.get(token.idx, token.norm_)
        return doc

    def _set_sentences(
        self, doc: Doc, token: np.ndarray, ends: np.ndarray, segments: Segments
    ) -> None:
        """Write the probabilities of boundaries, and set the boundaries that are certain.

        token, ends (int64[tokens]): Positions of the tokens that are no white space, and their ends
            in the text.
        """
        place = np.minimum(np.searchsorted(segments.ends, ends), len(segments.ends) - 1)
        probability = np.where(segments.ends[place] == ends, segments.probability[place], 0.0)
        write_probability(doc, token, "sent_end_prob", probability)
        bounds = _BOUNDS[self.sentences]
        if bounds is not None:
            starts = np.full((len(doc), 1), -1, dtype=np.int64)
            is_first = probability[:-1] >= bounds[0]
            starts[token[1:], 0] = is_first - (probability[:-1] <= bounds[1]).astype(np.int64)
            starts[0] = 1
            doc.from_array([SENT_START], starts.view(np.uint64))

    def pipe(self, texts: Iterable[str], batch_size: int = 1000) -> Iterator[Doc]:
        """Make a Doc of each text; `batch_size` is ignored."""
        return map(self, texts)

    def add_special_case(self, string: str, token_attrs: Iterable[dict[Any, str]]) -> None:
        """Add a special case, as to spaCy's tokenizer: a string that is always split in one way,
        unless it is a part of a word.

        string (str): The string.
        token_attrs (Iterable[dict]): The `ORTH` of each token, and optionally its `NORM`.
        RAISES (ValueError): If the tokens do not make up the string, or have other attributes.
        """
        attrs = [intify_attrs(each) for each in token_attrs]
        self.rules.add_special_case(string, attrs)
        self.special_cases[string] = [(each[ORTH], each.get(NORM, "")) for each in attrs]

    def _find_special_cases(self, text: str) -> Iterator[tuple[int, int, str, str]]:
        """Yield each token of special cases: place in the text, number in the case, form, norm."""
        strings = sorted(self.special_cases, key=len, reverse=True)
        pattern = "|".join(
            r"(?<!\w)" * string[0].isalnum() + re.escape(string) + r"(?!\w)" * string[-1].isalnum()
            for string in strings
        )
        for match in re.finditer(pattern, text) if strings else ():
            begin = match.start()
            for number, (form, norm) in enumerate(self.special_cases[match[0]], 1):
                yield begin, number, form, norm
                begin += len(form)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        pkuseg_model: Any = None,
        pkuseg_user_dict: Any = None,
    ) -> None:
        """Learn from the gold tokens, words and sentence boundaries of examples, and from word
        classes if the vocabulary has some.

        get_examples (Callable): Returns the training examples. Documents with unknown white space
            are left out. If there are no others, spaCy's rules find the tokens.
        pkuseg_model, pkuseg_user_dict: Ignored. spaCy's defaults for Chinese set them.
        RAISES (ValueError): If the examples have no tokens.
        """
        references = [example.reference for example in get_examples()]
        docs = [doc for doc in references if not doc.has_unknown_spaces]
        if self.method == _AUTO and len(docs) > 1:
            self.by_rules = self._prefers_rules(docs)
        else:
            self.by_rules = self.method == _RULES or not docs
        self._learn(docs, references)

    def _learn(self, docs: Sequence[Doc], references: Sequence[Doc]) -> None:
        """Learn tokens and sentences from `docs`, and words from these, or else all references."""
        words = list(map(_tokens_and_words, docs or references))
        cut, self.segmenter = are_cut(words), None
        if docs or not references:
            classes, paths = classes_in(self.vocab), None
            if classes is not None:
                paths = {word: path for path, word, _ in uncased_classes(classes).values()}
            annotated = [(doc.text, _segments(doc, cut)) for doc in docs]
            self.segmenter = Segmenter.learn(annotated, paths, seed=self.seed)
            if cut:
                words = [
                    [(token, [token] if "".join(own) == token else own) for token, own in sentence]
                    for sentence in words
                ]
        self.multiword_tokens = MultiwordTokens.learn(words, seed=self.seed)

    def _prefers_rules(self, docs: Sequence[Doc]) -> bool:
        """Return whether spaCy's rules find held-out words no worse than the learned model does."""
        held_out = docs[_HELD_OUT // 2 :: _HELD_OUT] or docs[-1:]
        chosen = set(map(id, held_out))
        self._learn([doc for doc in docs if id(doc) not in chosen], ())
        scores = []
        for self.by_rules in (False, True):
            examples, words = [Example(self(doc.text), doc) for doc in held_out], PRFScore()
            for example in examples:
                words.score_set(_word_spans(example.predicted), _word_spans(example.reference))
            scores.append((self.score(examples)["token_f"] or 0.0, words.fscore))
        prefers = scores[1][1] >= scores[0][1]
        (token_f, word_f), (rules_token_f, rules_word_f) = 100.0 * np.array(scores)
        msg.info(
            f"F1 of tokens and words on {len(held_out)} held-out documents: learned {token_f:.2f} "
            f"{word_f:.2f}, spaCy's rules {rules_token_f:.2f} {rules_word_f:.2f}. The tokenizer "
            f"uses {'the rules' if prefers else 'the learned model'}."
        )
        return prefers

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score tokens as spaCy's tokenizer does: `token_acc`, `token_p`, `token_r`, `token_f`."""
        return Scorer.score_tokenization(examples)

    def explain(self, text: str) -> list[tuple[str, str]]:
        """Return the source and text of each token but white space. Sources: "LEARNED" and the
        words of a multiword token, as in "LEARNED do n't"; "SPECIAL-1" and so on; or a rule of
        spaCy's.
        """
        if self.by_rules:
            return self.rules.explain(text)
        special = {begin: f"SPECIAL-{i}" for begin, i, _, _ in self._find_special_cases(text)}
        explained = []
        for token in self(text):
            words = [word.text for word in token._.ud_words]
            learned = " ".join(["LEARNED", *(words if len(words) > 1 else ())])
            if not token.is_space:
                explained.append((special.get(token.idx, learned), token.text))
        return explained

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """Serialize the trained model, special cases, and spaCy's rules if they are used."""
        message = {
            "words": self.multiword_tokens.to_dict(),
            "segmenter": None if self.segmenter is None else self.segmenter.to_dict(),
            "rules": self.rules.to_bytes(exclude=["vocab"]) if self.by_rules else None,
            "special_cases": self.special_cases,
        }
        return with_checksum(dump(message))

    def from_bytes(self, bytes_data: bytes, *, exclude: Sequence[str] = ()) -> "LearnedTokenizer":
        """Load what `to_bytes` returned; after an error the tokenizer is as it was.

        RAISES (ValueError): If the data are damaged, or something else.
        """
        with blaming("The tokenizer cannot be read"):
            message = load(without_checksum(bytes_data))
            words, segmenter = MultiwordTokens.from_dict(message["words"]), message["segmenter"]
            segmenter = None if segmenter is None else Segmenter.from_dict(segmenter)
        self.multiword_tokens, self.segmenter = words, segmenter
        self.by_rules = message["rules"] is not None
        self.special_cases = message["special_cases"]
        if self.by_rules:
            self.rules.from_bytes(message["rules"], exclude=["vocab"])
        return self

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Save the tokenizer to a file."""
        replace_file(Path(path), self.to_bytes(exclude=exclude))

    def from_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> "LearnedTokenizer":
        """Load the tokenizer from a file; after an error it is as it was.

        RAISES (ValueError): If the file is damaged, or something else.
        """
        with blaming(f"'{path}'"):
            return self.from_bytes(Path(path).read_bytes(), exclude=exclude)


def _segments(doc: Doc, cut: bool) -> Segments:
    """Return the gold tokens of a Doc, and with `cut` where they are cut into words."""
    rows = doc.to_array([IDX, LENGTH, IS_SPACE, SENT_START]).view(np.int64)
    token = np.flatnonzero(rows[:, 2] == 0)
    last = np.full(len(token), np.nan)
    if doc.has_annotation("SENT_START") and len(token):
        last = np.append(np.diff(np.cumsum(rows[:, 3] == 1)[token]) > 0, True)
    cuts = [np.empty(0, dtype=np.int64)]
    for own, words in multiword_tokens(doc) if cut else ():
        if "".join(word.form for word in words) == own.text:
            cuts.append(own.idx + np.cumsum([len(word.form) for word in words[:-1]]))
    starts = rows[token, 0]
    return Segments(starts, starts + rows[token, 1], np.concatenate(cuts), last.astype(np.float32))


def _tokens_and_words(doc: Doc) -> list[tuple[str, list[str]]]:
    """Return the tokens of a Doc, each with its words."""
    several = {token.i: [word.form for word in words] for token, words in multiword_tokens(doc)}
    return [(token.text, several.get(token.i, [token.text])) for token in doc if not token.is_space]


def _word_spans(doc: Doc) -> set[tuple[int, int, str]]:
    """Return the span and form of each word; words that do not spell their token share its span."""
    words = zip(word_spans(doc).tolist(), to_word_doc(doc))
    return {(*span, word.text) for span, word in words if not word.is_space}
