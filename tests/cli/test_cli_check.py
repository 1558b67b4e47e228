"""What is said of a treebank before anything is trained on it, and what prevents training."""

import pytest
from command_line import run

GOOD = """\
# newdoc id = 1
# sent_id = 1
# text = Il va du port au bateau.
1	Il	il	PRON	_	_	2	nsubj	_	_
2	va	aller	VERB	_	_	0	root	_	_
3-4	du	_	_	_	_	_	_	_	_
3	de	de	ADP	_	_	5	case	_	_
4	le	le	DET	_	_	5	det	_	_
5	port	port	NOUN	_	_	2	obl	_	_
6-7	au	_	_	_	_	_	_	_	_
6	à	à	ADP	_	_	8	case	_	_
7	le	le	DET	_	_	8	det	_	_
8	bateau	bateau	NOUN	_	_	2	obl	_	SpaceAfter=No
9	.	.	PUNCT	_	_	2	punct	_	_

"""
CROSSING = """\
# sent_id = 2
# text = A B C D
1	A	a	X	_	_	3	dep	_	_
2	B	b	X	_	_	4	dep	_	_
3	C	c	X	_	_	0	root	_	_
4	D	d	X	_	_	3	dep	_	_

"""
TWO_ROOTS = CROSSING.replace("3\tdep", "0\troot").replace("sent_id = 2", "sent_id = 3")


@pytest.fixture
def checked(tmp_path):
    """Checks files of some texts, and returns what is said, on one line."""

    def check(*texts, exit_code=0):
        paths = [tmp_path / f"{number}.conllu" for number in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text, encoding="utf8")
        return " ".join(run("hpyp", "check", *paths, "--lang", "it", exit_code=exit_code).output.split())

    return check


def test_the_page_says_what_there_is_and_where_something_is_wrong(checked):
    found = checked(GOOD + CROSSING + TWO_ROOTS, GOOD)
    for figures in (
        *("documents 1 1", "sentences 3 1", "that training skips 1 0", "that are not projective 1 0"),
        *("tokens 15 7", "that are several words 2 2", "words 17 9", "whose arcs cross others 1 0"),
    ):
        assert figures in found
    assert "training skips: 1 where there are 3 roots (line 23)" in found
    assert "Words whose arcs cross others: 1 (line 19)" in found
    assert "Tags that are seen once: 3, as PRON (line 4), VERB (line 5), PUNCT (line 14)" in found
    assert "Sentences of 5 words and more that are in 0.conllu, too: 1 (line 1)" in found
    assert "spaCy's tokenizer for 'it' does not make: 2, as de+le, à+le" in found
    assert "Nothing prevents training" in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("\tobl\t", "\t"), "10 columns with a tab between them, but here are 9"),
        (GOOD.replace("5\tcase", "50\tcase"), "line 1: the head 50 is none of the 9 words"),
        (TWO_ROOTS, "has no sentence with tags and a complete tree"),
        ("", "has no sentences in CoNLL-U"),
    ],
)
def test_what_prevents_training_is_the_exit_code(checked, text, message):
    found = checked(GOOD, text, exit_code=1)
    assert message in found
    assert "Training is prevented" in found
    # What is right is told all the same.
    assert "sentences 1" in found


def test_what_the_validator_says_of_the_format_is_told(checked):
    pytest.importorskip("udtools")
    found = checked(GOOD.replace("# text = Il", "# text = Elle"))
    assert "The validator says" in found
    assert "udvalidate --lang ud --level 2" in found
