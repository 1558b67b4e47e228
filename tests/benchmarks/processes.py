"""What several processes gain, and what memory is theirs alone.

    python tests/benchmarks/processes.py PIPELINE CORPUS --processes 2 --start fork

PIPELINE is a trained pipeline with an hpyp_parser; CORPUS is what `spacy convert` has written, whose
documents are parsed as raw text. One thread a process, in batches of 32 documents. Prints the seconds of one
process and of several, without the time that the first batch takes, and the memory of each child that no
other process shares, which Linux knows. Nothing is asserted.
"""

import argparse
import multiprocessing
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import DocBin

#: Documents to a batch.
BATCH = 32


def private_memory(pid: int) -> float:
    """The resident memory that a process does not share with files or other processes, in MB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf8").splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith("Private_")) / 1000


def parse(nlp: Language, texts: list[str], processes: int) -> tuple[float, list[float]]:
    """Parse some texts.

    RETURNS (tuple[float, list[float]]): Seconds after the first batch, and the private memory of each child
        when the last but one batch is done.
    """
    docs: Iterator = nlp.pipe(texts, n_process=processes, batch_size=BATCH)
    for _ in islice(docs, BATCH):
        pass
    start = time.perf_counter()
    for _ in islice(docs, max(len(texts) - 2 * BATCH, 0)):
        pass
    memory = [
        private_memory(child.pid) for child in multiprocessing.active_children() if child.pid is not None
    ]
    for _ in docs:
        pass
    return time.perf_counter() - start, memory


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("pipeline")
    options.add_argument("corpus")
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--start", default="fork", choices=multiprocessing.get_all_start_methods())
    arguments = options.parse_args()
    multiprocessing.set_start_method(arguments.start)
    nlp = spacy.load(arguments.pipeline)
    nlp.get_pipe("hpyp_parser").threads = 1
    texts = [doc.text for doc in DocBin().from_disk(arguments.corpus).get_docs(nlp.vocab)]
    nlp(texts[0])
    alone, _ = parse(nlp, texts, 1)
    together, memory = parse(nlp, texts, arguments.processes)
    children = ", ".join(f"{each:,.0f}" for each in memory)
    print(
        f"1 process: {alone:.1f} s; {arguments.processes} ({arguments.start}): {together:.1f} s, {alone / together:.2f} "
        f""
        f"times as fast"
    )
    print(f"private memory of the children: {children} MB")


# A child that is started anew imports this file.
if __name__ == "__main__":
    main()
