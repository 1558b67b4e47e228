"""A toy treebank, pipelines trained on it, and assertions about parsed documents."""

import functools
import gc
import os
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import catalogue
import hypothesis
import numpy as np
import pytest
import spacy
import srsly.msgpack
import typer.testing
from spacy.attrs import DEP, HEAD, SENT_START, TAG
from spacy.lang.en import English
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_config, load_model_from_config, minibatch
from spacy.vocab import Vocab

from spacy_hpyp import HPYPParser
from spacy_hpyp.annotation.syntactic_words import Analysis, to_word_doc, write_back, write_words
from spacy_hpyp.compiled import overwrite
from spacy_hpyp.hpyp.franchise import CUSTOMERS, N_RESTAURANTS, TIER

try:
    import fcntl
except ImportError:  # On Windows.
    fcntl = None

pytest.register_assert_rewrite("tree_parsers")

# Compilation creates many long-lived objects. Scanning them repeatedly would take a tenth of the
# time.
gc.set_threshold(100_000, 50, 50)

# These are slow, and no test depends on them: English tokenizers learn 1,300 exceptions such as
# "can't" one by one whenever they are created or loaded, typer rebuilds all of spaCy's commands
# for each command that runs, and msgpack searches all packages and its registry for encoders at
# each call.
English.Defaults.tokenizer_exceptions = {
    word: English.Defaults.tokenizer_exceptions[word] for word in ("don't", "Don't", "cannot")
}
typer.testing._get_command = functools.cache(typer.testing._get_command)
catalogue.Registry._get_entry_points = functools.cache(catalogue.Registry._get_entry_points)
for coders in (srsly.msgpack.msgpack_encoders, srsly.msgpack.msgpack_decoders):
    coders.get_all = functools.cache(coders.get_all)

# Default number of examples in a test.
hypothesis.settings.register_profile("tests", max_examples=50)
hypothesis.settings.load_profile("tests")

