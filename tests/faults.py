"""Attack the components: random documents, damaged files, and processes that are killed.

    python tests/faults.py [documents] [files] [kills] [--seed S]

Trains every component on a few sentences of assets/sample, saves the pipeline, and then

* parses random documents: each sentence must be a tree, boundaries that were set must stay,
  probabilities must be from 0 to 1, and a document must be parsed the same alone and in a batch;
* cuts saved files short and flips their bytes: a model must be refused with an error that names its
  file, and the component must stay as it was;
* kills processes that save components, or learn and save: all files must load, and learning must go
  on.

Each part runs in its own process, so that a crash of compiled code is detected. Prints the problems
and the counts. The exit code is 1 if anything went wrong. The same seed gives the same
documents and files.
"""

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hpyp.annotation.syntactic_words import to_word_doc
from spacy_hpyp.pipeline.base import TrainableComponent
from spacy_hpyp.pipeline.corpus import read_treebank

SAMPLE = Path(__file__).parents[1] / "assets" / "sample" / "en_sample-ud-train.conllu"
#: The parts, and their default numbers of documents, files and processes.
PARTS = {"documents": 2_000, "files": 500, "kills": 20}
_POOL = {
    "transition": [["s1.tag", "s2.tag"], ["s1.word", "s2.word"]],
    "tag": [["s1.tag", "s2.tag"], ["w1.tag", "w2.tag"]],
    "word": [["next.tag", "s1.word"], ["next.tag", "w1.word"]],
}
PIPELINE = [
    ("senter", "easy_first_senter", {}),
    ("tagger", "easy_first_tagger", {}),
    ("morphologizer", "easy_first_morphologizer", {}),
    ("lemmatizer", "easy_first_lemmatizer", {}),
    ("easy", "easy_first_parser", {"folds": 2}),
    ("keep_easy", "keep_parse", {}),
    ("generative", "head_outward_parser", {}),
    ("reranker", "parse_reranker", {"k": 5}),
    ("states", "head_outward_states", {"model": {"states": 3, "min_count": 1}}),
    ("keep_reranked", "keep_parse", {"name_of_parse": "reranker"}),
    ("hpyp", "hpyp_parser", {"particles": 5, "model": _POOL}),
    ("combiner", "parse_combiner", {}),
]
_CHARACTERS = "aZ9 .,-'\"\n\t\u00a0éßжத中\u0301\u200d\u202e\ufeff\0\N{GRINNING FACE}"
_SENTENCE = "The dog sees a cat near Kim ."


# The pipeline


def train(folder: Path) -> None:
    """Train a pipeline of all components and save it."""
    nlp = spacy.blank("en")
    references = gold_documents(nlp, 25)
    for name, factory, config in PIPELINE:
        component = nlp.add_pipe(factory, name=name, config=config)
        if isinstance(component, TrainableComponent):
            examples = examples_before(nlp, name, references)
            component.initialize(lambda examples=examples: examples, nlp=nlp)
            learn(nlp, name, examples)
    nlp.to_disk(folder)


def gold_documents(nlp: Language, count: int) -> list[Doc]:
    """Read the first documents of the sample, with words as tokens."""
    return list(map(to_word_doc, islice(read_treebank(SAMPLE, nlp.vocab, n_sents=4), count)))


def examples_before(nlp: Language, name: str, references: list[Doc]) -> list[Example]:
    """Pair the references with documents annotated by the components before this one."""
    docs = [Doc(nlp.vocab, words=[token.text for token in doc]) for doc in references]
    for other, component in nlp.pipeline:
        if other == name:
            break
        docs = list(component.pipe(docs))
    return [Example(doc, reference) for doc, reference in zip(docs, references)]


