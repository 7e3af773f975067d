"""The order of imports that ``kreinflow/__init__.py`` states: no arrow points upwards."""

import ast
import re
from pathlib import Path

import kreinflow

PACKAGE = Path(kreinflow.__file__).parent


def stated_order():
    """The rooms in the order of the docstring's list, each with the number of its line."""
    lines = re.findall(r"^\* ``([^:]+)``:", kreinflow.__doc__, re.MULTILINE)
    rooms = [[name.strip("` ") for name in line.split(",")] for line in lines]
    return {room: number for number, line in enumerate(rooms) for room in line}


def imported(path):
    """The modules of the package that a file imports, at its top or inside of functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name.split(".")[1:] for name in names if name.split(".")[0] == "kreinflow")


def room_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def test_each_room_stands_in_the_list():
    rooms = {room_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert rooms == set(stated_order())


def test_no_module_imports_from_a_room_above_it():
    order = stated_order()
    upwards = [
        f"{path.relative_to(PACKAGE)} imports kreinflow.{'.'.join(names)}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for names in imported(path)
        if room_of(path) in order  # __init__ hands out the estimators
        and names[0] in order
        and order[names[0]] > order[room_of(path)]
    ]
    assert upwards == []


def test_rooms_of_one_line_do_not_import_each_other_in_a_circle():
    order = stated_order()
    arrows = {
        (room_of(path), names[0])
        for path in PACKAGE.rglob("*.py")
        for names in imported(path)
        if room_of(path) in order and names[0] in order and names[0] != room_of(path)
    }
    assert not {(a, b) for a, b in arrows if (b, a) in arrows}


def test_nothing_is_pickled():
    """What is read back may be anybody's, and must not be able to run anything."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", None)]
                assert not {"pickle", "joblib", "shelve", "dill"} & set(names), path


def late_imports(tree):
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    inner = (node for function in functions for node in ast.walk(function))
    return {node.lineno for node in inner if isinstance(node, ast.Import | ast.ImportFrom)}


def test_the_house_stays_small():
    """Few rooms, short files, short lists of parameters, and few imports inside functions."""
    paths = sorted(PACKAGE.rglob("*.py"))
    trees = {path: ast.parse(path.read_text()) for path in paths}
    assert len({room_of(path) for path in paths}) <= 22
    assert [path for path in paths if len(path.read_text().splitlines()) > 450] == []
    assert sum(len(late_imports(tree)) for tree in trees.values()) <= 20
    wide = {
        node.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and len({arg.arg for arg in node.args.args + node.args.kwonlyargs} - {"self", "cls"}) > 7
    }
    assert wide <= {"align_piece", "align_batches", "_extend"}, "compiled loops alone"
