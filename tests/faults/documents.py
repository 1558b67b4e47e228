"""Random documents: whatever a Doc may hold, it is parsed into trees with possible probabilities."""

import math
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import spacy
from checks import check_parse, check_trees, require
from spacy.attrs import SENT_START
from spacy.language import Language
from spacy.tokens import Doc

#: How many documents are parsed at once.
BATCH = 8
_LONGEST_SCORED = 40
_ROUNDING = 1e-6
_SPACES = [" ", "  ", "\t", "\n", "\n\n", "\u00a0", "\u2003", "\u3000", "\r\n", "\u200b", "\ufeff"]
_ODD_WORDS = [
    "",
    *"-./'\"()«»…‘’—&@#%\\\0\x7f\u0301",
    "http://example.org/?q=1",
    "👩‍👩‍👧",
    "שלום",
    "ﷺ",
    "don't",
    "NaN",
    "-1e999",
]


def prepare(pipeline: Path, seed: int, count: int) -> Callable[[int], str]:
    """Load a pipeline; see `children.run_cases`.

    pipeline (Path): A trained pipeline.
    seed (int): Fixes the documents.
    count (int): How many documents; a case is `BATCH` of them.
    """
    nlp = spacy.load(pipeline)
    makers = [
        unicode_text,
        spaces_only,
        nothing,
        one_token,
        long_tokens,
        repeated,
        known_words,
        unknown_words,
    ]

    def run(number: int) -> str:
        rng = random.Random(f"{seed}/{number}")
        docs = [
            annotate(rng.choice(makers)(nlp, rng), nlp, rng)
            for _ in range(min(BATCH, count - BATCH * number))
        ]
        choose_settings(nlp, rng)
        parse_all_and_check(nlp, [doc.copy() for doc in docs], rng)
        parse_and_check(nlp, docs, rng)
        return str(len(docs))

    return run


def choose_settings(nlp: Language, rng: random.Random) -> None:
    """Draw the settings of the components."""
    parser = nlp.get_pipe("hpyp_parser")
    parser.particles = rng.choice([1, 2, 5, 10, 20, 50])
    parser.lookahead = rng.choice([0.0, 0.5, 5.0])
    parser.threads = rng.choice([1, 2, 4])
    parser.decoding = rng.choice(["best", "mbr"])
    parser.marginals = rng.random() < 0.5
    parser.guides = rng.random() < 0.5
    parser.temperature = rng.choice([0.1, 1.0, 2.0, 50.0])
    parser.tags = rng.choice(["joint", "joint", "given"])
    nlp.get_pipe("easy_first_senter").certainty = rng.choice([0.0, 0.0, 1e9])
    nlp.get_pipe("easy_first_parser").beam = rng.choice([1, 2, 8])
    nlp.get_pipe("head_outward_parser").decoding = rng.choice(["best", "mbr"])
    nlp.get_pipe("head_outward_parser").longest = rng.choice([1, 10, 50])
    nlp.get_pipe("parse_reranker").k = rng.choice([1, 2, 5])
    nlp.get_pipe("parse_reranker").decoding = rng.choice(["best", "mbr"])
    nlp.get_pipe("head_outward_states").sweeps = 4


def parse_all_and_check(nlp: Language, docs: list[Doc], rng: random.Random) -> None:
    """Parse documents by all components, and check what they leave."""
    texts = [doc.text for doc in docs]
    tagged = nlp.get_pipe("hpyp_parser").tags == "given"
    if tagged:
        nlp.get_pipe("hpyp_parser").tags = "joint"
    alone = [nlp(doc.copy()) if rng.random() < 0.1 else None for doc in docs]
    docs = list(nlp.pipe(docs, batch_size=rng.choice([1, 3, BATCH])))
    if tagged:
        nlp.get_pipe("hpyp_parser").tags = "given"
    for doc, text in zip(docs, texts, strict=True):
        require(doc.text == text, "the text is another one")
        check_trees(doc)
        for token in doc:
            require(token.dep_ and token.tag_, f"token {token.i} has no tag or no label")
            value = token._.head_prob
            possible = (
                value is None if token.is_space else value is not None and 0.0 <= value <= 1.0 + _ROUNDING
            )
            require(possible, f"head_prob of token {token.i} is {value}")
            require(token._.state is None or 0 <= token._.state < 1000, f"a state is {token._.state}")
    for doc, other in zip(docs, alone, strict=True):
        if other is not None:
            own, others = ([(t.head.i, t.dep_, t.tag_) for t in each] for each in (doc, other))
            require(own == others, "a document has another parse alone than in a batch")
            own, others = ([t._.head_prob or 0.0 for t in each] for each in (doc, other))
            # In which order numbers are added up depends on how many there are.
            require(
                np.allclose(own, others, atol=_ROUNDING),
                "a document has other probabilities alone than in a batch",
            )


