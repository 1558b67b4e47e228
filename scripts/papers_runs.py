"""Train and measure the models of a table of the papers.

    python scripts/papers_runs.py 000-table-3 corpus/UD_English-EWT/en_ewt-ud metrics/papers

The table's runs, each one command with one output, are those that `papers_tables.yml` names. An
output that is newer than the files it is made of is not made again. The workflow `papers` of the
project calls this for each table.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from papers_tables import TABLES, runs_of

PARSER = "components.hpyp_parser."
#: Context elements, in the order of the paper's Table 3.
TAGS = ["s1.tag", "s2.tag", "s1.right.tag", "s1.left.tag", "s3.tag", "s2.right.tag"]
#: The elements in the contexts of words.
OF_WORDS = ["s1.tag", "s1.right.tag", "s1.left.tag"]


class Run(NamedTuple):
    """A command and its output.

    arguments (list[str]): After `python -m spacy`, or after `python` where the first one is a
        script. `{name}` is the output of another run or a file of the corpus (`FILES`), `{output}`
        that of the run, and `{lang}` the language.
    suffix (str): The end of the output's name; without one it is a folder.
    """

    arguments: list[str]
    suffix: str = ""


def _options(settings: dict[str, Any]) -> list[str]:
    values = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in settings.items()
    }
    return [part for name, value in values.items() for part in (f"--{name}", value)]


def train(
    config: str, settings: dict[str, Any], corpus: tuple[str, str] = ("{train}", "{dev}")
) -> Run:
    """Return a run that trains one of the project's configs."""
    paths = {
        "output": "{output}",
        "paths.train": corpus[0],
        "paths.dev": corpus[1],
        "nlp.lang": "{lang}",
    }
    tokenizer = {"nlp.tokenizer.@tokenizers": "spacy.Tokenizer.v1"}
    return Run(["train", f"configs/{config}.cfg", *_options({**paths, **tokenizer, **settings})])


def generative(settings: dict[str, Any], corpus: tuple[str, str] = ("{train}", "{dev}")) -> Run:
    """Return a run that trains Buys & Blunsom's model. Its scores in training are of no use."""
    last = {"training.eval_frequency": 20, "corpora.dev.limit": 2}
    settings = {
        name if name.startswith("corpora.") else PARSER + name: value
        for name, value in settings.items()
    }
    return train("paper", {**last, **settings}, corpus)


def contexts(elements: list[str], word: list[str]) -> Run:
    """Return a run that trains it with other context lists."""
    lists = {
        "model.transition": [elements],
        "model.tag": [elements],
        "model.word": [["next.tag", *word]],
    }
    return generative(lists)


def easy_first(*pipeline: str, beam: int) -> Run:
    """Return a run that trains easy-first components, of which the last one has a beam."""
    settings = {f"components.{name}.tokens": "gold" for name in pipeline}
    settings |= {"nlp.pipeline": list(pipeline), f"components.{pipeline[-1]}.beam": beam}
    return train("easy_first", settings)


def evaluate(pipeline: str, *options: str, corpus: str = "{dev}") -> Run:
    """Return a run that measures accuracy and speed on gold tokens and sentences."""
    return Run(
        ["hpyp", "evaluate", pipeline, corpus, "--output", "{output}", "--threads", "1", *options],
        ".json",
    )


def perplexity(model: str, *options: str) -> Run:
    """Return a run that measures a language model."""
    return Run(["hpyp", "perplexity", model, "{lm_test}", "-o", "{output}", *options], ".json")


def ngram(*texts: str, vocabulary: str) -> Run:
    """Return a run that trains a 5-gram model with the vocabulary of a pipeline."""
    return Run(
        ["hpyp", "ngram", *texts, "{output}", "--lang", "{lang}", "--vocab-from", vocabulary],
        ".ngram",
    )


def estimators(corpus: str) -> Run:
    """Return a run that trains and measures the head-outward models of all estimators."""
    options = [
        "--output",
        "{output}",
        "--lang",
        "{lang}",
        "--tags-from",
        "{tagger_beam_1}/model-best",
    ]
    return Run(["scripts/head_outward_estimators.py", "{train}", corpus, *options], ".json")


_K1000 = ["--components.hpyp_parser.particles", "1000"]
_TAGGER = ["--tags-from", "{tagger_beam_1}/model-best"]
_LM = ("{lm_train}", "{lm_dev}")
_UNLABELLED = {"model.labelled": False, "model.min_count": 1}
_LATENT = {"latent_after": 10}