def learn(nlp: Language, name: str, examples: list[Example]) -> None:
    """Go over the training documents once, in two batches."""
    component = nlp.get_pipe(name)
    for batch in (examples[: len(examples) // 2], examples[len(examples) // 2 :]):
        component.update(batch, sgd=nlp.create_optimizer())


def trainable(nlp: Language) -> list[str]:
    """Return the names of the trainable components."""
    return [name for name, component in nlp.pipeline if isinstance(component, TrainableComponent)]


def annotation(doc: Doc) -> list[tuple]:
    """Return the annotation of the components."""
    return [
        (t.tag_, t.dep_, t.head.i, t.is_sent_start, t.lemma_, str(t.morph), t._.head_prob)
        for t in doc
    ]


# Random documents


def random_document(nlp: Language, words: list[str], rng: random.Random) -> Doc:
    """Return a random text, or random words with random boundaries."""
    kind = rng.random()
    if kind < 0.4:
        return nlp.make_doc("".join(rng.choices(_CHARACTERS, k=rng.randrange(60))))
    length = rng.choice([0, 1, 2, 5, 20, 60, 1_000 if kind > 0.995 else 30])
    doc = Doc(nlp.vocab, words=rng.choices([*words, " ", "\n\n", "zxq"], k=length))
    for token in doc[1:] if rng.random() < 0.5 else ():
        token.is_sent_start = rng.choice([True, False, None, None, None])
    return doc


def problem_of(doc: Doc, given: list[bool | None]) -> str | None:
    """Return the problem of a parsed document, if any."""
    for i, start in enumerate(given):
        if i > 0 and start is not None and bool(doc[i].is_sent_start) != start:
            return f"the boundary before token {i} has changed"
    for sentence in doc.sents if len(doc) else ():
        is_whole = len(list(sentence.root.subtree)) == len(sentence)
        if not is_whole or sum(t.head == t for t in sentence) != 1:
            return f"'{sentence.text}' is no tree"
    for token in doc:
        values = token._.head_prob, token._.tag_prob
        is_possible = all(p is None or 0 <= p <= 1 for p in values)
        if not (token.tag_ and token.dep_ and is_possible):
            return f"token {token.i} has no tag or label, or the impossible probabilities {values}"
    return None


def attack_with_documents(folder: Path, count: int, seed: int) -> Counter[str]:
    """Parse random documents, ten in a batch."""
    nlp, rng, found = spacy.load(folder), random.Random(seed), Counter[str]()
    words = [token.text for doc in read_treebank(SAMPLE, nlp.vocab) for token in doc]
    for start in range(0, count, 10):
        docs = [random_document(nlp, words, rng) for _ in range(min(10, count - start))]
        given = [[token.is_sent_start for token in doc] for doc in docs]
        alone = nlp(docs[0].copy())
        parsed = list(nlp.pipe(docs, batch_size=rng.randint(1, 10)))
        problems = [problem_of(doc, starts) for doc, starts in zip(parsed, given, strict=True)]
        if annotation(parsed[0]) != annotation(alone):
            problems[0] = "the parse in a batch is another one"
        for doc, problem in zip(parsed, problems):
            count_case(found, problem and f"{problem}: {doc.text[:200]!r}")
    return found


# Damaged files


def attack_files(folder: Path, count: int, seed: int) -> Counter[str]:
    """Damage saved files, one at a time, and load them."""
    nlp, rng, found = spacy.load(folder), random.Random(seed), Counter[str]()
    expected = annotation(nlp(_SENTENCE))
    files = [
        file for name in trainable(nlp) for file in (folder / name).iterdir() if file.is_file()
    ]
    for _ in range(count):
        file = rng.choice(files)
        data = file.read_bytes()
        place, damaged = rng.randrange(len(data)), bytearray(data)
        damaged[place] ^= 1 << rng.randrange(8)
        file.write_bytes(data[:place] if rng.random() < 0.5 else damaged)
        component = nlp.get_pipe(file.parent.name)
        problem = None
        try:
            component.from_disk(file.parent, exclude=["vocab"])
            if file.name == "model":
                problem = "was loaded although it is damaged"
        except ValueError as error:
            if str(file) not in str(error):
                problem = f"is not named by the error: {error}"
        finally:
            file.write_bytes(data)
        if problem is None and file.name == "model" and annotation(nlp(_SENTENCE)) != expected:
            problem = "has changed the component"
        component.from_disk(file.parent, exclude=["vocab"])
        count_case(found, problem and f"{file.parent.name}/{file.name} {problem}")
    return found


# Killed processes


def work_until_killed(folder: Path, *, learning: bool) -> None:
    """Save components repeatedly, optionally learning before each save."""
    nlp = spacy.load(folder)
    names = trainable(nlp)
    references = gold_documents(nlp, 10)
    examples = {name: examples_before(nlp, name, references) for name in names} if learning else {}
    print("ready", flush=True)
    while True:
        for name in names:
            if learning:
                learn(nlp, name, examples[name])
            nlp.get_pipe(name).to_disk(folder / name, exclude=["vocab"])


def attack_by_kills(folder: Path, count: int, seed: int) -> Counter[str]:
    """Kill processes that save or learn, and check that the pipeline loads, parses and learns."""
    rng, found = random.Random(seed), Counter[str]()
    for i in range(count):
        mode = ("saving", "learning")[i % 2]
        command = [sys.executable, __file__, mode, "--folder", str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            is_ready = process.stdout.readline() == "ready\n"
            time.sleep(rng.random() * 3)
            process.kill()
        is_killed = is_ready and process.returncode == -signal.SIGKILL
        problem = None if is_killed else "the process has failed"
        try:
            nlp = spacy.load(folder)
            problem = problem or problem_of(nlp(_SENTENCE), [])
            name = rng.choice(trainable(nlp))
            learn(nlp, name, examples_before(nlp, name, gold_documents(nlp, 10)))
        except (ValueError, OSError) as error:
            problem = f"what was saved does not load or learn: {error}"
        count_case(found, problem and f"{mode}: {problem}")
    return found


# The script

ATTACKS = {"documents": attack_with_documents, "files": attack_files, "kills": attack_by_kills}


def count_case(found: Counter[str], problem: str | None) -> None:
    """Count a case, and print its problem, if any."""
    found["cases"] += 1
    if problem:
        found["problems"] += 1
        print(problem, file=sys.stderr, flush=True)


def main() -> int:
    """Run the parts and return the exit code."""
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("parts", nargs="*", metavar="part")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder:
        (part,) = options.parts
        if part not in ATTACKS:
            work_until_killed(options.folder, learning=part == "learning")
        found = ATTACKS[part](options.folder, PARTS[part], options.seed)
        print(f"{part}: {found['cases']} cases, {found['problems']} problems", flush=True)
        return int(found["problems"] > 0)
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        train(Path(temporary) / "trained")
        for part in options.parts or PARTS:
            folder = shutil.copytree(Path(temporary) / "trained", Path(temporary) / part)
            command = [sys.executable, __file__, part, "--folder", folder]
            command += ["--seed", str(options.seed)]
            code = subprocess.run(command, check=False).returncode
            if code not in (0, 1):
                print(f"{part}: the process has crashed with the code {code}", file=sys.stderr)
            failed = failed or code != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