def parse_and_check(nlp: Language, docs: list[Doc], rng: random.Random) -> None:
    """Parse documents, and check all that the parser says of them."""
    parser = nlp.get_pipe("hpyp_parser")
    if parser.tags == "given":
        for doc in docs:
            for token in doc:
                token.tag_ = rng.choice(parser.label_data["tags"])
    words = [[token.text_with_ws for token in doc] for doc in docs]
    presets = [doc.to_array([SENT_START]).view(np.int64).ravel() for doc in docs]
    alternatives, posteriors = [], []
    for doc in docs:
        alternatives.append(parser.k_best(doc, rng.randint(1, 5)) if rng.random() < 0.2 else [])
        posteriors.append(parser.posterior(doc) if rng.random() < 0.2 else None)
    docs = list(parser.pipe(docs, batch_size=rng.choice([1, 3, BATCH])))
    for doc, texts, preset in zip(docs, words, presets):
        require([token.text_with_ws for token in doc] == texts, "the text is another one")
        check_parse(nlp, doc)
        starts = np.array([bool(token.is_sent_start) for token in doc], dtype=bool)
        require(np.all(starts[preset == 1]), "a sentence boundary that was set is gone")
        require(not np.any(starts[1:] & (preset[1:] == -1)), "a sentence begins where that was ruled out")
    for found in alternatives:
        values = [alternative.log_prob for alternative in found]
        require(
            all(math.isfinite(value) and value <= 0.0 for value in values), f"k-best log_probs are {values}"
        )
        require(values == sorted(values, reverse=True), "the k best parses are not in order")
        for alternative in found:
            check_trees(alternative.doc)
    for doc, posterior in zip(docs, posteriors):
        if posterior is not None:
            is_word = np.array([not token.is_space for token in doc], dtype=float)
            for part in (posterior.heads, posterior.labels, posterior.tags):
                require(np.all((0.0 <= part) & (part <= 1.0 + 1e-6)), "a posterior probability is impossible")
                require(np.allclose(part.sum(axis=1), is_word), "posterior probabilities do not sum to 1")
    for doc in docs:
        if len(doc) <= _LONGEST_SCORED and rng.random() < 0.2:
            try:
                value = parser.tree_log_prob(doc)
            except ValueError as error:
                # A tree that was made projective again can have a label that the model does not know.
                require("cannot say how probable" in str(error), f"the log-probability of trees: {error}")
            else:
                require(math.isfinite(value) and value <= 0.0, f"the log-probability of trees is {value}")


def annotate(doc: Doc, nlp: Language, rng: random.Random) -> Doc:
    """Give a document some annotation before it is parsed: nothing, sentence boundaries, or trees."""
    kind = rng.choice(["nothing", "boundaries", "trees"])
    if kind == "nothing" or len(doc) == 0:
        return doc
    words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
    if kind == "boundaries":
        rate = rng.choice([0.02, 0.3, 1.0])
        starts = [rng.choice([True, False]) if rng.random() < rate else None for _ in words]
        return Doc(doc.vocab, words=words, spaces=spaces, sent_starts=[True, *starts[1:]])
    heads: list[int] = []
    while len(heads) < len(words):
        heads += random_tree(len(heads), min(len(words) - len(heads), rng.randint(1, 12)), rng)
    deps = [
        "ROOT" if head == i else rng.choice(["nsubj", "obj", "punct", "dep"]) for i, head in enumerate(heads)
    ]
    tags = [rng.choice(["NN", "VB", "_SP", "X"]) for _ in words]
    return Doc(doc.vocab, words=words, spaces=spaces, heads=heads, deps=deps, tags=tags)


def random_tree(start: int, size: int, rng: random.Random) -> list[int]:
    """The heads of some tokens that form a tree, often one whose arcs cross."""
    order = list(range(start, start + size))
    rng.shuffle(order)
    heads = {order[0]: order[0]} | {order[i]: order[rng.randrange(i)] for i in range(1, size)}
    return [heads[i] for i in range(start, start + size)]


def length(rng: random.Random, mean: float = 12.0) -> int:
    """A number of words, seldom a large one."""
    return 1 + int(rng.expovariate(1.0 / (20 * mean if rng.random() < 0.01 else mean)))


def character(rng: random.Random) -> str:
    """A character of any script, or a control character; half of the surrogates' places are other planes'."""
    code = rng.choice(
        [rng.randrange(0x80), rng.randrange(0x800), rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)]
    )
    return chr(code)


def spaced(nlp: Language, words: list[str], rng: random.Random) -> Doc:
    """A document of some words, with spaces after some of them."""
    return Doc(nlp.vocab, words=words, spaces=[rng.random() < 0.8 for _ in words])


def unicode_text(nlp: Language, rng: random.Random) -> Doc:
    return nlp.make_doc("".join(rng.choice([character(rng), " "]) for _ in range(length(rng, 30))))


def spaces_only(nlp: Language, rng: random.Random) -> Doc:
    return nlp.make_doc("".join(rng.choice(_SPACES) for _ in range(length(rng, 4))))


def nothing(nlp: Language, rng: random.Random) -> Doc:
    return nlp.make_doc("")


def one_token(nlp: Language, rng: random.Random) -> Doc:
    return spaced(nlp, [rng.choice([character(rng), *_SPACES, "the", "unheard-of"])], rng)


def long_tokens(nlp: Language, rng: random.Random) -> Doc:
    words = [
        "".join(character(rng) for _ in range(10 ** rng.randint(1, 4))) for _ in range(rng.randint(1, 4))
    ]
    return spaced(nlp, words, rng)


def repeated(nlp: Language, rng: random.Random) -> Doc:
    return spaced(nlp, [rng.choice(["the", "buffalo", ".", '"', "\n", "(", "和"])] * length(rng, 20), rng)


def known_words(nlp: Language, rng: random.Random) -> Doc:
    words = nlp.get_pipe("hpyp_parser").joint.vocabulary.words
    return spaced(
        nlp,
        [
            rng.choice([*_SPACES, ","]) if rng.random() < 0.1 else rng.choice(words)
            for _ in range(length(rng))
        ],
        rng,
    )


def unknown_words(nlp: Language, rng: random.Random) -> Doc:
    odd = [word for word in _ODD_WORDS if word]
    words = [
        rng.choice(odd) if rng.random() < 0.3 else "".join(rng.choices("abcdeABC019-é", k=length(rng, 4)))
        for _ in range(length(rng))
    ]
    return spaced(nlp, words, rng)
