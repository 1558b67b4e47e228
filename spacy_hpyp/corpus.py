"""A corpus reader that hands gold sentence boundaries, and gold tags, to the pipeline."""

from collections.abc import Callable, Iterator
from pathlib import Path

from spacy.language import Language
from spacy.training import Corpus, Example
from spacy.util import registry


@registry.readers("spacy-hpyp.GoldCorpus.v1")
def create_gold_corpus(
    path: str | Path, gold_tags: bool = False, limit: int = 0
) -> Callable[[Language], Iterator[Example]]:
    """Read a `.spacy` file one gold sentence at a time.

    Parsers are compared on gold tokens and sentences. spaCy's reader gives each sentence as a document of its own; this one
    also marks it as one sentence, so that a parser does not look for boundaries inside it.

    path (str | Path): The file or directory.
    gold_tags (bool): Whether to put the gold tags into the document to be parsed, for `tags = "given"`.
    limit (int): Read only so many documents of the file, 0 for all.
    RETURNS (Callable): Yields the examples for a pipeline.
    """

    def read(nlp: Language) -> Iterator[Example]:
        for example in Corpus(path, gold_preproc=True, limit=limit)(nlp):
            for i, token in enumerate(example.predicted):
                token.is_sent_start = i == 0
            if gold_tags:
                for token, gold in zip(example.predicted, example.reference):
                    token.tag_ = gold.tag_
            yield example

    return read
