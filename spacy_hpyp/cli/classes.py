"""`hpyp classes`: classes of words that stand in like places, from raw text or from vectors."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import spacy
import typer
from wasabi import msg

from ..storage.files import replace_file
from ..text.ngrams import count_ngrams, pair_rows
from ..text.vector_classes import vector_classes
from ..text.word_classes import WordClass, class_lines, learn_classes, without_digits
from .app import load_pipeline
from .options import NEW_FILE, Cluster, Tokenized, argument, option
from .progress import Bar
from .raw_text import existing, read_sentences
from .shards import CountTask, count_texts, made_with

# Of how many classes the most frequent words are shown, and how many of each.
_SHOWN, _WORDS = 20, 10


def classes(
    texts: Annotated[
        list[Path] | None,
        argument(
            "Text, a sentence or paragraph a line (.txt, .gz, .jsonl), CoNLL-U, .spacy", callback=existing
        ),
    ] = None,
    *,
    output: Annotated[Path, option("File for the classes", "-o", **NEW_FILE)],
    number: Annotated[
        int, option("How many classes there are to be", "--classes -n", least=2, most=100_000)
    ] = 512,
    min_count: Annotated[int, option("Rarer words are known by what they look like", least=1)] = 5,
    iterations: Annotated[int, option("How often all words are looked at, at the most", least=1)] = 20,
    fold: Annotated[
        bool,
        option(
            "First words of sentences count in lower case if that is more frequent elsewhere",
            "--fold/--no-fold",
        ),
    ] = True,
    digits: Annotated[bool, option("All digits are one", "--one-digit/--digits")] = True,
    lang: Annotated[str, option("Language of the tokenizer", "-l")] = "en",
    tokenizer: Annotated[
        str | None, option("Name or path of a pipeline whose tokenizer finds the words")
    ] = None,
    tokenized: Tokenized = False,
    every: Annotated[
        int, option("Every so manieth sentence alone, for a curve over the text's size", least=1)
    ] = 1,
    vectors: Annotated[
        str | None, option("Instead of text: name or path of a pipeline with vectors of words")
    ] = None,
    threads: Annotated[int, option("Threads; the classes do not depend on it", "-t", least=1)] = 2,
    seed: Annotated[
        int | None, option("Words begin in classes at random by it, instead of by their frequency")
    ] = None,
    cluster: Cluster = Cluster(max_errors=0),
) -> list[WordClass]:
    """Learn classes of words, each with a path in a binary tree, for parsers to know words by that their
    treebank has not.

    A line of the file has a path, a word and a count. Ctrl-C ends learning with the classes that there are.
    With --ray, workers find the words and count which stand side by side, into a folder beside the file; the
    classes are the same.
    """
    if (vectors is None) == (not texts):
        raise typer.BadParameter("Either texts are needed, or --vectors.")
    if vectors is not None:
        found = vector_classes(load_pipeline(vectors).vocab, number, seed=seed or 0)
    else:
        pairs = None
        if cluster.ray is not None:
            if every > 1:
                raise ValueError("With --ray there is no --every.")
            own_lang = None if tokenized else lang
            task = CountTask(*made_with(tokenizer), True, cluster.field, "counts", own_lang, None, digits)
            pairs = count_texts("classes", task, texts or [], output, cluster)
        else:
            nlp = None if tokenized else load_pipeline(tokenizer) if tokenizer else spacy.blank(lang)
            # Different words are kept anyway.
            sentences = chain.from_iterable(read_sentences(text, nlp, forget=False) for text in texts or [])

        with Bar(total=iterations, desc="Reading", unit=" iterations", delay=1e-9, leave=True) as bar:

            def show(iteration: int, moved: int, likelihood: float) -> None:
                bar.set_description_str("Learning")
                bar.set_postfix_str(f"{moved:,} moved, log-likelihood {likelihood:,.0f} nats", refresh=False)
                bar.update()

            if pairs is None:
                chosen = islice(sentences, 0, None, every)
                words = ([*map(without_digits, words)] if digits else words for words in chosen)
                pairs = count_ngrams(words, pair_rows)
            how: dict[str, Any] = {
                "min_count": min_count,
                "fold": fold,
                "iterations": iterations,
                "threads": threads,
            }
            found = learn_classes(pairs, number, **how, seed=seed, progress=show)
    replace_file(output, "".join(class_lines(found)).encode())
    _show(found)
    msg.good(f"Saved {len({each.path for each in found}):,} classes of {len(found):,} words to {output}")
    return found


def _show(found: Sequence[WordClass]) -> None:
    members = defaultdict(list)
    for each in sorted(found, key=lambda each: -each.count):
        members[each.path].append(each)
    for path, words in sorted(members.items(), key=lambda item: -sum(each.count for each in item[1]))[
        :_SHOWN
    ]:
        print(f"{path:<16} {' '.join(each.word for each in words[:_WORDS])}")
