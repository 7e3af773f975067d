"""What classes keep in files comes back bit for bit, and what is damaged is refused."""

import json

import numpy as np
import pytest

from answering.cascades import Problem
from answering.test_label_sets import draw
from answering.test_levels import CLASSES
from answering.test_relatives import made_up
from fitting.test_fork_temperatures import FORKS
from kreinflow.answering.fork_temperatures import ForkTemperatures
from kreinflow.answering.label_sets import Calibration
from kreinflow.answering.levels import Levels
from kreinflow.answering.several_labels import Several
from kreinflow.base.errors import InputError
from kreinflow.files.state import Number, refusing_damage
from kreinflow.learners.decisions import KINDS
from views.test_lift import lift_and_objects

PROBLEM = Problem()
PATHS = np.array([[1, 2], [1, 3], [4, -1], [4, 5], [6, 7]])
RELATIVES = made_up(needed=np.array([1.0, np.inf]), paths=PATHS).relatives
RECORDS = {"records": PROBLEM.cascade.records}
SIZES = {"m": 6, "c": 5}
DECISIONS = {
    "linear": {"weights": (6, 5), "intercept": 5},
    "nearest": {"members": (6, 5)},
    "quadratic": {
        "matrix": (6, 2),
        "axes": (5, 2, 2),
        "centres": (5, 2),
        "scales": (5, 2),
        "constants": 5,
    },
    "elm": {
        "centre": 6,
        "deviation": 6,
        "support": (4, 6),
        "coefficients": (4, 5),
        "intercept": 5,
    },
}
SIBLINGS = {
    "weights": np.ones((6, 2)),
    "intercept": np.ones(2),
    "above": -np.ones(2),
    "leaf": np.array([1.0, 0.0]),
}
STATES = {
    **{
        kind: (KINDS[kind](**{name: np.ones(shape) for name, shape in shapes.items()}), SIZES, {})
        for kind, shapes in DECISIONS.items()
    },
    "siblings": (KINDS["siblings"](**SIBLINGS), {"m": 6, "c": 2}, {}),
    "lift": (lift_and_objects()[0], {"m": 5}, {}),
    "records": (PROBLEM.cascade.records, SIZES, {}),
    "cascade": (PROBLEM.cascade, SIZES, RECORDS),
    "machines": (PROBLEM.cascade.machines, SIZES, {}),
    "relatives": (RELATIVES, SIZES, RECORDS),
    "strangeness": (RELATIVES.strangeness, {}, {}),
    "forks": (ForkTemperatures(FORKS, 1.5, np.array([1.0, 2.0, 0.5])), {"c": 6}, {}),
    "levels": (Levels.of(CLASSES, ".", 0.9), {}, {"classes": CLASSES}),
    "calibration": (Calibration.of(*draw(np.random.default_rng(8), 30)), {"c": 4}, {}),
    "closeness": (
        Calibration.of(*draw(np.random.default_rng(8), 30)).with_closeness(
            np.random.default_rng(9).random(30), *draw(np.random.default_rng(8), 30)
        ),
        {"c": 4},
        {},
    ),
    "groups": (
        Calibration.of(*draw(np.random.default_rng(8), 30), np.full(30, 0.5)),
        {"c": 4},
        {},
    ),
    "several": (Several(*np.full((3, 4), 0.5)), {"c": 4}, {}),
    "nodes": (Several(*np.full((3, 4), 0.5), np.array([-1, 0, 1, -1])), {"c": 4}, {}),
}


@pytest.mark.parametrize("name", STATES)
def test_state_comes_back_bit_for_bit(name):
    state, sizes, given = STATES[name]
    header, arrays = state.to_parts()
    again = type(state).from_parts(json.loads(json.dumps(header)), arrays, sizes, **given)
    header_again, same = again.to_parts()
    assert header_again == header
    for key, array in arrays.items():
        np.testing.assert_array_equal(same[key], array)
        assert same[key].dtype == array.dtype


def damaged(header, arrays, declared):
    """Yield what differs from a header and arrays by one thing that is against the declaration."""
    for name, array in arrays.items():
        if not getattr(declared.get(name), "optional", False):
            yield header, {key: value for key, value in arrays.items() if key != name}
        others = [array[:-1], array[..., None], array[0], array.astype(complex)]
        others.append(np.zeros(array.shape, "f4" if array.dtype.kind != "f" else "i4"))
        yield from ((header, arrays | {name: other}) for other in others)
    for name, item in declared.items():
        if isinstance(item, Number):
            yield {key: value for key, value in header.items() if key != name}, arrays
            others = ["two", {}, [[1.0]], *([] if item.optional else [None])]
            others.append(1.0 if item.shape else [1.0])
            yield from ((header | {name: other}, arrays) for other in others)


@pytest.mark.parametrize("name", STATES)
def test_damaged_state_is_refused(name):
    state, sizes, given = STATES[name]
    header, arrays = state.to_parts()
    if name in ("cascade", "records"):  # of the parts of these see their own names
        arrays = {key: array for key, array in arrays.items() if key in type(state).state}
        whole = state.to_parts()[1]
    else:
        whole = arrays
    for other, changed in damaged(header, arrays, type(state).state):
        missing = arrays.keys() - changed.keys()
        given_arrays = {key: array for key, array in whole.items() if key not in missing} | changed
        with pytest.raises(InputError, match="^it: a part is"), refusing_damage("it", "So."):
            type(state).from_parts(other, given_arrays, sizes, **given)
