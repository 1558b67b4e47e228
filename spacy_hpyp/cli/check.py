"""`hpyp check`: what a treebank has, and what is wrong with it, before anything is trained on it."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import msg

from ..annotation.documents import raw_sentences
from ..annotation.syntactic_words import multiword_tokens, words_as_tokens
from ..compat.spacy import nonproj
from ..components.conllu_corpus import create_conllu_corpus
from ..components.documents import document_of
from ..components.tokenizer import create_learned_tokenizer, spacy_tokenizer
from ..storage.checksum import blaming
from ..training.treebank import GoldCorpus
from ..treebanks.conllu import EMPTY, Block, read_blocks
from .convert import check_language, first_lines
from .options import FILE, argument, option
from .output import print_table

# A sentence of fewer words may well be in two parts.
_LONG = 5
# How many examples are shown.
_SHOWN = 5
# What the validator looks at: the format of Universal Dependencies, whatever the language.
_LEVEL = 2

#: What is to be told of a file, and what can be done.
Told = tuple[str, str]


def check(
    treebanks: Annotated[
        list[Path], argument("Treebanks in CoNLL-U: what is learned from, then others", **FILE)
    ],
    *,
    lang: Annotated[
        str | None,
        option("See that spaCy has this language, and try its tokenizer", "-l", callback=check_language),
    ] = None,
) -> None:
    """Say on a page what a treebank has, and what is wrong with it, before anything is trained.

    The exit code is 1 where something prevents training: a file that is not CoNLL-U, or one without any
    sentence to learn from. Besides there are sentences that training skips, and why; what the validator of
    Universal Dependencies says of the format (level 2), where 'udtools' is installed; arcs that cross; what
    is seen once; sentences that are in two of the files; and tokens that a tokenizer does not make that has
    learned from the first file.
    """
    nlp = spacy.blank(lang or "xx")
    parts: dict[Path, Part] = {}
    problems = []
    for path in treebanks:
        try:
            parts[path] = Part(path, nlp)
        except ValueError as error:
            problems.append(str(error))
    problems += [
        f"'{path}' has no sentence with tags and a complete tree."
        for path, part in parts.items()
        if not part.usable
    ]
    if parts:
        figures = [part.figures() for part in parts.values()]
        rows = [(name, *(f"{each[name]:,}" for each in figures)) for name in figures[0]]
        print_table(("", *(path.name for path in parts)), rows, "Treebank")
    first = parts.get(treebanks[0])
    tokenizers = _tokenizers(first.path, nlp, with_rules=lang is not None) if first else {}
    seen: dict[tuple[str, ...], str] = {}
    for path in treebanks:
        told = _format(path)
        if path in parts:
            told += [*parts[path].told(seen, first), *parts[path].told_of_tokens(tokenizers)]
        msg.divider(path.name)
        for what, advice in told:
            msg.warn(what, advice)
        if not told:
            msg.text("There is nothing to be told of it.")
    if problems:
        msg.divider("Training is prevented")
        for problem in problems:
            msg.fail(problem)
        raise typer.Exit(1)
    msg.good("Nothing prevents training")


class Part:
    """A file of a treebank, read by a pipeline without components.

    RAISES (ValueError): If it is not CoNLL-U, or nothing that spaCy can make documents of, with the line.
    """

    def __init__(self, path: Path, nlp: Language) -> None:
        self.path = path
        self.blocks = list(read_blocks(path))
        self.docs = [_doc(block, path, nlp) for block in self.blocks]
        sentences = [list(raw_sentences(words_as_tokens(doc))) for doc in self.docs]
        corpus = GoldCorpus(sentences)
        self.usable = bool(corpus.usable)
        #: The lines where sentences begin that training skips, by what is wrong with them.
        self.skipped: dict[str, list[int]] = defaultdict(list)
        for block, each in zip(self.blocks, sentences):
            for reason in {made for raw in each if isinstance(made := corpus.made[raw.key], str)}:
                self.skipped[f"where {block.problem}" if block.problem else reason].append(block.line)
        #: The lines of words whose arcs cross others.
        self.crossing = [line for block in self.blocks for line in _crossing(block)]
        #: The lines of words, tags and labels.
        self.values: dict[str, dict[str, list[int]]] = {
            name: defaultdict(list) for name in ("words", "tags", "labels")
        }
        for block in self.blocks:
            for line, (_, form, _, upos, xpos, _, _, deprel, *_) in _words(block):
                for lines, value in zip(
                    self.values.values(), (form, upos if xpos == EMPTY else xpos, deprel)
                ):
                    lines[value].append(line)

    def figures(self) -> dict[str, int]:
        """How many there are of what."""
        several = [len(list(multiword_tokens(doc))) for doc in self.docs]
        return {
            "documents": sum(block.begins("newdoc") for block in self.blocks),
            "sentences": len(self.blocks),
            "that training skips": sum(map(len, self.skipped.values())),
            "that are not projective": sum(any(_crossing(block)) for block in self.blocks),
            "tokens": sum(map(len, self.docs)),
            "that are several words": sum(several),
            "words": sum(block.size for block in self.blocks),
            "whose arcs cross others": len(self.crossing),
            **{f"{name} that are seen once": len(self._once(name)) for name in self.values},
        }

    def _once(self, name: str) -> dict[str, list[int]]:
        return {value: lines for value, lines in self.values[name].items() if len(lines) == 1}

    def told(self, seen: dict[tuple[str, ...], str], first: "Part | None") -> Iterator[Told]:
        """What is to be told of its sentences, where there is a first file that is learned from.

        seen (dict[tuple[str, ...], str]): The sentences of other files, by their words; gets its own.
        """
        for reason, lines in self.skipped.items():
            yield (
                f"Sentences that training skips: {len(lines):,} {reason} ({first_lines(lines)})",
                "Annotate them, or leave them as they are: the others are learned from.",
            )
        for name in ("tags", "labels"):
            found, which = self._once(name), "are seen once"
            if first is not None and first is not self:
                known = first.values[name].keys()
                found = {value: lines for value, lines in self.values[name].items() if value not in known}
                which = f"{first.path.name} has not"
            if found:
                each = ", ".join(
                    f"{value} ({first_lines(lines)})" for value, lines in [*found.items()][:_SHOWN]
                )
                yield f"{name.capitalize()} that {which}: {len(found)}, as {each}", "Are they slips?"
        if self.crossing:
            yield (
                f"Words whose arcs cross others: {len(self.crossing):,} ({first_lines(self.crossing)})",
                "They are learned as projective arcs with labels that say so, and found again by these.",
            )
        own = {tuple(word.form for word in block.words): block.line for block in reversed(self.blocks)}
        for file in dict.fromkeys(seen.values()):
            lines = sorted(
                line for forms, line in own.items() if len(forms) >= _LONG and seen.get(forms) == file
            )
            if lines:
                yield (
                    f"Sentences of {_LONG} words and more that are in {file}, too: {len(lines):,} "
                    f"({first_lines(lines)})",
                    "Scores are too good by them: leave them out of one of the files.",
                )
        for forms in own:
            seen.setdefault(forms, self.path.name)

    def told_of_tokens(self, tokenizers: dict[str, Callable[[str], Doc]]) -> Iterator[Told]:
        """What is to be told of its tokens, by the names of tokenizers."""
        for name, tokenizer in tokenizers.items():
            missed = [
                (token, block.line)
                for block, doc in zip(self.blocks, self.docs)
                for token in sorted(_tokens(doc) - _tokens(tokenizer(doc.text)))
            ]
            if missed:
                shown = ", ".join("+".join(words) for (_, _, words), _ in missed[:_SHOWN])
                lines = list(dict.fromkeys(line for _, line in missed))
                yield (
                    f"Tokens that {name} does not make: {len(missed):,}, as {shown} (in sentences that "
                    f"begin at {first_lines(lines)})",
                    "In raw text their words get wrong arcs. Are there others that are written like these, "
                    "and cut in another way?",
                )


def _doc(block: Block, path: Path, nlp: Language) -> Doc:
    with blaming(f"'{path}', line {block.line}: the sentence that begins here cannot be read"):
        return document_of([(0, block)], nlp.vocab)


def _words(block: Block) -> Iterator[tuple[int, list[str]]]:
    return (
        (line, row)
        for line, row in enumerate(block.rows, block.line + len(block.comments))
        if row[0].isdigit()
    )


def _crossing(block: Block) -> Iterator[int]:
    if block.problem is None:
        heads = [i if word.head == 0 else word.head - 1 for i, word in enumerate(block.words)]
        for i, (line, _) in enumerate(_words(block)):
            if nonproj.is_nonproj_arc(i, heads):
                yield line


def _tokenizers(path: Path, nlp: Language, *, with_rules: bool) -> dict[str, Callable[[str], Doc]]:
    """The tokenizer that learns from a file, and perhaps the one that spaCy has for the language."""
    learned = create_learned_tokenizer(sentences="none")(nlp)
    examples = list(create_conllu_corpus(path, tokens="gold")(nlp))
    learned.initialize(lambda: examples, nlp=nlp)
    rules = (
        {f"spaCy's tokenizer for '{nlp.lang}'": spacy_tokenizer(nlp.vocab, nlp.lang)} if with_rules else {}
    )
    return {f"a tokenizer that learns from {path.name}": learned, **rules}


def _tokens(doc: Doc) -> set[tuple[int, str, tuple[str, ...]]]:
    """The tokens of a Doc: where they begin, and their words."""
    several = {token.i: tuple(word.form for word in words) for token, words in multiword_tokens(doc)}
    return {(token.idx, token.text, several.get(token.i, (token.text,))) for token in doc}


def _format(path: Path) -> list[Told]:
    """What the validator of Universal Dependencies says of a file, if it is installed."""
    try:
        from udtools import Validator
    except ImportError:
        return [
            (
                "The format is not validated",
                "The validator is in the extra 'ud': pip install 'spacy-hpyp[ud]'",
            )
        ]
    state = Validator(lang="ud", level=_LEVEL, output=None).validate_files([str(path)])
    lines: dict[str, list[int]] = defaultdict(list)
    for incident in state.error_tracker:
        if incident.is_error():
            lines[incident.testid].append(int(incident.lineno))
    return [
        (
            f"The validator says {name}: {len(each):,} ({first_lines(sorted(each))})",
            f"'udvalidate --lang ud --level {_LEVEL} {path}' says more. It does not prevent training.",
        )
        for name, each in lines.items()
    ]
