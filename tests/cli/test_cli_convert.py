"""Commands that convert treebanks: their output, spaCy's reading of it, and errors."""

from pathlib import Path

import pytest
import spacy
from command_line import run, said
from spacy.training import Corpus

from spacy_hpyp.annotation.encoding import raw_sentences
from spacy_hpyp.annotation.sentences import problem_of
from spacy_hpyp.treebanks.conllu import read_blocks

# An invented tree, filled in for each section.
TREE = "( (S (NP-SBJ (DT The) (NN {})) (VP (VBZ is) (NP (QP ($ $) (CD 5)) (-NONE- *U*))) (. .)) )\n"


@pytest.fixture
def wsj(tmp_path):
    """Make a directory of sections with two files each."""

    def write(*sections):
        for section in sections:
            folder = tmp_path / "wsj" / f"{section:02}"
            folder.mkdir(parents=True)
            for file in range(2):
                (folder / f"wsj_{section:02}{file:02}.mrg").write_text(
                    TREE.format(f"boat{section}") + TREE.format("Net")
                )
        return tmp_path / "wsj"

    return write


def forms(path):
    return [" ".join(word.form for word in sentence.words) for sentence in read_blocks(path)]


def spacy_docs(path, folder, n_sents=1):
    """Convert a CoNLL-U file with spaCy, and return the documents."""
    run("convert", path, folder, "--converter", "conllu", "--n-sents", n_sents)
    return [
        example.reference for example in Corpus(folder / f"{path.stem}.spacy")(spacy.blank("en"))
    ]


def test_sections_are_divided_into_the_standard_parts(wsj, tmp_path):
    out = tmp_path / "out"
    done = run("hpyp", "convert", wsj(*range(25)), out)
    parts = {
        "wsj-train": range(2, 22),
        "wsj-dev": [22],
        "wsj-test": [23],
        "wsj-lm-train": range(21),
        "wsj-lm-dev": [21, 22],
        "wsj-lm-test": [23, 24],
    }
    assert sorted(path.name for path in out.iterdir()) == sorted(f"{name}.conllu" for name in parts)
    for name, sections in parts.items():
        ids = [sentence.comments[-1] for sentence in read_blocks(out / f"{name}.conllu")]
        ends = ["00-1", "00-2", "01-1", "01-2"]
        assert ids == [f"sent_id = wsj_{section:02}{end}" for section in sections for end in ends]
    assert "lacks" not in done.output
    assert forms(out / "wsj-dev.conllu")[:2] == ["The boat22 is $ 5 .", "The Net is $ 5 ."]


def test_missing_sections_are_reported_and_other_files_keep_their_names(wsj, tmp_path):
    (tmp_path / "tales.ptb").write_text(TREE.format("boat"))
    done = run("hpyp", "convert", wsj(2, 22, 24), tmp_path / "tales.ptb", tmp_path / "out")
    assert "wsj-train lacks sections 03, 04," in " ".join(done.output.split())
    names = ["tales", "wsj-dev", "wsj-lm-dev", "wsj-lm-test", "wsj-lm-train", "wsj-train"]
    assert sorted(path.stem for path in (tmp_path / "out").iterdir()) == names


