"""The commands that convert treebanks: the files that they write, spaCy's reading of them, and their errors."""

from pathlib import Path

import pytest
import spacy
from command_line import run
from spacy.training import Corpus

from spacy_hpyp.annotation.documents import problem_of, raw_sentences
from spacy_hpyp.treebanks.conllu import read_conllu

# Made up, one of each for a section.
TREE = "( (S (NP-SBJ (DT The) (NN {noun})) (VP (VBZ costs) (NP (QP ($ $) (CD 5)) (-NONE- *U*))) (. .)) )\n"


@pytest.fixture
def wsj(tmp_path):
    """A directory with some sections of two files each."""

    def write(*sections):
        for section in sections:
            folder = tmp_path / "wsj" / f"{section:02}"
            folder.mkdir(parents=True)
            for file in range(2):
                (folder / f"wsj_{section:02}{file:02}.mrg").write_text(
                    TREE.format(noun=f"boat{section}") + TREE.format(noun="Net")
                )
        return tmp_path / "wsj"

    return write


def forms(path):
    return [" ".join(word.form for word in sentence.words) for sentence in read_conllu(path)]


def spacy_docs(path, folder, n_sents=1):
    """The documents that spaCy's converter makes of a CoNLL-U file."""
    run("convert", path, folder, "--converter", "conllu", "--n-sents", n_sents)
    return [example.reference for example in Corpus(folder / f"{path.stem}.spacy")(spacy.blank("en"))]


def test_sections_are_divided_into_the_standard_parts(wsj, tmp_path):
    out = tmp_path / "out"
    done = run("hpyp", "papers", "convert-ptb", wsj(*range(25)), out)
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
        ids = [sentence.comments[-1] for sentence in read_conllu(out / f"{name}.conllu")]
        assert ids == [
            f"sent_id = wsj_{s:02}{file:02}-{i}" for s in sections for file in (0, 1) for i in (1, 2)
        ]
    assert "lacks" not in done.output
    assert forms(out / "wsj-dev.conllu")[:2] == ["The boat22 costs $ 5 .", "The Net costs $ 5 ."]


def test_sections_that_are_missing_are_reported(wsj, tmp_path):
    done = run("hpyp", "papers", "convert-ptb", wsj(2, 22, 24), tmp_path / "out")
    text = " ".join(done.output.split())
    assert "wsj-train lacks sections: 03, 04," in text
    assert "wsj-test is not written, there is nothing of its sections: 23" in text
    assert sorted(path.stem for path in (tmp_path / "out").iterdir()) == [
        "wsj-dev",
        "wsj-lm-dev",
        "wsj-lm-test",
        "wsj-lm-train",
        "wsj-train",
    ]


def test_files_may_be_a_section_each_and_others_are_converted_as_they_are(tmp_path):
    for name in ("wsj_22.mrg", "wsj_23.mrg", "tales.ptb"):
        (tmp_path / name).write_text(TREE.format(noun="boat"))
    files = [tmp_path / "wsj_22.mrg", tmp_path / "wsj_23.mrg", tmp_path / "tales.ptb"]
    run("hpyp", "papers", "convert-ptb", *files, tmp_path / "out")
    written = sorted(path.stem for path in (tmp_path / "out").iterdir())
    assert written == ["tales", "wsj-dev", "wsj-lm-dev", "wsj-lm-test", "wsj-test"]
    run("hpyp", "papers", "convert-ptb", *files, tmp_path / "whole", "--whole")
    assert sorted(path.stem for path in (tmp_path / "whole").iterdir()) == ["tales", "wsj_22", "wsj_23"]


def test_a_directory_can_be_converted_as_a_whole(wsj, tmp_path):
    run("hpyp", "papers", "convert-ptb", wsj(0, 1), tmp_path / "out", "--whole")
    (path,) = (tmp_path / "out").iterdir()
    assert path.name == "wsj.conllu"
    documents = [c for sentence in read_conllu(path) for c in sentence.comments if c.startswith("newdoc")]
    assert documents == [f"newdoc id = wsj_{number}" for number in ("0000", "0001", "0100", "0101")]


def test_spacy_reads_the_trees(tmp_path):
    (tmp_path / "tales.mrg").write_text(
        TREE.format(noun="boat") + "( (S (NP-SBJ (-NONE- *)) (VP (-NONE- *))) )"
    )
    done = run("hpyp", "papers", "convert-ptb", tmp_path / "tales.mrg", tmp_path)
    assert "Dropped 1 trees" in done.output
    (doc,) = spacy_docs(tmp_path / "tales.conllu", tmp_path)
    assert [(token.text, token.tag_, token.dep_, token.head.text) for token in doc] == [
        ("The", "DT", "NMOD", "boat"),
        ("boat", "NN", "SUB", "costs"),
        ("costs", "VBZ", "ROOT", "costs"),
        ("$", "$", "OBJ", "costs"),
        ("5", "CD", "AMOD", "$"),
        (".", ".", "P", "costs"),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"(S (NN a))\n(S (NN b)", "line 2: a bracket is opened here that is never closed"),
        (b"(S (NN a))\n(S (NN \xff))", "line 2: this is not text in UTF-8"),
        (b"", "has no trees in brackets"),
        (b"(S (-NONE- *))", "has no words"),
    ],
)
def test_brackets_that_cannot_be_read_are_reported_and_nothing_is_written(tmp_path, content, message):
    (tmp_path / "bad.mrg").write_bytes(content)
    (tmp_path / "good.mrg").write_text(TREE)
    done = run(
        "hpyp",
        "papers",
        "convert-ptb",
        tmp_path / "good.mrg",
        tmp_path / "bad.mrg",
        tmp_path / "out",
        exit_code=1,
    )
    text = " ".join(done.stderr.split())
    assert message in text
    assert "bad.mrg" in text
    assert not list((tmp_path / "out").iterdir())


