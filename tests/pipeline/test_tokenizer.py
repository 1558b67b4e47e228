"""A tokenizer learned from CoNLL-U: tokens, their words, and unchanged text."""

import re
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
import spacy
import spacy.lang
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.attrs import NORM, ORTH
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config

from spacy_hpyp.pipeline.corpus import create_conllu_corpus, read_treebank
from spacy_hpyp.pipeline.tokenizer import create_learned_tokenizer
from spacy_hpyp.text.word_classes import TABLE, WordClass

#: Any language with a tokenizer that differs from the learned one; importing spaCy's French takes
#: three seconds.
LANG = "it"

# French in the style of UD: tokens with their heads. "au", "du" and "des" have two words.
SENTENCES = {
    "Il va au port.": "Il 2, va 0, au:à+le 5+5, port 2, . 2",
    "Le bateau du roi part.": "Le 2, bateau 6, du:de+le 5+5, roi 2, part 0, . 6",
    "Il mange des pommes.": "Il 2, mange 0, des 4, pommes 2, . 2",
    "C'est la fin des mers.": "C' 4, est 4, la 4, fin 0, des:de+les 7+7, mers 4, . 4",
    "Que parler du bateau?": "Que 2, parler 0, du:de+le 2+5, bateau 3, ? 2",
}


def conllu(sentences, *, newdoc=()):
    text = ""
    for number, (raw, tokens) in enumerate(sentences):
        text += f"# newdoc id = {number}\n" if number in newdoc else ""
        text += f"# sent_id = {number}\n# text = {raw}\n"
        word, at = 1, 0
        for token in tokens.split(", "):
            form, words, heads = re.fullmatch(r"([^: ]+):?(\S*) (.+)", token).groups()
            words = words.split("+") if words else [form]
            at = raw.index(form, at) + len(form)
            misc = "_" if at == len(raw) or raw[at] == " " else "SpaceAfter=No"
            if len(words) > 1:
                text += f"{word}-{word + len(words) - 1}\t{form}" + "\t_" * 7 + f"\t{misc}\n"
            for each, head in zip(words, heads.split("+")):
                deprel = "root" if head == "0" else "dep"
                own = misc if len(words) == 1 else "_"
                text += f"{word}\t{each}\tl_{each}\tX\tT_{each}\tA=B\t{head}\t{deprel}\t_\t{own}\n"
                word += 1
        text += "\n"
    return text


def learned(nlp, treebank, **settings):
    """Give a pipeline a tokenizer learned from a treebank."""
    nlp.tokenizer = create_learned_tokenizer(**settings)(nlp)
    examples = list(create_conllu_corpus(treebank)(nlp))
    nlp.tokenizer.initialize(lambda: examples, nlp=nlp)
    return nlp


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    path = tmp_path_factory.mktemp("treebank") / "fr.conllu"
    path.write_text(conllu([*SENTENCES.items()] * 6, newdoc=range(0, 30, 5)), encoding="utf8")
    return path


@pytest.fixture(scope="module")
def nlp(treebank):
    return learned(spacy.blank(LANG), treebank, sentences="all")


def words(doc: Doc) -> list[str]:
    return [word.text for word in doc._.ud_words]


def test_words_of_a_treebank_are_read_with_their_heads(treebank):
    doc = next(read_treebank(treebank, spacy.blank(LANG).vocab))
    assert doc.text == " ".join(SENTENCES)
    found = doc._.ud_words
    assert [word.text for word in found[:7]] == ["Il", "va", "à", "le", "port", ".", "Le"]
    assert [word.head.text for word in found[:6]] == ["va", "va", "port", "port", "va", "va"]
    assert [(word.lemma_, word.tag_, word.pos_, word.morph) for word in found[2:4]] == [
        ("l_à", "T_à", "X", "A=B"),
        ("l_le", "T_le", "X", "A=B"),
    ]
    # spaCy's attributes of the token are those of its highest word.
    token = doc[2]
    assert (token.text, token.lemma_, token.tag_) == ("au", "l_à", "T_à")
    assert (token.dep_, token.head.text) == ("dep", "port")
    assert [len(sentence) for sentence in doc.sents] == [5, 6, 5, 7, 5]


def test_a_head_need_not_be_the_highest_word_of_its_token(treebank):
    doc = next(read_treebank(treebank, spacy.blank(LANG).vocab))
    bateau = doc[-2]._.ud_words[0]
    assert (bateau.text, bateau.head.text, bateau.head.token.text) == ("bateau", "de", "du")
    le = doc[-3]._.ud_words[1]
    assert (le.head.text, le.head.token.i) == ("bateau", doc[-2].i)