def test_spacy_reads_the_trees(tmp_path):
    empty = "( (S (NP-SBJ (-NONE- *)) (VP (-NONE- *))) )"
    (tmp_path / "tales.mrg").write_text(TREE.format("boat") + empty)
    run("hpyp", "convert", tmp_path / "tales.mrg", tmp_path)
    (doc,) = spacy_docs(tmp_path / "tales.conllu", tmp_path)
    assert " ".join(token.text for token in doc) == "The boat is $ 5 ."
    assert " ".join(token.tag_ for token in doc) == "DT NN VBZ $ CD ."
    assert " ".join(token.dep_ for token in doc) == "NMOD SUB ROOT OBJ AMOD P"
    assert [token.head.i for token in doc] == [1, 2, 2, 2, 3, 2]


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"(S (NN a))\n(S (NN b)", "a bracket is never closed"), (b"", "has no trees in brackets")],
)
def test_unreadable_brackets_are_reported_and_nothing_is_written(tmp_path, content, message):
    (tmp_path / "bad.mrg").write_bytes(content)
    (tmp_path / "good.mrg").write_text(TREE)
    files = tmp_path / "good.mrg", tmp_path / "bad.mrg"
    assert message in said("hpyp", "convert", *files, tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


SAMPLE = Path(__file__).parents[2] / "assets" / "sample" / "en_sample-ud-dev.conllu"


def problems(doc):
    return [problem_of(sentence.rows) for sentence in raw_sentences(doc)]


def conllu(*heads):
    """A sentence with these heads."""
    rows = (
        f"{i}\tw\t_\tNOUN\tNN\t_\t{head}\t{ {0: 'root', '_': '_'}.get(head, 'dep') }\t_\t_\n"
        for i, head in enumerate(heads, 1)
    )
    return "".join(rows) + "\n"


@pytest.mark.parametrize("options", [(), ("--merge-subtokens",), ("--n-sents", 3)])
def test_a_treebank_is_converted_as_by_spacy(options, tmp_path):
    options = ("--n-sents", 10, *options)
    run("convert", SAMPLE, tmp_path, "--converter", "conllu", *options)
    run("hpyp", "convert", SAMPLE, tmp_path / "ours", *options)
    name = f"{SAMPLE.stem}.spacy"
    assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_incomplete_trees_are_counted_in_conversion_and_training(toy, write, tmp_path):
    trees = [(2, 0), ("_", "_"), (0, 0, 1), (2, 2, 0), (0, "_"), (0, 1)]
    path = write("\ufeff" + "".join(conllu(*heads) for heads in trees), "x-train.conllu")
    shown = said("hpyp", "convert", path, tmp_path, exit_code=0)
    assert "2 of 6 sentences have no complete tree: a head is missing (line 4, 15)" in shown
    assert "1 of 6 sentences have no complete tree: there are 2 roots (line 7)" in shown
    assert "1 of 6 sentences have no complete tree: the arcs form a cycle (line 11)" in shown
    nlp = toy.nlp(tokens="gold")
    (example,) = Corpus(tmp_path / "x-train.spacy")(nlp)
    assert problems(example.reference) == [None, *["without a complete tree"] * 4, None]
    with pytest.warns(UserWarning, match="4 without a complete tree"):
        nlp.initialize(lambda: [example])


def test_headless_words_that_spacy_makes_roots_are_not_trees(write, tmp_path):
    bank = write(conllu(2, 0) + conllu("_", "_") + conllu(0).replace("root", "_"), "a.conllu")
    (doc,) = spacy_docs(bank, tmp_path, n_sents=10)
    assert problems(doc) == [None, *["without a complete tree"] * 3]
    # A treebank without labels still has trees.
    bank = write(conllu(2, 0).replace("root", "_").replace("dep", "_"), "b.conllu")
    (doc,) = spacy_docs(bank, tmp_path, n_sents=10)
    assert problems(doc) == [None]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (conllu(99, 0), "line 3: the head '99' is none of the 2 words"),
        (conllu(0).replace("\t", "   "), "line 3: a word has 10 columns with tabs between them"),
        ("# comment\n\n" + conllu(0), "line 3: the sentence that begins here has no words"),
        (
            "1-2\tw" + "\t_" * 8 + "\n" + conllu(2, 0).replace("\tNN\t_", "\tNN\tSing", 1),
            "line 3: spaCy",
        ),
    ],
)
def test_conversion_errors_name_the_line(text, problem, write, tmp_path):
    path = write(conllu(0) + text, "x.conllu")
    assert problem in said("hpyp", "convert", path, tmp_path / "out", "--merge-subtokens")
    assert not list((tmp_path / "out").iterdir())
