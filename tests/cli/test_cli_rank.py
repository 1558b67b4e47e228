"""`hpyp rank`: the sentences to correct next."""

import json
import re

import command_line
import numpy as np
import pytest
import spacy
from spacy.training.converters import conllu_to_docs

from spacy_hpyp.annotation.guides import Guide, write_guide
from spacy_hpyp.cli.rank import _probabilities

TEXT = "the dog sees a cat .\nAda near the parser follows Kim near a bird .\n\nMona sleeps .\n"


@pytest.fixture(scope="module", name="folder")
def files(toy, trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rank")
    trained.to_disk(folder / "pipeline")
    (folder / "text.txt").write_text(TEXT)
    gold = "".join(map(toy.conllu, toy.sentences(60)[40:]))
    (folder / "gold.conllu").write_text(gold)

    return folder


def rank(folder, *arguments):
    return command_line.run("hpyp", "rank", folder / "pipeline", *arguments).stdout


def ranked(folder, *arguments):
    return [json.loads(line) for line in rank(folder, *arguments, "-f", "jsonl").splitlines()]


def words_of(row):
    return [line.split("\t") for line in row["conllu"].splitlines() if line[:1].isdigit()]


def expected_errors(row, name):
    """The sum of the probabilities of errors in MISC, each rounded to four digits."""
    found = [float(re.search(rf"{name}=([0-9.]+)", word[9])[1]) for word in words_of(row)]
    return pytest.approx(len(found) - sum(found), abs=1e-4 * len(found))


def test_sentences_with_the_most_expected_wrong_arcs_come_first(folder):
    found = ranked(folder, folder / "gold.conllu")
    assert [row["rank"] for row in found] == list(range(1, 21))
    assert sorted(row["sentence"] for row in found) == list(range(1, 21))
    expected = [row["expected_wrong_arcs"] for row in found]
    assert expected == sorted(expected, reverse=True)
    for row in found:
        assert row["expected_wrong_arcs"] == expected_errors(row, "HeadProb")
        assert len(words_of(row)) == row["words"]
        assert [word[6] for word in words_of(row)].count("0") == 1


def test_a_sentence_may_have_no_text_in_its_comments(folder, toy, write):
    first, second = toy.sentences()[:2]
    text = f"#text=foo\n{toy.conllu(first)}# text =\n{toy.conllu(second)}"
    found = ranked(folder, write(text, "x.conllu"))
    assert {row["text"] for row in found} == {" ".join(s.words) for s in (first, second)}


def test_words_that_are_white_space_do_not_count(folder, toy, write):
    blank = toy.sentence(["\u00a0"], ["X"], [0], ["ROOT"])
    beside = toy.sentence(
        ["the", "\u00a0", "dog"], ["DT", "X", "NN"], [2, 2, 2], ["det", "dep", "ROOT"]
    )
    path = write("".join(map(toy.conllu, (blank, beside))), "blank.conllu")
    (row,) = ranked(folder, path)
    assert (row["sentence"], row["words"]) == (2, 2)


def test_top_selects_the_first_sentences_of_all_files(folder):
    files = folder / "gold.conllu", folder / "text.txt"
    everything = ranked(folder, *files)
    assert len({row["file"] for row in everything}) == 2
    assert ranked(folder, *files, "--top", 3) == everything[:3]
    assert len(ranked(folder, *files, "--top", 1000)) == len(everything)


def test_text_is_segmented_or_read_line_by_line(folder):
    (long,) = ranked(folder, folder / "text.txt", "-l", "-n", 1)
    assert long["text"].startswith("Ada near")
    assert long["sentence"] == 2
    assert len(ranked(folder, folder / "text.txt", "-l")) == 3
    words = [word[1] for row in ranked(folder, folder / "text.txt") for word in words_of(row)]
    assert sorted(words) == sorted(TEXT.split())
    assert not any("cat . Ada" in row["text"] for row in ranked(folder, folder / "text.txt"))
    shown = rank(folder, folder / "text.txt", "-l")
    assert re.search(r"^1\. \d\.\d\d wrong arcs of 10 words .*sentence 2\)$", shown, re.MULTILINE)
    assert "\n   Mona sleeps .\n" in shown


def test_sentences_are_ranked_by_their_tags_or_guide_tags(folder):
    rows = ranked(folder, folder / "gold.conllu", "--by", "tags")
    for row in rows:
        assert row["expected_wrong_tags"] == expected_errors(row, "TagProb")
    doc = spacy.tokens.Doc(spacy.blank("xx").vocab, words=["a", "b", "c"], tags=["X", "Q", "Z"])
    nothing, tags = np.empty((3, 0)), np.array([[0, 1], [0, 1], [1, -1]])
    probabilities = np.array([[0.9, 0.1], [0.6, 0.4], [0.5, 0.0]])
    write_guide(doc, Guide(nothing, nothing, nothing, [], tags, probabilities, ["X", "Y"]))
    # The guide is about classes of tags.
    assert _probabilities([*doc], "tag_prob", {"Q": "Y"}) == pytest.approx([0.9, 0.4, 0.0])


@pytest.mark.parametrize(("option", "sign"), [((), 1), (("--most-confident",), -1)])
def test_sentences_can_be_ranked_by_errors_per_word(folder, option, sign):
    found = ranked(folder, folder / "gold.conllu", "--by", "rate", *option)
    values = [sign * row["expected_wrong_arcs"] / row["words"] for row in found]
    assert all(one >= other - 1e-3 for one, other in zip(values, values[1:]))


def test_conllu_output_can_be_read_back(folder):
    output = folder / "new" / "out.conllu"
    rows = ranked(folder, folder / "gold.conllu")
    shown = rank(folder, folder / "gold.conllu", "-f", "conllu", "-o", output)
    assert "Saved 20 sentences" in shown
    text = output.read_text(encoding="utf8")
    sentences = conllu_to_docs(text, n_sents=1, no_print=True)
    for row, sentence, block in zip(rows, sentences, text.strip().split("\n\n"), strict=True):
        assert [token.text for token in sentence] == [word[1] for word in words_of(row)]
        assert row["conllu"].strip() in block
        assert f"# expected_wrong_arcs = {row['expected_wrong_arcs']:.4f}" in block.splitlines()
        assert "HeadProb=" in block
    # The command reads its own output.
    assert len(ranked(folder, output)) == 20


def test_conllu_keeps_multiword_tokens_comments_and_misc(folder, write):
    words = "1\tthe\t_\t_\t_\t_\t_\t_\t_\tGloss=a\n2\tdog\t_\t_\t_\t_\t_\t_\t_\t_\n"
    head = "# newdoc id = d\n# sent_id = mine\n# note\n1-2\tthedog" + "\t_" * 8
    bank = f"{head}\n{words}\n# rank = 7\n{words}\n"
    path = write(bank, "bank.conllu")
    found = rank(folder, path, "-f", "conllu").split("\n\n")[:2]
    for place, block in enumerate(found, 1):
        assert [line for line in block.splitlines() if "rank" in line] == [f"# rank = {place}"]
        assert "newdoc" not in block
    found.sort(key=lambda block: "mine" in block)
    assert "# sent_id = bank.conllu-2\n" in found[0]
    assert "# sent_id = mine\n# note\n" in found[1]
    assert "\n1-2\tthedog\t" in found[1]
    for block in found:
        assert "# expected_wrong_arcs = " in block
        assert "\tGloss=a|HeadProb=" in block
    assert len(ranked(folder, path)) == 2


def test_lemmas_are_kept_and_all_scripts_are_written_unescaped(folder, write):
    row = "1\t\u0b85\t\u0b86\tNOUN\t_\tCase=Nom\t_\t_\t_\t_\n\n"
    path = write(row, "bank.conllu")
    assert '"text": "\u0b85"' in rank(folder, path, "-f", "jsonl")
    shown = rank(folder, path, "-f", "conllu")
    assert "1\t\u0b85\t\u0b86\tNOUN\t" in shown
    assert "\tCase=Nom\t0\troot\t" in shown


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.txt", " \n\n", "There is no sentence"),
        ("a.conllu", bytes(range(256)), "is not text in UTF-8"),
    ],
)
def test_unusable_input_is_rejected(folder, write, name, text, problem):
    paths = folder / "pipeline", write(text, name), "-o", folder / "refused.txt"
    assert problem in command_line.said("hpyp", "rank", *paths)
    assert not (folder / "refused.txt").exists()
