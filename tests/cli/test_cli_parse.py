"""`hpyp parse`: the output is valid CoNLL-U and keeps the input."""

import re

import numpy as np
import pytest
import spacy
from command_line import run, said
from spacy.tokens import Doc
from spacy.training.converters import conllu_to_docs

from spacy_hpyp.annotation.syntactic_words import Analysis, to_word_doc, write_back, write_words
from spacy_hpyp.cli.conllu_format import UPOS, to_doc, write_block, write_doc
from spacy_hpyp.pipeline.corpus import read_treebank
from spacy_hpyp.treebanks.conllu import blocks_of

TEXT = "The dog sees a cat near a bird. Ada sleeps.\nKim waits.\n\n  \nthe parser\nlikes a horse.\n"
TREEBANK = """\
# newdoc id = d1
# sent_id = mine-1
# text = Ada sees the dog.
# note
1	Ada	Ada	PROPN	NNP	Number=Sing	5	nsubj	_	Gloss=x=y
2-3	sees	_	_	_	_	_	_	_	Range=1
2	see	see	VERB	VBZ	_	7	wrong||label	_	_
3	s	s	PART	IN	_	1	_	_	HeadProb=0.1
3.1	empty	_	_	_	_	_	_	3:dep	_
4	the	the	DET	DT	Definite=Def|PronType=Art	9	det	9:det	_
5-6	dog.	_	_	_	_	_	_	_	SpaceAfter=No
5	dog	dog	NOUN	NN	_	_	_	_	_
6	.	.	PUNCT	.	_	_	_	_	_

1	stop	stop	VERB	VBZ	_	0	root	_	_
"""


def sentences_of(text):
    """The sentences of CoNLL-U: comments, and rows of ten columns. Asserts that they are valid."""
    assert text.endswith("\n\n")
    found = []
    for block in text[:-2].split("\n\n"):
        lines = block.split("\n")
        comments = [line for line in lines if line.startswith("#")]
        rows = [line.split("\t") for line in lines[len(comments) :]]
        assert rows
        assert all(len(row) == 10 and all(row) for row in rows)
        assert all(column == column.strip() for row in rows for column in row)
        words = [row for row in rows if row[0].isdigit()]
        assert [int(row[0]) for row in words] == list(range(1, len(words) + 1))
        heads = [int(row[6]) for row in words]
        assert heads.count(0) == 1
        for i, (row, head) in enumerate(zip(words, heads), 1):
            assert (row[7] == "root") == (head == 0)
            assert re.fullmatch(r"[a-z]+(:[a-z]+)?", row[7])
            assert row[3] in UPOS
            features = [] if row[5] == "_" else row[5].split("|")
            assert features == sorted(features, key=str.lower)
            # A form may contain spaces, as in Vietnamese.
            assert row[1] == " ".join(row[1].split())
            seen = {i}
            while head:
                assert head not in seen
                assert head <= len(words)
                seen.add(head)
                head = heads[head - 1]
        values = dict(line[1:].strip().partition(" = ")[::2] for line in comments)
        made, until = "", 0
        for row in rows:
            if "-" in row[0]:
                until = int(row[0].split("-")[1])
            elif int(row[0]) <= until:
                continue
            made += row[1] + " " * ("SpaceAfter=No" not in row[9].split("|"))
        assert values["text"] == made.strip()
        assert values["sent_id"]
        found.append((values, rows))
    assert len({values["sent_id"] for values, _ in found}) == len(found)
    return found


def parse(*arguments):
    return run("hpyp", "parse", *arguments)


def written(doc):
    """A document of one sentence in CoNLL-U."""
    return "".join(text for _, text in write_doc(doc, "s", 0, whole=True))


def forms(rows):
    return [row[1] for row in rows if row[0].isdigit()]


