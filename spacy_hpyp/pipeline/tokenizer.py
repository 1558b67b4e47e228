"""A tokenizer that is learned from a treebank: tokens, the words of multiword tokens, and where
sentences may end.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from spacy.attrs import IDX, IS_SPACE, LENGTH, SENT_START
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import get_lang_class, registry
from spacy.vocab import Vocab

from ..annotation.extensions import write_probability
from ..annotation.syntactic_words import Analysis, multiword_tokens, write_words
from ..settings import SEED, OneOf, check
from ..storage import dump, load, replace_file, with_checksum, without_checksum
from ..text.multiword import MultiwordTokens, are_cut
from ..text.segmentation import AnnotatedText, Segmenter, Segments
from ..text.word_classes import classes_in, uncased_classes

# The probabilities from which a boundary is set, and up to which it is excluded. The best F1 is
# with a threshold of half of that F1 (Lipton et al. 2014).
# A narrower band has more F1 on dev than 0.9 and 0.1 (sentences of EWT 90.23 -> 91.01, LAS of
# Coptic 61.68 -> 62.49, Sequoia alike), and the parser searches half as many places.
_BOUNDS = {"sure": (0.7, 0.3), "all": (0.4, 0.4), "none": None}


@registry.tokenizers("spacy-hpyp.LearnedTokenizer.v1")
def create_learned_tokenizer(
    sentences: str = "sure", seed: int = 0
) -> Callable[[Language], "LearnedTokenizer"]:
    """Create a tokenizer that learns from the training data, in `nlp.initialize`.

    sentences (str): The sentence boundaries to set. "sure": those with a probability of 0.7 and
        more; up to 0.3 none is possible, and later components decide the others. "all": those with
        0.4 and more, for treebanks without punctuation. "none".
    seed (int): The seed of its training.
    RETURNS (Callable): Makes the tokenizer of a pipeline.
    RAISES (ValueError): If a setting is not valid.
    """
    check("sentences", sentences, OneOf(tuple(_BOUNDS)))
    check("seed", seed, SEED)

    return lambda nlp: LearnedTokenizer(nlp.vocab, nlp.lang, sentences=sentences, seed=seed)


def spacy_tokenizer(vocab: Vocab, lang: str) -> Tokenizer:
    """Return spaCy's tokenizer of a language, or of "xx" if the package that it needs is
    missing.
    """
    try:
        return get_lang_class(lang)(vocab=vocab).tokenizer
    except ImportError:
        rules = get_lang_class("xx")().tokenizer.to_bytes(exclude=["vocab"])
        return Tokenizer(vocab).from_bytes(rules)


class LearnedTokenizer:
    """Cuts a text into tokens as a treebank does, and tokens into words.

    It sets `token._.sent_end_prob`, the probability that a sentence ends with a token.

    lang (str): The language of spaCy's tokenizer, `rules`, which is used before training.
    sentences (str), seed (int): See `create_learned_tokenizer`.
    """

    def __init__(self, vocab: Vocab, lang: str, *, sentences: str = "sure", seed: int = 0) -> None:
        self.vocab = vocab
        self.lang = lang
        self.sentences = sentences
        self.seed = seed
        self.segmenter: Segmenter | None = None
        self.multiword_tokens = _no_multiword_tokens()

    @cached_property
    def rules(self) -> Tokenizer:
        """The tokenizer of spaCy; made when it is needed, as that of English has thousands of
        exceptions.
        """
        return spacy_tokenizer(self.vocab, self.lang)

    def __call__(self, text: str) -> Doc:
        """Make a Doc of a text."""
        if self.segmenter is None:
            doc = self.rules(text)
            self._write_words(doc, [token.i for token in doc if not token.is_space])
            return doc
        segments = self.segmenter.segment(text)
        texts, spaces = _words_and_spaces(text, segments)
        doc = Doc(self.vocab, texts, spaces)
        token = np.flatnonzero(doc.to_array(IS_SPACE) == 0)
        write_probability(doc, token, "sent_end_prob", segments.probability)
        bounds = _BOUNDS[self.sentences]
        if bounds is not None and len(token):
            starts = np.full((len(doc), 1), -1, dtype=np.int64)
            before = segments.probability[:-1]
            starts[token[1:], 0] = np.where(
                before >= bounds[0], 1, np.where(before <= bounds[1], -1, 0)
            )
            starts[0] = 1
            doc.from_array([SENT_START], starts.view(np.uint64))
        cut = np.searchsorted(segments.starts, segments.cuts) - 1
        for k in np.unique(cut).tolist():
            bounds = [segments.starts[k], *segments.cuts[cut == k], segments.ends[k]]
            words = [Analysis(text[begin:end]) for begin, end in zip(bounds, bounds[1:])]
            write_words(doc, int(token[k]), words)
        self._write_words(doc, np.delete(token, np.unique(cut)).tolist())
        return doc

    def _write_words(self, doc: Doc, tokens: list[int]) -> None:
        """Write the words of the tokens at some positions that are several words by the rules."""
        if self.multiword_tokens.rules:
            for i, words in zip(tokens, self.multiword_tokens.words([doc[i].text for i in tokens])):
                if len(words) > 1:
                    write_words(doc, i, [Analysis(word) for word in words])

    def pipe(self, texts: Iterable[str], batch_size: int = 1000) -> Iterator[Doc]:
        """Make a Doc of each text."""
        return map(self, texts)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        pkuseg_model: Any = None,
        pkuseg_user_dict: Any = None,
    ) -> None:
        """Learn from the gold tokens, words and sentence boundaries of examples, and from classes
        of words, if the vocabulary has some.

        get_examples (Callable): Returns the training examples. Documents with unknown white space
            are left out. If there are no others, spaCy's rules find the tokens.
        pkuseg_model, pkuseg_user_dict: Ignored. spaCy's defaults for Chinese set them for its own
        tokenizer. RAISES (ValueError): If they have no tokens.
        """
        found = [example.reference for example in get_examples()]
        docs = [doc for doc in found if not doc.has_unknown_spaces]
        if found and not docs:
            self.segmenter = None
            self.multiword_tokens = MultiwordTokens.learn(
                map(_tokens_and_words, found), seed=self.seed
            )
            return
        classes = classes_in(self.vocab)
        paths = (
            None
            if classes is None
            else {word: path for path, word, _ in uncased_classes(classes).values()}
        )
        words = list(map(_tokens_and_words, docs))
        cut = are_cut(words)
        self.segmenter = Segmenter.learn(
            [_annotated(doc, cut) for doc in docs], paths, seed=self.seed
        )
        if cut:
            words = [
                [(token, [token] if "".join(own) == token else own) for token, own in sentence]
                for sentence in words
            ]
        self.multiword_tokens = MultiwordTokens.learn(words, seed=self.seed)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score tokens as spaCy's tokenizer does: `token_acc`, `token_p`, `token_r` and
        `token_f`.
        """
        return Scorer.score_tokenization(examples)

    def explain(self, text: str) -> list[tuple[str, str]]:
        """Return each token of a text, without white space, with what cut it: "LEARNED", or a rule
        of spaCy's.

        After "LEARNED" stand the words of a multiword token, as in "LEARNED do n't".
        """
        if self.segmenter is None:
            return self.rules.explain(text)
        explained = []
        for token in self(text):
            words = [word.text for word in token._.ud_words]
            if not token.is_space:
                explained.append(
                    (" ".join(["LEARNED", *(words if len(words) > 1 else ())]), token.text)
                )
        return explained

    # Storage

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """What has been learned, or spaCy's tokenizer."""
        message: dict[str, Any] = {"learned": {"words": self.multiword_tokens.to_dict()}}
        if self.segmenter is None:
            message["rules"] = self.rules.to_bytes(exclude=["vocab"])
        else:
            message["learned"]["characters"] = self.segmenter.to_dict()
        return with_checksum(dump(message))

    def from_bytes(self, bytes_data: bytes, *, exclude: Sequence[str] = ()) -> "LearnedTokenizer":
        """Read what `to_bytes` wrote; on an error the tokenizer stays as it was.

        RAISES (ValueError): If it is damaged, or something else.
        """
        try:
            message = load(without_checksum(bytes_data))
        except ValueError as error:
            raise ValueError(f"The tokenizer cannot be read: {error}") from error
        learned, segmenter = message["learned"], None
        words = MultiwordTokens.from_dict(learned["words"])
        if "characters" in learned:
            segmenter = Segmenter.from_dict(learned["characters"])
        else:
            self.rules.from_bytes(message["rules"], exclude=["vocab"])
        self.segmenter, self.multiword_tokens = segmenter, words
        return self

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Save the tokenizer to a file."""
        replace_file(Path(path), self.to_bytes(exclude=exclude))

    def from_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> "LearnedTokenizer":
        """Load the tokenizer from a file; on an error it stays as it was.

        RAISES (ValueError): If it is damaged, or something else.
        """
        try:
            return self.from_bytes(Path(path).read_bytes(), exclude=exclude)
        except ValueError as error:
            raise ValueError(f"{error}. It was read from '{path}'.") from error


def _no_multiword_tokens() -> MultiwordTokens:
    return MultiwordTokens([], np.zeros(1, dtype=np.float32))


def _words_and_spaces(text: str, segments: Segments) -> tuple[list[str], list[bool]]:
    """The tokens of a Doc, white space among them, and whether a space stands behind each."""
    words: list[str] = []
    spaces: list[bool] = []
    end = 0
    for start, stop in (
        *zip(segments.starts.tolist(), segments.ends.tolist()),
        (len(text), len(text)),
    ):
        between = text[end:start]
        if between.startswith(" ") and words:
            spaces[-1] = True
            between = between[1:]
        if between:
            words.append(between)
            spaces.append(False)
        if stop > start:
            words.append(text[start:stop])
            spaces.append(False)
        end = stop
    return words, spaces


def _annotated(doc: Doc, cut: bool) -> AnnotatedText:
    """The text of a Doc and its tokens; and where these are cut into words, if they are."""
    rows = doc.to_array([IDX, LENGTH, IS_SPACE, SENT_START]).view(np.int64)
    token = np.flatnonzero(rows[:, 2] == 0)
    last = None
    if doc.has_annotation("SENT_START"):
        starts = np.cumsum(rows[:, 3] == 1)[token]
        last = np.append(np.diff(starts) > 0, True)[: len(token)]
    cuts = [np.empty(0, dtype=np.int64)]
    for own, words in multiword_tokens(doc) if cut else ():
        if "".join(word.form for word in words) == own.text:
            cuts.append(own.idx + np.cumsum([len(word.form) for word in words[:-1]]))
    ends = rows[token, 0] + rows[token, 1]
    return AnnotatedText(doc.text, rows[token, 0], ends, last, np.concatenate(cuts))


def _tokens_and_words(doc: Doc) -> list[tuple[str, list[str]]]:
    """The tokens of a Doc, each with its words."""
    several = {token.i: [word.form for word in words] for token, words in multiword_tokens(doc)}
    return [(token.text, several.get(token.i, [token.text])) for token in doc if not token.is_space]
