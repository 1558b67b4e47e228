"""What we touch of other packages that they do not promise to keep does what we take it for, and is touched
in one place.
"""

import ast
import gc
import inspect
import resource
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
import spacy
from numba import njit, types
from numba.core.caching import FunctionCache, NullCache
from numba.core.errors import NumbaError, TypingError
from spacy.tokens import Doc, Token
from spacy.vocab import Vocab

import spacy_hpyp
from spacy_hpyp.compat import memory
from spacy_hpyp.compat import numba as compat
from spacy_hpyp.compat.spacy import attribute_key, beam_parses, nonproj
from spacy_hpyp.compiled import compiled, generic_default, generic_maker, implements, inner, inner_maker

PACKAGE = Path(spacy_hpyp.__file__).parent
#: Documented, for all that they begin with an underscore: of spaCy's extension attributes and of NamedTuples.
DOCUMENTED = {"_", "_replace", "_fields", "_asdict"}


def test_nothing_private_is_touched_outside_of_compat():
    trees = {
        path.relative_to(PACKAGE): ast.parse(path.read_text(encoding="utf8"))
        for path in PACKAGE.rglob("*.py")
    }
    nodes = [(path, node) for path, tree in trees.items() for node in ast.walk(tree)]
    # What compat does to others is not ours.
    ours = [node for path, node in nodes if path.parts[0] != "compat"]
    own = {node.name for node in ours if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {node.attr for node in ours if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    # What a class has, whatever its instances set.
    own |= {
        name.id
        for node in ours
        if isinstance(node, ast.ClassDef)
        for field in node.body
        if isinstance(field, ast.Assign | ast.AnnAssign)
        for name in ast.walk(field)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }

    def is_private(name):
        return name.startswith("_") and not name.startswith("__")

    touched = []
    for path, node in nodes:
        if path.parts[0] == "compat":
            continue
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [name for alias in node.names for name in alias.name.split(".")]
        elif isinstance(node, ast.Attribute) and node.attr not in own | DOCUMENTED:
            names = [node.attr]
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            # What is set is one's own, or somebody else's.
            names = (
                [] if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") else [node.attr]
            )
        else:
            names = []
        touched += [f"{path}:{node.lineno}: {name}" for name in names if is_private(name)]
    assert not touched


# Numba


def length(array):
    return len(array)


def total(n):
    return np.ones(n).sum()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty directory that Numba keeps functions in."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def compiled_code(**settings):
    """What is made of a function that counts references to what it is given, if it is let."""
    function = njit(**compat.options(**settings))(length)
    function.compile("(float64[:],)")
    (code,) = function.inspect_llvm().values()
    return code


def test_references_are_counted_only_where_that_is_asked_for():
    make = njit(**compat.options(counting=True, called_from_python=True))(total)
    assert make(3) == 3.0
    assert any("NRT_" in code for code in make.inspect_llvm().values())
    with pytest.raises(NumbaError):
        njit(**compat.options(counting=False, called_from_python=True))(total)(3)
    assert "NRT_" not in compiled_code(counting=False, called_from_python=False)


def test_what_calls_a_function_from_python_and_from_c_is_only_made_where_it_is_asked_for():
    plain = njit(length)
    plain.compile("(float64[:],)")
    (code,) = plain.inspect_llvm().values()
    assert "cfunc" in code
    assert "cpython" in code
    assert "cfunc" not in compiled_code(counting=True, called_from_python=True)
    assert "cpython" in compiled_code(counting=True, called_from_python=True)
    assert "cpython" not in compiled_code(counting=True, called_from_python=False)


@njit
def squares(n):
    return [i * i for i in range(n)]


def test_what_is_compiled_for_an_entry_can_be_called_by_others_and_from_python():
    @njit(**compat.options(counting=True, called_from_python=True))
    def entry(n):
        return np.zeros(n).sum() + squares(n)[n - 1]

    @njit
    def other(n):
        return np.zeros(n).sum() + squares(n)[n - 1]

    assert entry(3) == other(3) == 4.0
    assert squares(3) == [0, 1, 4]


def test_several_functions_that_an_entry_calls_can_raise_errors_with_numbers():
    @inner_maker
    def check_least(n):
        if n < 1:
            raise ValueError("too few", n)

    @inner_maker
    def check_most(n):
        if n > 9:
            raise ValueError("too many", n)

    @njit(**compat.options(counting=True, called_from_python=True))
    def entry(n):
        check_least(n)
        check_most(n)
        return n

    assert entry(3) == 3
    with pytest.raises(ValueError, match="too many"):
        entry(10)


def test_what_has_functions_inside_is_compiled_by_the_passes_of_numba():
    @njit(**compat.options(counting=True, called_from_python=True))
    def entry(n):
        def twice(i):
            return 2 * i

        return twice(n)

    assert entry(3) == 6


def test_a_function_asks_the_cache_that_it_is_given():
    class Asked(NullCache):
        asked = ()

        def load_overload(self, sig, target_context):
            self.asked += ("load",)

        def save_overload(self, sig, cres):
            self.asked += ("save",)

        def flush(self):
            self.asked += ("flush",)

    function, asked = njit(length), Asked()
    compat.as_entry(function, None, lambda: asked)
    assert function(np.ones(2)) == 2
    assert asked.asked == ("load", "save")
    function.recompile()
    assert asked.asked == ("load", "save", "flush", "load", "save")


def test_every_overload_is_checked_before_it_can_be_used_from_the_cache_too(cache):
    def refuse(returned):
        raise TypeError(f"it returns {returned}")

    seen, problems = [], []
    for check in (seen.append, seen.append, refuse):
        function = njit(length)
        compat.as_entry(function, None, lambda: compat.new_cache(length, "stamp", problems.append))
        compat.check_overloads(function, check)
        if check == refuse:
            with pytest.raises(TypeError, match="it returns int64"):
                function(np.ones(2))
            assert not function.overloads
        else:
            assert function(np.ones(2)) == 2
    assert seen == [types.int64, types.int64]
    assert sum(function.stats.cache_hits.values()) == 1
    assert not problems


def test_an_overload_is_kept_in_a_file_of_its_own_and_read_where_the_stamp_is_the_same(cache):
    def hits(stamp):
        function, problems = njit(length), []
        kept = compat.new_cache(length, stamp, problems.append)
        compat.as_entry(function, None, lambda: kept)
        assert function(np.ones(2)) == function(np.ones(2, dtype=np.int8)) == 2
        assert not problems
        return sum(function.stats.cache_hits.values()), kept

    assert [hits(stamp)[0] for stamp in ("one", "one", "other", "other")] == [0, 2, 0, 2]
    files = list(cache.rglob("*.nbc"))
    assert len(files) == 2
    # There is no index.
    assert not list(cache.rglob("*.nbi"))
    hits("other")[1].flush()
    assert not list(cache.rglob("*.nbc"))


def test_numba_calls_what_is_overridden_of_its_cache():
    # A method that has another name in a new version would be ours alone, and Numba would go on with its own.
    for ours, theirs in ((compat.Entries, compat.IndexDataCacheFile), (compat.DiskCache, FunctionCache)):
        for name, method in inspect.getmembers(ours, inspect.isfunction):
            if name in vars(ours) and not name.startswith("_"):
                expected = inspect.signature(getattr(theirs, name)).parameters
                assert len(inspect.signature(method).parameters) == len(expected), name


# spaCy


def test_trees_are_made_projective_and_back_again(toy, trained):
    sentence = toy.non_projective
    heads, labels = nonproj.projectivize(sentence.heads, sentence.deps)
    assert heads != sentence.heads
    decorated = [i for i, label in enumerate(labels) if nonproj.is_decorated(label)]
    assert decorated == [i for i, (one, two) in enumerate(zip(heads, sentence.heads)) if one != two] == [6]
    assert labels[6].split(nonproj.DELIMITER) == ["nmod", "nsubj"]
    doc = Doc(trained.vocab, words=sentence.words, heads=heads, deps=labels)
    nonproj.deprojectivize(doc)
    assert [token.head.i for token in doc] == sentence.heads
    assert [token.dep_ for token in doc] == sentence.deps


def test_the_user_data_have_an_attribute_of_a_token_under_its_key():
    Token.set_extension("checked", default=None, force=True)
    doc = Doc(Vocab(), words=["one", "two"])
    doc[1]._.checked = 5
    assert doc.user_data[attribute_key("checked", doc[1].idx)] == 5
    doc.user_data[attribute_key("checked", doc[0].idx)] = 6
    assert doc[0]._.checked == 6


class Squares(NamedTuple):
    numbers: np.ndarray


class Cubes(NamedTuple):
    numbers: np.ndarray


class Others(NamedTuple):
    numbers: np.ndarray


@generic_maker
def powers(kind, factor):
    raise NotImplementedError


@implements(powers, Squares)
@compiled
def _squares(kind, factor):
    return factor * kind.numbers**2


@implements(powers, Cubes)
@compiled
def _cubes(kind, factor):
    return factor * kind.numbers**3


@generic_default
def size_of(kind):
    return len(kind.numbers)


@implements(size_of, Cubes)
@inner
def _size_of_cubes(kind):
    return 0


@njit
def total_size(one, other):
    return 10 * size_of(one) + size_of(other)


@njit
def sum_of_powers(kind, factor, times):
    found = 0.0
    for _ in range(times):
        found += powers(kind, factor).sum()
    return found


def test_what_is_called_depends_on_the_kind_of_the_first_argument():
    numbers = np.arange(4.0)
    assert sum_of_powers(Squares(numbers), 2.0, 3) == 84.0
    assert sum_of_powers(Cubes(numbers), 2.0, 3) == 216.0
    with pytest.raises(TypingError):
        sum_of_powers(Others(numbers), 2.0, 1)


def test_what_is_called_without_an_implementation_is_the_default():
    assert total_size(Squares(np.arange(4.0)), Cubes(np.arange(4.0))) == 40


def test_arrays_that_are_given_back_through_a_choice_are_freed():
    kind = Squares(np.ones(100_000))
    sum_of_powers(kind, 1.0, 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sum_of_powers(kind, 1.0, 2000)
    # In kilobytes: all of them would take 1.6 gigabytes.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_beams_of_spacys_parser_hold_arcs_with_probabilities(toy):
    nlp = spacy.blank("en")
    # Without labels it may have no action that is possible.
    parser = nlp.add_pipe("parser", config={"min_action_freq": 1})
    sentences = toy.sentences(5)
    nlp.initialize(lambda: toy.examples(nlp, sentences))
    docs = [nlp.make_doc(" ".join(each.words)) for each in sentences]
    for doc, beam in zip(docs, beam_parses(parser, docs, 4), strict=True):
        assert len(beam) <= 4
        assert sum(probability for probability, _ in beam) <= 1.0 + 1e-6
        for _, arcs in beam:
            assert len({child for _, child, _ in arcs}) == len(arcs)
            assert all(0 <= head < len(doc) and isinstance(label, str) for head, _, label in arcs)
    assert beam_parses(parser, [], 4) == []


def test_memory_is_given_back_whatever_happens_and_where_nothing_gives_it(monkeypatch):
    trimmed = []
    monkeypatch.setattr(memory, "_trim", trimmed.append)

    @memory.giving_back
    def halve(number):
        """Half of it."""
        if number % 2:
            raise ValueError("odd")
        return number // 2

    assert halve(4) == 2
    assert halve.__doc__ == "Half of it."
    with pytest.raises(ValueError, match="odd"):
        halve(number=3)
    assert trimmed == [0, 0]
    monkeypatch.setattr(memory, "_trim", None)
    assert halve(4) == 2


@pytest.mark.parametrize("error", [None, ValueError])
def test_cycles_are_looked_for_as_before_when_the_last_who_made_many_objects_is_done(error):
    given, before = gc.get_threshold(), (700, 10, 10)
    gc.set_threshold(*before)
    # Each in a thread: the one that began first ends first.
    one, other = memory.collecting_rarely(), memory.collecting_rarely()
    one.__enter__()
    assert gc.get_threshold()[0] > before[0]
    other.__enter__()
    for each in (one, other):
        with suppress(ValueError):
            each.__exit__(error, error and error(), None)
    found = gc.get_threshold()
    gc.set_threshold(*given)
    assert found == before


@pytest.mark.parametrize("is_there", [True, False])
def test_an_array_that_is_let_go_loses_its_own_numbers_at_the_most(is_there, monkeypatch):
    if not is_there:
        monkeypatch.setattr(memory, "_advise", None)
    array = np.arange(1 << 16)
    for begin, end in ((100, -100), (0, 0), (7, 9)):
        memory.let_go(array[begin:end])
        memory.let_go(array[begin:end:2])
    content = bytes(range(256)) * 256
    memory.let_go(np.frombuffer(content, dtype=np.uint8))
    assert content == bytes(range(256)) * 256
    np.testing.assert_array_equal(array[:100], np.arange(100))
    np.testing.assert_array_equal(array[-100:], np.arange(len(array) - 100, len(array)))
    assert array[len(array) // 2] == (0 if memory._advise else len(array) // 2)