NOUNS = "dog cat bird fish horse linguist parser".split()
NAMES = "Ada Kim Mona".split()
VERBS = "sees likes follows hears".split()
STATES = "sleeps waits sings".split()
ADJECTIVES = "old small green".split()


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory):
    """Let one of the workers that need a compiled function at once compile it; the others wait and
    read it from disk.
    """
    if fcntl is None or "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    # The workers share the folder above theirs.
    folder = tmp_path_factory.getbasetemp().parent
    dispatcher = type(overwrite)
    compile_entry = dispatcher.compile

    def compile_alone(entry, signature):
        name = f"{entry.py_func.__module__}.{entry.py_func.__qualname__}"
        if not name.startswith("spacy_hpyp."):
            return compile_entry(entry, signature)
        with (folder / f"{name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            return compile_entry(entry, signature)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatcher, "compile", compile_alone)
        yield


@dataclass(frozen=True)
class Sentence:
    """A sentence as columns. Heads are positions in the sentence; the root is its own head."""

    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    deps: list[str] = field(default_factory=list)

    def add(self, word: str, tag: str, head: int, dep: str) -> int:
        """Add a token and return its position."""
        self.words.append(word)
        self.tags.append(tag)
        self.heads.append(head)
        self.deps.append(dep)
        return len(self.words) - 1

    def attach(self, dependent: int, head: int, dep: str) -> None:
        """Give a token its head."""
        self.heads[dependent], self.deps[dependent] = head, dep


#: The settings of Buys & Blunsom's model, which is trained faster than the default.
_PAPER = load_config(Path(__file__).parent.parent / "configs" / "paper.cfg")
_FILLED = load_model_from_config(_PAPER, auto_fill=True).config.interpolate()
PAPER = _FILLED["components"]["hpyp_parser"]
PAPER["model"]["unknown_words"] = {"@misc": "spacy-hpyp.UniversalUnknownWords.v1"}
del PAPER["factory"]


def noun_phrase(sentence: Sentence, rng: random.Random) -> int:
    """Add a noun phrase with an unattached head and return the position of that head."""
    if rng.random() < 0.2:
        return sentence.add(rng.choice(NAMES), "NNP", 0, "")
    modifiers = [sentence.add(rng.choice(["the", "a"]), "DT", 0, "det")]
    if rng.random() < 0.4:
        modifiers.append(sentence.add(rng.choice(ADJECTIVES), "JJ", 0, "amod"))
    head = sentence.add(rng.choice(NOUNS), "NN", 0, "")
    for modifier in modifiers:
        sentence.heads[modifier] = head
    return head


def make_sentence(rng: random.Random) -> Sentence:
    """Draw a sentence from the templates."""
    sentence = Sentence()
    subject = noun_phrase(sentence, rng)
    transitive = rng.random() < 0.6
    verb = sentence.add(rng.choice(VERBS if transitive else STATES), "VBZ", 0, "ROOT")
    sentence.heads[verb] = verb
    sentence.attach(subject, verb, "nsubj")
    if transitive:
        sentence.attach(noun_phrase(sentence, rng), verb, "obj")
    if rng.random() < 0.3:
        case = sentence.add("near", "IN", 0, "case")
        place = noun_phrase(sentence, rng)
        sentence.attach(case, place, "case")
        sentence.attach(place, verb, "obl")
    sentence.add(".", ".", verb, "punct")
    return sentence


class ToyTreebank:
    """Sentences, and helpers that turn them into Docs, Examples and pipelines."""

    #: Two of its arcs cross: "on the issue" belongs to "hearing" (McDonald & Satta 2007).
    non_projective = Sentence(
        "a hearing is scheduled on the issue today .".split(),
        "DT NN VBZ VBN IN DT NN NN .".split(),
        [1, 3, 3, 3, 6, 6, 1, 3, 3],
        "det nsubj aux ROOT case det nmod obl punct".split(),
    )
    #: Settings of a model whose distributions all have several experts.
    pools: ClassVar = {
        "seating": "kneser-ney",
        "transition": [["s1.tag", "s2.tag", "s3.tag"], ["s1.word", "s2.word"], ["w1.tag", "depth"]],
        "label": [["next.direction", "s1.tag", "s2.tag"], ["next.direction", "s1.word"]],
        "tag": [["s1.tag", "s2.tag"], ["w1.tag", "w2.tag"]],
        "word": [["next.tag", "s1.word"], ["next.tag", "w1.word"]],
    }
    one_word = Sentence(["stop"], ["VB"], [0], ["ROOT"])
    sentence = Sentence
    paper = PAPER

    def sentences(self, count: int = 40, seed: int = 0) -> list[Sentence]:
        """Distinct sentences from the templates; the second is replaced by a non-projective one."""
        rng = random.Random(seed)
        found: dict[tuple[str, ...], Sentence] = {}
        while len(found) < count:
            sentence = make_sentence(rng)
            found.setdefault(tuple(sentence.words), sentence)
        sentences = list(found.values())
        sentences[1:2] = [self.non_projective]
        return sentences

    def doc(self, vocab: Vocab, *sentences: Sentence) -> Doc:
        """An annotated Doc of the sentences."""
        words: list[str] = []
        tags: list[str] = []
        heads: list[int] = []
        deps: list[str] = []
        for sentence in sentences:
            heads += [len(words) + head for head in sentence.heads]
            words += sentence.words
            tags += sentence.tags
            deps += sentence.deps
        return Doc(vocab, words=words, tags=tags, heads=heads, deps=deps)

    def conllu(self, sentence: Sentence, pairs: Iterable[int] = ()) -> str:
        """A sentence in CoNLL-U. `pairs`: numbers of words sharing a token with the next word."""
        text, rows = "", zip(sentence.words, sentence.tags, sentence.heads, sentence.deps)
        for i, (word, tag, head, dep) in enumerate(rows, 1):
            if i in pairs:
                text += f"{i}-{i + 1}\t{word}{sentence.words[i]}" + "\t_" * 8 + "\n"
            arc = "0\troot" if head == i - 1 else f"{head + 1}\t{dep}"
            text += f"{i}\t{word}\t_\tX\t{tag}\t_\t{arc}\t_\t_\n"
        return text + "\n"

    def merged(self, doc: Doc, first: int) -> Doc:
        """An annotated Doc of words in which two adjacent words share a token."""
        texts = [token.text for token in doc]
        pair = texts[first : first + 2]
        tokens = Doc(doc.vocab, words=[*texts[:first], "".join(pair), *texts[first + 2 :]])
        write_words(tokens, first, [Analysis(text) for text in pair])
        words = to_word_doc(tokens)
        words.from_array([TAG, SENT_START], doc.to_array([TAG, SENT_START]))
        if doc.has_annotation("DEP"):
            words.from_array([HEAD, DEP], doc.to_array([HEAD, DEP]))
        write_back(words, tokens)
        return tokens

    def examples(
        self, nlp: Language, sentences: Iterable[Sentence], size: int = 1
    ) -> list[Example]:
        """New Examples of so many sentences each."""
        docs = [self.doc(nlp.vocab, *group) for group in minibatch(sentences, size)]
        return [Example(nlp.make_doc(doc.text), doc) for doc in docs]

    def nlp(self, **settings: Any) -> Language:
        """A blank pipeline with a parser; settings of the model, by their names, go to the model.

        Other settings are those of the paper's model, except for the number of particles.
        """
        model = {name: settings.pop(name) for name in [*settings] if name in PAPER["model"]}
        nlp = spacy.blank("en")
        config = {**PAPER, "particles": 50, **settings, "model": {**PAPER["model"], **model}}
        nlp.add_pipe("hpyp_parser", config=config)
        return nlp

    def train(
        self, nlp: Language, sentences: Sequence[Sentence], sweeps: int = 3, size: int = 1
    ) -> Language:
        """Initialize a pipeline and sweep over the sentences, with new Examples each time."""
        nlp.initialize(lambda: self.examples(nlp, sentences, size))
        for _ in range(sweeps):
            nlp.update(self.examples(nlp, sentences, size))
        return nlp

    def trained(
        self, sentences: Sequence[Sentence] | None = None, sweeps: int = 3, **settings: Any
    ) -> Language:
        """A trained pipeline."""
        sentences = self.sentences() if sentences is None else sentences
        return self.train(self.nlp(**settings), sentences, sweeps)

    def parser(self, nlp: Language) -> HPYPParser:
        """The parser of a pipeline."""
        parser = nlp.get_pipe("hpyp_parser")
        assert isinstance(parser, HPYPParser)
        return parser

    def copy(self, nlp: Language, **settings: Any) -> Language:
        """An independent copy of a pipeline, optionally with other settings of the component."""
        config = nlp.config.copy()
        config["components"]["hpyp_parser"].update(settings)
        return spacy.util.load_model_from_config(config).from_bytes(nlp.to_bytes())

    def customers(self, nlp: Language) -> dict[str, int]:
        """The number of events seated in each distribution, the same in all of its experts."""
        events = {}
        for name, franchise in self.parser(nlp).joint.franchises.items():
            depth = franchise.columns.shape[1]
            restaurants = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
            found = set()
            for expert, row in enumerate(franchise.columns):
                is_last = restaurants[:, TIER] == expert * (depth + 1) + np.sum(row >= 0)
                found.add(int(restaurants[is_last, CUSTOMERS].sum()))
            assert len(found) <= 1, "the experts have not seen the same"
            events[name] = found.pop() if found else 0
        return events

    def customers_of(
        self, sentences: Iterable[Sentence], *, factored: bool = False
    ) -> dict[str, int]:
        """The number of events that the sentences should seat, optionally with labels separate from
        directions.
        """
        lengths = [len(sentence.words) for sentence in sentences]
        tokens = sum(lengths)
        # The first action is always a shift, and one word of each sentence has no arc.
        arcs = tokens - len(lengths) if factored else 0
        directions = tokens + arcs if factored else 2 * tokens
        return {"transition": directions, "label": arcs, "tag": tokens, "word": tokens}

    def hyperparameters(self, nlp: Language) -> np.ndarray:
        """All discounts and strengths."""
        franchises = self.parser(nlp).joint.franchises.values()
        return np.concatenate([np.concatenate([f.discount, f.strength]) for f in franchises])


@pytest.fixture(scope="session")
def toy() -> ToyTreebank:
    """The toy treebank."""
    return ToyTreebank()


@pytest.fixture(scope="session")
def trained(toy: ToyTreebank) -> Language:
    """A pipeline trained on the toy treebank; tests do not change it."""
    return toy.trained()


@pytest.fixture(scope="session")
def saved(trained: Language, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the pipeline `trained`; tests do not change it."""
    path = tmp_path_factory.mktemp("trained") / "pipeline"
    trained.to_disk(path)
    return path


@pytest.fixture(scope="session")
def trained_pools(toy: ToyTreebank) -> Language:
    """A pipeline whose distributions have several experts; tests do not change it."""
    return toy.trained(**toy.pools)


@pytest.fixture(scope="session")
def trained_on_documents(toy: ToyTreebank) -> Language:
    """A pipeline trained on documents of several sentences; tests do not change it."""
    return toy.train(toy.nlp(), toy.sentences(60), sweeps=5, size=3)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a text to a file and returns the path."""

    def write(text: str | bytes, name: str = "text.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf8"))
        return path

    return write


@pytest.fixture(scope="session")
def assert_forest() -> Callable[..., None]:
    """A function that asserts that every token has a tag and a label, that every sentence is a
    contiguous tree, and that a generative parser has set probabilities.
    """

    def assert_forest(doc: Doc, *, generative: bool = True) -> None:
        assert sum(len(sentence) for sentence in doc.sents) == len(doc)
        for sent in doc.sents:
            (root,) = (token for token in sent if token.head.i == token.i)
            assert {token.i for token in root.subtree} == set(range(sent.start, sent.end))
            assert [token.i for token in sent if token.is_sent_start] == [sent.start]
        for token in doc:
            assert token.tag_
            assert token.dep_
            assert (token.dep_ == "ROOT") == (token.head.i == token.i)
            assert not generative or (token._.log_prob <= 0.0 and np.isfinite(token._.log_prob))

    return assert_forest


@pytest.fixture(scope="session")
def annotation() -> Callable[[Doc], list[tuple[Any, ...]]]:
    """A function that returns everything that the parser writes."""
    return lambda doc: [
        (t.text, t.tag_, t.dep_, t.head.i, t.is_sent_start, t._.log_prob) for t in doc
    ]