def test_parsed_text_has_trees_probabilities_and_spaces(saved, write, tmp_path):
    path = tmp_path / "new" / "out.conllu"
    assert "Saved trees" in parse(saved, write(TEXT), "--output", path).output
    found = sentences_of(path.read_text(encoding="utf8"))
    texts = TEXT[: TEXT.index("\n\n") + 1], TEXT[TEXT.index("the parser") :]
    spans = [span for doc in map(spacy.load(saved), texts) for span in doc.sents]
    for number, ((values, rows), span) in enumerate(zip(found, spans, strict=True), 1):
        tokens = [token for token in span if not token.is_space]
        assert values["sent_id"] == f"text-{number}"
        assert float(values["log_prob"]) == pytest.approx(span._.log_prob, abs=1e-4)
        assert [row[1] for row in rows] == [token.text for token in tokens]
        assert [row[4] for row in rows] == [token.tag_ for token in tokens]
        assert [row[7] for row in rows] == [token.dep_.replace("ROOT", "root") for token in tokens]
    assert found[0][0]["newdoc id"] == "text"
    paragraphs = [values["newpar id"] for values, _ in found if "newpar id" in values]
    assert paragraphs == ["text-p1", "text-p2"]


def test_confidence_is_written_to_misc(toy, tmp_path, write):
    toy.trained(decoding="mbr", **toy.pools).to_disk(tmp_path / "model")
    ((_, rows),) = sentences_of(parse(tmp_path / "model", write("the dog sleeps.\n")).stdout)
    for row in rows:
        misc = dict(part.split("=") for part in row[9].split("|"))
        assert 0.0 < float(misc["HeadProb"]) <= 1.0
        assert 0.0 < float(misc["TagProb"]) <= 1.0


def test_reading_the_output_gives_the_same_words(saved, write, tmp_path):
    path = tmp_path / "out.conllu"
    parse(saved, write(TEXT), write(TREEBANK, "bank.conllu"), "-o", path)
    text = path.read_text(encoding="utf8")
    words = [forms(rows) for _, rows in sentences_of(text)]
    docs = conllu_to_docs(text, n_sents=1, no_print=True)
    assert words == [[token.text for token in doc] for doc in docs]
    assert words == [
        [token.text for token in span if not token.is_space]
        for doc in map(to_word_doc, read_treebank(path, spacy.blank("en").vocab, n_sents=10_000))
        for span in doc.sents
    ]
    # Parse the output, too: its words are kept.
    again = parse(saved, path).stdout
    assert again.count("\n\n") == len(words)
    assert [forms(rows) for _, rows in sentences_of(again)] == words


def test_words_sentences_multiword_tokens_and_comments_are_kept(saved, write):
    bank = TREEBANK.replace("# note\n", "# note\n# x = one\n# x = two\n# x = two\n")
    done = parse(saved, write("\ufeff" + bank.replace("\n", "\r\n"), "bank.conllu"))
    (values, rows), (other, _) = sentences_of(done.stdout)
    assert [row[0] for row in rows] == ["1", "2-3", "2", "3", "4", "5-6", "5", "6"]
    assert [row[1] for row in rows] == ["Ada", "sees", "see", "s", "the", "dog.", "dog", "."]
    assert rows[1] == ["2-3", "sees", *"_" * 7, "Range=1"]
    assert rows[0][9].startswith("Gloss=x=y")
    assert "HeadProb=0.1" not in done.stdout
    assert (values["sent_id"], values["newdoc id"], other["sent_id"]) == ("mine-1", "d1", "bank-2")
    assert "# note\n# x = one\n# x = two\n# x = two\n" in done.stdout
    # Tags are the pipeline's own. It predicts no lemmas, parts of speech or features.
    assert rows[0][2:6] == ["Ada", "PROPN", rows[0][4], "Number=Sing"]


