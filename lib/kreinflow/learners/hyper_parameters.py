"""Hyper-parameters that inner folds may choose: their schemas, the values tried, their words."""

from collections.abc import Mapping
from typing import Any

RIDGE_GRID: tuple[float, ...] = tuple(10.0**power for power in range(0, -9, -1))
"""Ridges of least squares, relative to the mean variance of the columns; the larger first."""

COARSE_RIDGE_GRID: tuple[float, ...] = (1e-2, 1e-4, 1e-6, 1e-8)
"""The same for many columns, where each ridge costs much."""

LAMBDA_GRID: tuple[float, ...] = (1.0, 1e-2, 1e-4, 1e-6, 1e-8)
"""Values of lambda+ and of lambda- that are tried, as pairs."""

COARSE_LAMBDA_GRID: tuple[float, ...] = (1.0, 1e-3, 1e-6)
"""The same where a third hyper-parameter is tried with them."""

PENALTIES: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0)
"""C for a kernel of mean diagonal 1; the smaller, which fits less closely, first."""

LARGEST_PENALTY = 1e8
"""Beyond it 1/C is lost beside the kernel in double precision."""


def number_or_inner(
    description: str, default: float | str = "inner", **bounds: float
) -> Mapping[str, Any]:
    """Return the JSON schema of a hyper-parameter that inner folds may choose."""
    return {
        "description": description,
        "type": ["number", "string"],
        **bounds,
        "pattern": "^inner$",
        "default": default,
    }


def in_words(value: float | str, given: str = "{:g}") -> str:
    """Return what the methods paragraph says of a setting, ``given`` being for a number."""
    return "chosen on inner folds" if value == "inner" else given.format(value)
