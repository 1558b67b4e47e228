"""Divide a corpus into documents to train on and documents held out: every n-th one."""

import argparse
from pathlib import Path

import spacy
from spacy.tokens import DocBin


def main() -> None:
    """Write `train.spacy` and `held-out.spacy`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, help="a .spacy file")
    parser.add_argument("output", type=Path, help="the directory to write to")
    parser.add_argument("--parts", type=int, default=8, help="hold out one document in so many")
    given = parser.parse_args()
    docs = list(DocBin().from_disk(given.corpus).get_docs(spacy.blank("xx").vocab))
    given.output.mkdir(parents=True, exist_ok=True)
    parts = {
        "train": [doc for i, doc in enumerate(docs) if i % given.parts],
        "held-out": docs[:: given.parts],
    }
    for name, chosen in parts.items():
        DocBin(docs=chosen, store_user_data=True).to_disk(given.output / f"{name}.spacy")


if __name__ == "__main__":
    main()
