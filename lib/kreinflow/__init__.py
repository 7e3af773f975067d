"""kreinflow: sparse, probabilistic classifiers from indefinite similarities.

The package follows the way of the data: :mod:`kreinflow.sequences`,
:mod:`kreinflow.alignment`, :mod:`kreinflow.landmarks`, :mod:`kreinflow.krein`,
:mod:`kreinflow.models`, :mod:`kreinflow.evaluation`, :mod:`kreinflow.report`.
A package imports only from those before it in this list, and from the small
modules that all share: errors, randomness, numerics, artifacts.

The scikit-learn estimators of :mod:`kreinflow.estimators` can be had from here as well.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_ESTIMATORS = ("KreinClassifier", "KreinNystroem", "NystroemClassifier")


def __getattr__(name: str) -> Any:
    """Return an estimator: only who asks for one waits for the import of scikit-learn."""
    if name in _ESTIMATORS:
        return getattr(import_module("kreinflow.estimators"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