def test_stdin_is_parsed_without_a_file(saved):
    from spacy.cli import app
    from typer.testing import CliRunner

    for arguments, text in (
        (["-l"], "the dog sleeps .\n\nKim waits .\n"),
        (["-"], "the dog sleeps.\n\nKim waits.\n"),
    ):
        done = CliRunner().invoke(app, ["hpyp", "parse", str(saved), *arguments], input=text)
        assert done.exit_code == 0, done.output
        assert len(sentences_of(done.stdout)) == 2


@pytest.mark.parametrize(
    ("content", "name", "options", "problem"),
    [
        (b"caf\xe9", "text.txt", [], "is not text in UTF-8"),
        (b"\n\n", "b.conllu", [], "There is no sentence in"),
        (TREEBANK.replace("1\tA", "2\tA"), "b.conllu", [], "line 5: the number of this word"),
        (b"", "b.conllu", ["--per-line"], "has its own sentences"),
        (b"item,text", "table.csv", [], "is a table"),
    ],
)
def test_bad_input_is_reported_and_keeps_the_old_output(
    content, name, options, problem, saved, write
):
    old = write("old", "out.conllu")
    assert problem in said("hpyp", "parse", saved, write(content, name), "-o", old, *options)
    assert old.read_text() == "old"


def test_a_pipeline_without_a_parser_is_rejected(write, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path / "model")
    assert "it has no parser" in said("hpyp", "parse", tmp_path / "model", write("A text."))


def test_labels_words_and_features_become_valid_conllu():
    words = ["New York", "NP", "\n", "x", "y", "!", "z"]
    doc = Doc(
        spacy.blank("en").vocab,
        words=words,
        spaces=[True, True, False, True, False, False, False],
        tags=["NNP", "A B", "_SP", "WP", "NOUN", ".", "Y"],
        pos=["PROPN", "CONJ", "SPACE", "", "", "PUNCT", "EOL"],
        morphs=["Case=Nom|Number=Sing", "", "", "", "", "", ""],
        lemmas=["New  York", "a|b", "\n", "", "_", "!", "z"],
        # "x" is attached to white space, and there are three roots.
        heads=[0, 0, 1, 2, 4, 5, 0],
        deps=["ROOT", "NP-SBJ", "dep", "nsubj||obj", "ROOT", "ROOT", "ROOT"],
        sent_starts=[True, *[False] * 6],
    )
    ((values, rows),) = sentences_of(written(doc))
    assert values["text"] == "New York NP x y!z"
    arcs = "0 root,1 dep,2 nsubj,1 parataxis,1 punct,1 dep"
    assert ",".join(f"{row[6]} {row[7]}" for row in rows) == arcs
    assert [row[3] for row in rows] == ["PROPN", "CCONJ", "X", "NOUN", "PUNCT", "X"]
    assert [row[2] for row in rows] == ["New York", "a|b", "_", "_", "!", "z"]
    assert rows[0][5] == "Case=Nom|Number=Sing"
    assert rows[1][4] == "A_B"
    assert rows[1][9] == "Label=NP-SBJ"


def test_the_first_word_replaces_a_white_space_root():
    words, deps = ["\n", "a", "b"], ["ROOT", "det", "obj"]
    doc = Doc(spacy.blank("en").vocab, words=words, heads=[0, 0, 0], deps=deps)
    ((_, rows),) = sentences_of(written(doc))
    assert [row[6:8] for row in rows] == [["0", "root"], ["1", "parataxis"]]
    assert written(doc[:1].as_doc()) == ""