def test_words_follow_their_tokens_into_other_documents(treebank):
    nlp = spacy.blank(LANG)
    doc = next(read_treebank(treebank, nlp.vocab))
    part = list(doc.sents)[1].as_doc(copy_user_data=True)
    assert words(part) == ["Le", "bateau", "de", "le", "roi", "part", "."]
    assert part._.ud_words[2].head.text == "roi"
    joined = Doc.from_docs([part, part])
    assert words(joined) == words(part) * 2
    stored = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (again,) = DocBin().from_bytes(stored).get_docs(nlp.vocab)
    assert words(again) == words(doc)
    assert words(Doc(nlp.vocab).from_bytes(doc.to_bytes())) == words(doc)


def test_the_training_treebank_is_reproduced(nlp, treebank):
    for reference in read_treebank(treebank, nlp.vocab):
        doc = nlp(reference.text)
        assert [token.text for token in doc] == [token.text for token in reference]
        assert words(doc) == words(reference)
        starts, expected = ([t.is_sent_start for t in each] for each in (doc, reference))
        assert starts == expected


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_documents_keep_the_given_text(nlp, text):
    doc = nlp.make_doc(text)
    assert doc.text == text
    assert all(token.text.strip() == token.text or token.is_space for token in doc)


def test_a_loaded_tokenizer_equals_the_saved_one(nlp, tmp_path):
    text = "Le roi va au bateau. Il mange la fin des pommes"
    nlp.to_disk(tmp_path / "nlp")
    blank = spacy.blank(LANG)
    blank.tokenizer = create_learned_tokenizer(sentences="all")(blank)
    blank.tokenizer.from_disk(tmp_path / "nlp" / "tokenizer")
    assert words(blank(text)) == words(nlp(text))
    assert blank.tokenizer.to_bytes() == nlp.tokenizer.to_bytes()


def test_classes_of_the_vocabulary_are_used_and_saved(treebank):
    nlp = spacy.blank(LANG)
    classes = {word: WordClass("01", word, count) for word, count in (("port", 9), ("Quai", 5))}
    nlp.vocab.lookups.add_table(TABLE, classes)
    learned(nlp, treebank)
    # Both words and nothing else.
    assert np.count_nonzero(nlp.tokenizer.segmenter.weights.of_class) == 2
    other = create_learned_tokenizer()(spacy.blank(LANG)).from_bytes(nlp.tokenizer.to_bytes())
    assert np.count_nonzero(other.segmenter.weights.of_class) == 2


