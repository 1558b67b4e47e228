"""Reading tables, and the passages, counts and values in them."""

import pytest

from spacy_hpyp.language_model.tables import (
    Alignment,
    make_passages,
    read_counts,
    read_passages,
    read_table,
)

QUOTED = 'item,text\n1,"Ada ""A"" sleeps."\n2,Kim waits.\n'


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("t.csv", QUOTED),
        ("T.CSV", "\ufeff" + QUOTED.replace("\n", "\r\n")),
        ("t.tsv", "\ufeff" + QUOTED.replace(",", "\t")),
        ("index.csv", ',item,text\n0,1,"Ada ""A"" sleeps."\n1,2,Kim waits.\n'),
        ("r.csv", '"","item","text"\n"1",1,"Ada \\"A\\" sleeps."\n"2",2,"Kim waits."\n'),
        ("commas.csv", 'item,text,,\n1,"Ada ""A"" sleeps.",,\n2,Kim waits.,,\n,,,\n'),
        ("utf16.csv", QUOTED.replace(",", ";").encode("utf-16")),
        ("utf16.tsv", QUOTED.replace(",", "\t").encode("utf-16")),
    ],
)
def test_tables_of_r_pandas_and_spreadsheets_are_read(write, name, table):
    assert [row for _, row in read_table(write(table, name))] == [
        {"item": "1", "text": 'Ada "A" sleeps.'},
        {"item": "2", "text": "Kim waits."},
    ]


BAD = {
    "no item": ("cond,text\na,the dog\n", "no column 'item'"),
    "no text": ("item,sentence\n1,the dog\n", "either a 'text' or 'regions'"),
    "two alike": ("item,text,x,x\n1,b,c,d\n", "twice"),
    "a name of ours twice": ("item,text,word,input_word\n1,a,b,c\n", "Rename one"),
    "an empty region": ("item,regions\n1,x\n2,the dog | | sleeps\n", "Region 2 of line 3"),
    "an empty text": ("item,text\n1, \n", "of line 2"),
    "too many fields": ("item,text\n1,the dog, the cat\n", "3 fields"),
    "row names of write.table": ("item,text\n1,1,the dog\n", "row.names = FALSE"),
    "Latin-1": ("item,text\n1,the caf\u00e9\n".encode("latin-1"), "UTF-8"),
    "an open quote": ('item,text\n1,"the dog\n', "Line 2"),
}
BAD_WORDS = {
    "no text column": ("t,word\n1,the\n", "no column 'story' in line 2"),
    "texts in pieces": ("story,word\n1,a\n2,b\n1,d\n", "--reader-by"),
    "several readers, sorted": ("story,word" + "\n1,a" * 2 + "\n1,b" * 2 + "\n1,c" * 2, "--reader"),
    "several readers": ("story,word" + "\n1,a\n1,b\n1,c\n1,d\n1,e" * 2, "--reader-by"),
    "a text without words": ("story,word,x\n1,a,\n2,,y\n", "no words"),
    "speech without quotes": ('story,word,x\n1,a,y\n1,"Oh,y\n1,no.",y\n', "line end"),
}


@pytest.mark.parametrize("table", [*BAD, *BAD_WORDS])
def test_errors_name_the_unreadable_table(write, table):
    content, problem = (BAD | BAD_WORDS)[table]
    columns = {"text_by": "story"} if table in BAD_WORDS else {}
    with pytest.raises(ValueError, match=problem) as error:
        read_passages(write(content, "bad.csv"), **columns)
    assert "bad.csv" in str(error.value)


def test_stimuli_keep_their_columns_and_region_ends(write):
    rows = "1;The dog | sees |a  cat, do|n't.;x;\n2;Ada | waits;y;so  what\n"
    table = write(f"item;regions;word;before\n{rows}", "t.csv")
    one, two = read_passages(table, context="before")
    assert (one.text, one.context) == ("The dog sees a cat, don't.", 0)
    regions = ["The dog", "The dog sees", "The dog sees a cat, do", one.text]
    assert [one.text[:end] for end in one.ends] == regions
    assert list(one.columns) == ["file", "item", "input_word"]
    assert (two.text, two.ends, two.context, two.offset) == ("so what Ada waits", (11, 17), 8, -8)


def test_a_list_of_regions_is_joined_with_spaces():
    rows = [("x", {"regions": ["the dog", "sees"]}), ("y", {"regions": "the dog| sees"})]
    one, two = make_passages(rows)
    assert (one.text, one.ends) == (two.text, two.ends) == ("the dog sees", (7, 12))
    with pytest.raises(ValueError, match="keep_default_na"):
        make_passages([("x", {"regions": ["the dog", float("nan")]})])


def test_readers_of_a_text_must_read_the_same_words(write):
    words = "the dog sees a cat .".split()
    rows = [("a", n) for n in range(6)] + [("b", n) for n in (0, 1, 3, 4, 5)]
    for order in (rows, sorted(rows, key=lambda row: row[1])):
        lines = "".join(f"{who},x,{words[n]}\n" for who, n in order)
        path = write("subject,text,word\n" + lines, "t.csv")
        (text,) = read_passages(path, text_by="text", reader_by="subject")
        assert text.text == " ".join(words)
        assert [(row["subject"], region - 1) for region, row, _ in text.rows] == rows
    path = write("subject,text,word\na,x,the\na,x,dog\nb,x,dog\nb,x,the\n", "t.csv")
    with pytest.raises(ValueError, match="line 5"):
        read_passages(path, text_by="text", reader_by="subject")


def test_a_row_without_a_word_has_no_region(write):
    (text,) = read_passages(write("t,word\n1,a\n1,\n1,b\n", "t.csv"), text_by="t")
    assert (text.text, [region for region, *_ in text.rows]) == ("a b", [1, 0, 2])


def test_counts_are_read_from_our_columns_or_subtlex_columns(write):
    ours = "word,count\nThe,2\nThe,1\ndog,1\n"
    subtlex = "Word\tFREQcount\tCDcount\nThe\t3\t8\ndog\t1\t1\n"
    for table in (ours, subtlex):
        assert read_counts(write(table, "counts.txt")) == {"The": 3, "dog": 1}


@pytest.mark.parametrize(
    "table",
    [
        # Sub-words of minicons; words of pangoling, the first without a value.
        "sentence_id,token,surprisal\n0,The,NA\n0,Ġdog,2\n0,Ġsle,3\n0,eps,4\n0,.,5\n1,ĠAda,6\n",
        '"","sent","word","surprisal"\n"1",1,"The",NA\n"2",1,"dog",2\n'
        '"3",1,"sleeps.",12\n"4",2,"Ada",6\n',
    ],
)
def test_values_of_another_model_are_aligned_by_characters(write, table):
    other = Alignment(write(table, "gpt2.csv"), "word", "surprisal")
    assert other.column == "gpt2_surprisal"
    assert other.take(["The", "dog", "sleeps."]) + other.take(["ada"]) == [None, 2, 12, 6]
    assert other.message() == ("1 of 4 rows have no gpt2_surprisal.", True)


def test_words_missing_or_joined_in_another_table_have_no_value(write):
    table = write("token,lp\n[CLS],0\nthedog,1\nsees,2\nnear,NA\nadas,9\n.,5\n", "t.csv")
    values = Alignment(table, "word", "lp").take("the dog sees Kim near Ada .".split())
    assert values == [None, None, 2, None, None, None, 5]