def test_random_trees_with_white_space_become_valid_conllu():
    rng = np.random.default_rng(0)
    vocab = spacy.blank("en").vocab
    for _ in range(200):
        n = int(rng.integers(2, 9))
        words = [str(rng.choice(["a", "b", "\n", "."])) for _ in range(n)]
        heads = [0, *(int(rng.integers(0, i)) for i in range(1, n))]
        labels = ["ROOT", *rng.choice(["nsubj", "A||b", "root", "obl:agent"], n - 1).tolist()]
        spaces = rng.integers(0, 2, n).astype(bool).tolist()
        doc = Doc(vocab, words=words, heads=heads, deps=labels, spaces=spaces)
        text = written(doc)
        assert bool(text) == any(word != "\n" for word in words)
        if text:
            ((_, rows),) = sentences_of(text)
            (sentence,) = blocks_of(text.splitlines(), "s")
            again = to_doc(sentence, vocab)
            assert [row[1] for row in rows] == [token.text for token in again]
            for token in again:
                token.head, token.dep_ = again[0], "dep" if token.i else "ROOT"
            sentences_of(write_block(sentence, again, "s"))


def test_multiword_tokens_are_written_with_their_words():
    words, spaces = ["Il", "va", "au", "port", "."], [True, True, True, False, False]
    doc = Doc(spacy.blank("xx").vocab, words, spaces)
    write_words(doc, 2, [Analysis("à"), Analysis("le")])
    words = to_word_doc(doc)
    parsed = Doc(
        words.vocab,
        words=[token.text for token in words],
        spaces=[bool(token.whitespace_) for token in words],
        heads=[1, 1, 4, 4, 1, 1],
        deps=["nsubj", "ROOT", "case", "det", "obl", "punct"],
        pos=["PRON", "VERB", "ADP", "DET", "NOUN", "PUNCT"],
    )
    write_back(parsed, doc)
    ((_, text),) = write_doc(doc, "text", 0)
    ((values, rows),) = sentences_of(text)
    columns = [" ".join(column) for column in zip(*rows)]
    assert columns[:2] == ["1 2 3-4 3 4 5 6", "Il va au à le port ."]
    assert columns[3] == "PRON VERB _ ADP DET NOUN PUNCT"
    assert columns[6] == "2 0 _ 5 5 2 2"
    assert columns[9] == "_ _ _ _ _ SpaceAfter=No _"
    assert values["text"] == "Il va au port."
    (again,) = blocks_of(text.splitlines(), "text")
    assert again.rows == rows


@pytest.mark.parametrize(
    ("column", "name", "given", "expected"),
    [
        (3, "pos", ["DET", ""], ["DET", "X"]),
        (3, "pos", ["", ""], ["X", "X"]),
        (4, "tags", ["DET", "NOUN"], ["_", "_"]),
        (4, "tags", ["DT", "NOUN"], ["DT", "NOUN"]),
        (4, "tags", ["SYM", "X"], ["SYM", "X"]),
        (4, "tags", ["", ""], ["_", "_"]),
    ],
)
def test_words_without_a_part_of_speech_become_x_and_tags_that_are_parts_of_speech_are_omitted(
    column, name, given, expected
):
    annotation = {name: given, "heads": [1, 1], "deps": ["det", "ROOT"]}
    doc = Doc(spacy.blank("en").vocab, words=["the", "dog"], **annotation)
    ((_, rows),) = sentences_of(written(doc))
    assert [row[column] for row in rows] == expected


def test_keep_limits_conllu_input_to_sentences_or_text(saved, write):
    more = "# newpar\n1\tKim" + "\t_" * 8 + "\n2\twaits" + "\t_" * 7 + "\tSpaceAfter=No\n\n"
    bank = write(f"{TREEBANK}\n{more}", "bank.conllu")
    found = sentences_of(parse(saved, bank, "--keep", "sentences").stdout)
    assert [values["text"] for values, _ in found] == ["Ada sees the dog.", "stop", "Kim waits"]
    assert [values["sent_id"] for values, _ in found] == ["mine-1", "bank-2", "bank-3"]
    assert [row[1] for row in found[0][1]] == ["Ada", "sees", "the", "dog", "."]
    assert found[0][0]["newdoc id"] == "d1"
    text = write("Ada sees the dog.stop \n\nKim waits\n", "bank.txt")
    assert parse(saved, bank, "--keep", "text").stdout == parse(saved, text).stdout