def test_inputs_that_cannot_be_divided_or_told_apart_are_reported(wsj, tmp_path):
    folder = wsj(2)
    (folder / "other.mrg").write_text(TREE)
    done = run("hpyp", "papers", "convert-ptb", folder, tmp_path / "out", exit_code=1)
    assert "other.mrg" in "".join(done.stderr.split())
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tales.mrg").write_text(TREE)
    twins = [tmp_path / name / "tales.mrg" for name in ("a", "b")]
    done = run("hpyp", "papers", "convert-ptb", *twins, tmp_path / "out", exit_code=1)
    assert "Two inputs would be written" in done.stderr
    (folder / "other.mrg").unlink()
    done = run("hpyp", "papers", "convert-ptb", folder, folder / "02", tmp_path / "out", exit_code=1)
    assert "have the same name and section" in " ".join(done.stderr.split())


SAMPLE = Path(__file__).parents[2] / "assets" / "sample" / "en_sample-ud-dev.conllu"


def conllu(*heads):
    """A sentence with these heads."""
    rows = (
        f"{i}\tw\t_\tNOUN\tNN\t_\t{head}\t{'root' if head == 0 else '_' if head == '_' else 'dep'}\t_\t_\n"
        for i, head in enumerate(heads, 1)
    )
    return "".join(rows) + "\n"


@pytest.mark.parametrize("options", [(), ("--merge-subtokens",), ("--n-sents", 3)])
def test_a_treebank_is_converted_as_spacy_does_it(options, tmp_path):
    options = ("--n-sents", 10, *options)
    run("convert", SAMPLE, tmp_path, "--converter", "conllu", *options)
    run("hpyp", "convert", SAMPLE, tmp_path / "ours", "--lang", "en", *options)
    name = f"{SAMPLE.stem}.spacy"
    assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_sentences_without_a_complete_tree_are_counted_when_they_are_converted_and_when_they_are_learned(
    toy, write, tmp_path
):
    bad = [("_", "_"), (0, 0, 1), (2, 2, 0), (0, "_")]
    path = write("\ufeff" + "".join(conllu(*heads) for heads in [(2, 0), *bad, (0, 1)]), "x-train.conllu")
    done = run("hpyp", "convert", path, tmp_path)
    shown = " ".join(done.stderr.split())
    assert "4 of 6 sentences have no complete tree" in shown
    assert "2 where a head is missing (line 4, 15)" in shown
    assert "1 where there are 2 roots (line 7)" in shown
    assert "1 where a word is above itself (line 11)" in shown
    nlp = toy.nlp(tokens="gold")
    (example,) = Corpus(tmp_path / "x-train.spacy")(nlp)
    problems = [problem_of(sentence.rows) for sentence in raw_sentences(example.reference)]
    assert problems == [None, *["without heads"] * 4, None]
    with pytest.warns(UserWarning, match="4 without heads"):
        nlp.initialize(lambda: [example])


def test_words_without_heads_that_spacy_has_made_roots_are_no_trees(write, tmp_path):
    (tmp_path / "a.conllu").write_text(conllu(2, 0) + conllu("_", "_") + conllu(0).replace("root", "_"))
    (doc,) = spacy_docs(tmp_path / "a.conllu", tmp_path, n_sents=10)
    assert [problem_of(sentence.rows) for sentence in raw_sentences(doc)] == [None, *["without heads"] * 3]
    # A treebank without labels has trees all the same.
    (tmp_path / "b.conllu").write_text(conllu(2, 0).replace("root", "_").replace("dep", "_"))
    (doc,) = spacy_docs(tmp_path / "b.conllu", tmp_path, n_sents=10)
    assert [problem_of(sentence.rows) for sentence in raw_sentences(doc)] == [None]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (conllu(0) + conllu(99, 0), "line 3: the head 99 is none of the 2 words"),
        (conllu(0) + conllu(0).replace("\t", "   "), "line 3: a word has 10 columns with a tab between them"),
        (
            conllu(0) + "# only a comment\n\n" + conllu(0),
            "line 3: the sentence that begins here has no words",
        ),
        (
            conllu(2, 0)
            .replace("\tNN\t_", "\tNN\tSing", 1)
            .replace("1\tw", "1-2\tw\t" + "_\t" * 7 + "_\n1\tw"),
            "line 1: spaCy",
        ),
    ],
)
def test_what_cannot_be_converted_is_said_with_its_line(text, problem, write, tmp_path):
    done = run("hpyp", "convert", write(text, "x.conllu"), tmp_path / "out", "--merge-subtokens", exit_code=1)
    assert problem in " ".join(done.stderr.split())
    assert not list((tmp_path / "out").iterdir())


def test_a_language_that_spacy_does_not_have_and_a_test_part_that_is_missing_are_said(write, tmp_path):
    path = write(conllu(0), "x-dev.conllu")
    done = run("hpyp", "convert", path, tmp_path, "--lang", "mya2", exit_code=1)
    assert "no language 'mya2'" in done.stderr
    assert "'xx'" in done.stderr
    done = run("hpyp", "convert", path, tmp_path / "x-test.conllu", tmp_path, exit_code=2)
    assert "does not exist" in done.stderr
    run("hpyp", "convert", path, path, tmp_path, "--lang", "xx")