RUNS = {
    # Buys & Blunsom's models: Tables 2 and 3, and section 5.2.
    "lexicalised": generative({}),
    "unlexicalised": generative(
        {
            **{"model.transition": [TAGS], "model.tag": [TAGS], "model.word": []},
            **{"predict_tags": False, "corpora.dev.gold_tags": True},
        }
    ),
    **{f"context_{i}": contexts(TAGS[: i + 1], OF_WORDS[:i]) for i in range(1, 6)},
    "context_6": contexts([*TAGS, "s1.word"], [*OF_WORDS, "s1.word"]),
    "derivations": generative({"latent": "derivations", **_LATENT}),
    "one_unknown_word": generative(
        {"model.unknown_words": {"@misc": "spacy-hpyp.OneUnknownWord.v1"}}
    ),
    "unlexicalised_dev": evaluate("{unlexicalised}/model-last", *_K1000, *_TAGGER),
    "gold_tags_dev": evaluate("{lexicalised}/model-last", *_K1000, "--gold-tags"),
    "lexicalised_test": evaluate("{lexicalised}/model-last", *_K1000, corpus="{test}"),
    **{
        f"{name}_dev": evaluate(f"{{{name}}}/model-last", *_K1000)
        for name in (*(f"context_{i}" for i in range(1, 7)), "derivations", "one_unknown_word")
    },
    # Speed and accuracy, Table 4.
    **{
        f"{name}_{search}": evaluate("{lexicalised}/model-last", *options, *tags)
        for name, tags in (("joint", []), ("tagged", _TAGGER))
        for search, options in (
            *((str(k), [f"--{PARSER}particles", str(k)]) for k in (10, 100, 1000, 5000)),
            *(
                (f"beam_{k}", [f"--{PARSER}decoding", "beam", f"--{PARSER}particles", str(k)])
                for k in (10, 100)
            ),
        )
    },
    # Language models, Table 6.
    "lm_supervised": generative(_UNLABELLED, _LM),
    "lm_parses": generative({**_UNLABELLED, "latent": "parses", **_LATENT}, _LM),
    "lm_part": generative({"model.labelled": False}, ("{lm_half}", "{lm_dev}")),
    "lm_learned": Run(["hpyp", "self-train", "{lm_part}/model-last", "{lm_text}", "{output}"]),
    "lm_learned_all": Run(
        ["hpyp", "self-train", "{lm_part}/model-last", "{lm_text}", "{output}", "--learning", "all"]
    ),
    "lm_ngram": ngram("{lm_train}", vocabulary="{lm_supervised}/model-last"),
    "lm_ngram_of_text": ngram("{lm_half}", "{lm_text}", vocabulary="{lm_part}/model-last"),
    "lm_ngram_test": perplexity("{lm_ngram}"),
    "lm_ngram_of_text_test": perplexity("{lm_ngram_of_text}"),
    **{
        f"{name}_{kind}": perplexity(f"{{{name}}}/model-last", *method, "-K", "1000")
        for name in ("lm_supervised", "lm_parses", "lm_part", "lm_learned", "lm_learned_all")
        for kind, method in (("test", []), ("sum", ["--method", "particles"]))
    },
    # Drawn sentences, Table 7.
    "ngram": ngram("{train}", vocabulary="{lexicalised}/model-last"),
    "samples_of_parser": Run(
        ["hpyp", "generate", "{lexicalised}/model-last", "--output", "{output}"], ".jsonl"
    ),
    "samples_of_ngram": Run(["hpyp", "generate", "{ngram}", "--output", "{output}"], ".jsonl"),
    # Easy-first tagging and parsing (Ma et al. 2013). `--tags-from` takes the first tagger.
    **{f"tagger_beam_{beam}": easy_first("easy_first_tagger", beam=beam) for beam in (1, 3, 5)},
    **{
        f"parser_beam_{beam}": easy_first("easy_first_tagger", "easy_first_parser", beam=beam)
        for beam in (1, 2, 4, 8)
    },
    **{
        f"{name}_dev": evaluate(f"{{{name}}}/model-best")
        for name in (
            *(f"tagger_beam_{beam}" for beam in (1, 3, 5)),
            *(f"parser_beam_{beam}" for beam in (1, 2, 4, 8)),
        )
    },
    "easy_first_test": evaluate("{parser_beam_8}/model-best", corpus="{test}"),
    # Head-outward models (Wallach et al. 2008).
    "estimators": estimators("{dev}"),
    "estimators_test": estimators("{test}"),
    "latent_states": Run(
        [
            "scripts/latent_states.py",
            "{documents}",
            "{documents_dev}",
            "--output",
            "{output}",
            "--lang",
            "{lang}",
        ],
        ".json",
    ),
    # Reranking (Sangati et al. 2009).
    "reranker": train(
        "generative_reranker",
        {
            "paths.parser": "{parser_beam_8}/model-best",
            "training.max_epochs": 3,
            "training.eval_frequency": 300,
        },
    ),
    "reranked": Run(
        [
            "scripts/rerank_table.py",
            "{reranker}/model-last",
            "{dev}",
            "--output",
            "{output}",
            "--gold-tags",
        ],
        ".json",
    ),
}