def test_errors_name_damaged_files_and_change_nothing(nlp, tmp_path):
    before = nlp.tokenizer.to_bytes()
    file = tmp_path / "tokenizer"
    for at in range(0, len(before), max(1, len(before) // 40)):
        data = bytearray(before)
        data[at] ^= 1
        file.write_bytes(data)
        with pytest.raises(ValueError, match=r"tokenizer': The tokenizer cannot be read"):
            nlp.tokenizer.from_disk(file)
    assert nlp.tokenizer.to_bytes() == before


def test_each_token_has_a_sentence_end_probability(nlp):
    doc = nlp("Il va au port. Il mange")
    assert [token._.sent_end_prob > 0.5 for token in doc] == [i in (4, 6) for i in range(7)]
    assert nlp.make_doc(" \n ")[0]._.sent_end_prob is None


def test_tokens_are_scored_and_explained(nlp, treebank):
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in read_treebank(treebank, nlp.vocab)]
    assert nlp.tokenizer.score(examples)["token_f"] == 1.0
    explained = nlp.tokenizer.explain("Il va\n au port.")
    assert explained[1:3] == [("LEARNED", "va"), ("LEARNED à le", "au")]


@pytest.mark.parametrize("method", ["learned", "rules"])
def test_special_cases_are_split_consistently_and_saved(treebank, method):
    nlp = learned(spacy.blank(LANG), treebank, method=method)
    nlp.tokenizer.add_special_case("vala", [{ORTH: "va", NORM: "aller"}, {"ORTH": "la"}])
    other = create_learned_tokenizer()(spacy.blank(LANG)).from_bytes(nlp.tokenizer.to_bytes())
    for tokenizer in (nlp.tokenizer, other):
        doc = tokenizer("Il vala (vala) valaport")
        assert [token.text for token in doc][:7] == ["Il", "va", "la", "(", "va", "la", ")"]
        assert doc[1].norm_ == "aller"
        assert ("SPECIAL-2", "la") in tokenizer.explain("Il vala")
    with pytest.raises(ValueError, match="E997"):
        nlp.tokenizer.add_special_case("vala", [{ORTH: "va"}])


def test_spacys_rules_are_kept_if_they_are_as_accurate(treebank, capsys):
    nlp = learned(spacy.blank("xx"), treebank, method="auto")
    # The rules do not know "C'".
    assert not nlp.tokenizer.by_rules
    assert "F1 of tokens and words" in capsys.readouterr().out
    nlp.tokenizer.rules.add_special_case("C'est", [{ORTH: "C'"}, {ORTH: "est"}])
    examples = list(create_conllu_corpus(treebank)(nlp))
    nlp.tokenizer.initialize(lambda: examples, nlp=nlp)
    assert nlp.tokenizer.by_rules
    doc = nlp("Il va au port.")
    assert words(doc) == ["Il", "va", "à", "le", "port", "."]
    assert doc[-1]._.sent_end_prob == 1.0


def test_pipelines_of_all_languages_start(treebank):
    config = Path(__file__).parents[2] / "configs" / "easy_first.cfg"
    paths = {"paths.train": str(treebank), "paths.dev": str(treebank)}
    languages = [module.name for module in iter_modules(spacy.lang.__path__) if module.ispkg]
    assert len(languages) > 70
    for lang in languages:
        own = {"nlp.lang": lang, "nlp.pipeline": [], **paths}
        nlp = init_nlp(load_config(config, overrides=own, interpolate=False))
        assert words(nlp("Il va au port.")) == ["Il", "va", "à", "le", "port", "."], lang
        # An untrained tokenizer can be stored, too.
        create_learned_tokenizer()(nlp).to_bytes()


def test_documents_and_paragraphs_follow_the_file(write):
    path = write(
        "# newdoc\n# newpar\n1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n1\tb\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
        "# newpar\n1\tc\t_\tX\t_\t_\t0\troot\t_\t_\n\n# newdoc\n1\td\t_\tX\t_\t_\t_\t_\t_\t_\n\n",
        "two.conllu",
    )
    first, second = read_treebank(path, spacy.blank("xx").vocab)
    assert (first.text, second.text) == ("a b\n\nc", "d")
    assert [sentence.text.strip() for sentence in first.sents] == ["a", "b", "c"]
    assert second[0].dep_ == "_"
    assert len(list(read_treebank(path, spacy.blank("xx").vocab))) == 2
    corpus = create_conllu_corpus(Path(path), limit=1)
    assert [example.reference.text for example in corpus(spacy.blank("xx"))] == [first.text]


def test_boundaries_are_set_if_the_tokenizer_is_sure(nlp):
    text = "Il va au port. Il mange. Le roi part Il va"
    sure, nothing = (
        create_learned_tokenizer(sentences=name)(nlp).from_bytes(nlp.tokenizer.to_bytes())
        for name in ("sure", "none")
    )
    assert not nothing(text).has_annotation("SENT_START")
    doc = sure(text)
    for token in doc[1:]:
        believed = token.nbor(-1)._.sent_end_prob
        expected = True if believed >= 0.9 else False if believed <= 0.1 else None
        assert token.is_sent_start == expected
    with pytest.raises(ValueError, match='"sure", "all" or "none"'):
        create_learned_tokenizer(sentences="some")


def test_annotating_components_of_a_config_annotate_syntactic_words(treebank):
    seen = []

    @Language.factory("w_watcher")
    class Watcher:
        def __init__(self, nlp, name):
            pass

        def __call__(self, doc):
            return doc

        def update(self, examples, **kwargs):
            seen.extend(example.predicted for example in examples)

    config = load_config(Path(__file__).parents[2] / "configs" / "easy_first.cfg")
    config["paths"] |= {"train": str(treebank), "dev": str(treebank)}
    config["nlp"]["pipeline"] = ["easy_first_tagger", "easy_first_parser", "w_watcher"]
    config["components"]["w_watcher"] = {"factory": "w_watcher"}
    config["training"]["max_epochs"] = 1
    config["training"]["annotating_components"] = ["easy_first_tagger", "easy_first_parser"]
    train(init_nlp(config))
    several = [token for doc in seen for token in doc if len(token._.ud_words) > 1]
    assert several
    assert all(word.tag_ and word.dep_ for token in several for word in token._.ud_words)
