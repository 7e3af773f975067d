"""The changes that make mutants: what is changed, and what is left as it is."""

import ast

import pytest

from series.mutations import mutants_of

SOURCE = '''"""Words, and 1 < 2."""

TILE = 4096


def f(x: int = 3, *, copy: bool = True) -> float:
    """Return 1."""
    if x < 0 and not copy:
        raise ValueError(f"{x + 1} is below {0}")
    x.values[0] = 1.5
    log.say(x + 1)
    return g(x, copy=False, shape=(x - 1))


class C:
    def __repr__(self) -> str:
        return "a" + str(1)
'''


@pytest.fixture
def mutants(tmp_path):
    path = tmp_path / "package" / "module.py"
    path.parent.mkdir()
    path.write_text(SOURCE)
    return list(mutants_of(path, tmp_path))


def mutated(mutant):
    source = SOURCE.encode()
    return (source[: mutant.start] + mutant.new.encode() + source[mutant.end :]).decode()


def test_each_is_another_program(mutants):
    trees = {ast.dump(ast.parse(mutated(mutant))) for mutant in mutants}
    assert len(trees | {ast.dump(ast.parse(SOURCE))}) == len(mutants) + 1
    assert len({mutant.name for mutant in mutants}) == len(mutants)
    assert {mutant.module for mutant in mutants} == {"package/module.py"}
    assert {mutant.function for mutant in mutants} == {None, (6, 12)}


def test_what_is_changed_and_nothing_else(mutants):
    assert sorted((mutant.line, mutant.change) for mutant in mutants) == [
        (6, "3  ->  4"),
        (6, "True  ->  False"),
        (8, "0  ->  1"),
        (8, "not copy  ->  (copy)"),
        (8, "x < 0  ->  ((x) <= (0))"),
        (8, "x < 0  ->  ((x) >= (0))"),
        (8, "x < 0 and (not copy)  ->  ((x < 0) or (not copy))"),
        (9, "raise ValueError(f'{x + 1} is below {0}')  ->  pass"),
        (10, "0  ->  1"),
        (10, "1.5  ->  3.0"),
        (10, "x.values[0] = 1.5  ->  pass"),
        (12, "1  ->  2"),
        (12, "g(x, copy=False, shape=x - 1)  ->  g(x, copy=False)"),
        (12, "return g(x, copy=False, shape=x - 1)  ->  return None"),
        (12, "x - 1  ->  ((x) + (1))"),
    ]


def test_a_name_follows_the_line_and_not_its_number(tmp_path, mutants):
    path = tmp_path / "package" / "module.py"
    path.write_text(SOURCE.replace("TILE = 4096", "TILE = 4096\n\nOTHER = 5"))
    moved = {mutant.name: mutant for mutant in mutants_of(path, tmp_path)}
    assert len(moved) == len(mutants) + 1
    assert all(moved[mutant.name].line == mutant.line + 2 for mutant in mutants)