#: Files of the corpus, by the endings of their names.
FILES = {
    "train": "-train.spacy",
    "dev": "-dev.spacy",
    "test": "-test.spacy",
    "documents": "-train.conllu",
    "documents_dev": "-dev.conllu",
    "lm_train": "-lm-train.conllu",
    "lm_dev": "-lm-dev.conllu",
    "lm_test": "-lm-test.conllu",
    # One half of the training part, and the other half as text.
    "lm_half": "-lm-half.conllu",
    "lm_text": "-lm-text.conllu",
}
_NAME = re.compile(r"\{(\w+)\}")


class Runner:
    """Runs commands whose outputs are missing or old, each after those whose outputs it reads.

    corpus (str), lang (str): The beginning of the names of the corpus's files, and its language.
    folder (Path): The folder of the outputs. It is made.
    """

    def __init__(self, corpus: str, folder: Path, lang: str) -> None:
        self._folder = folder
        self._values = {
            "lang": lang,
            **{name: f"{corpus}{ending}" for name, ending in FILES.items()},
        }
        folder.mkdir(parents=True, exist_ok=True)

    def make(self, name: str) -> Path:
        """Return a file of the corpus, or a run's output, made if missing or older than its inputs.

        RAISES (FileNotFoundError, CalledProcessError): If an input is missing, or a run fails.
        """
        if name in FILES:
            return Path(self._values[name])
        run = RUNS[name]
        output = self._folder / f"{name}{run.suffix}"
        inputs = {
            other: self.make(other)
            for argument in run.arguments
            for other in _NAME.findall(argument)
            if other not in ("output", "lang")
        }
        newest = max(path.stat().st_mtime for path in inputs.values())
        if not output.exists() or output.stat().st_mtime < newest:
            self._run(
                run,
                output,
                {**self._values, **{other: str(path) for other, path in inputs.items()}},
            )
        return output

    def _run(self, run: Run, output: Path, values: dict[str, str]) -> None:
        # Write to another name first, so that an interrupted run leaves no output.
        unfinished = output.with_name(f"unfinished-{output.name}")
        shutil.rmtree(unfinished, ignore_errors=True)
        values = {**values, "output": str(unfinished)}
        arguments = [
            _NAME.sub(lambda match: values[match[1]], argument) for argument in run.arguments
        ]
        program = [] if arguments[0].startswith("scripts/") else ["-m", "spacy"]
        print("python", *program, *arguments, flush=True)
        subprocess.run([sys.executable, *program, *arguments], check=True)
        shutil.rmtree(output, ignore_errors=True)
        unfinished.replace(output)
        os.utime(output)


def read_output(path: Path) -> Any:
    """The figures of an output."""
    text = path.read_text(encoding="utf8")
    return (
        [json.loads(line) for line in text.splitlines()]
        if path.suffix == ".jsonl"
        else json.loads(text)
    )


def main() -> None:
    """Make the runs of a table, and write the outputs that it shows to one file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("corpus", help="what the names of the corpus's files begin with")
    parser.add_argument("folder", type=Path, help="where outputs are written")
    parser.add_argument("--lang", default="en")
    arguments = parser.parse_args()
    runner = Runner(arguments.corpus, arguments.folder, arguments.lang)
    outputs = {name: read_output(runner.make(name)) for name in runs_of(TABLES[arguments.table])}
    path = arguments.folder / f"{arguments.table}.json"
    path.write_text(json.dumps(outputs, indent=1), encoding="utf8")


if __name__ == "__main__":
    main()
