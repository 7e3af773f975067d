"""kreinflow: sparse, probabilistic classifiers from indefinite similarities.

The package follows the way of the data: :mod:`kreinflow.sequences`,
:mod:`kreinflow.alignment`, :mod:`kreinflow.landmarks`, :mod:`kreinflow.krein`,
:mod:`kreinflow.models`, :mod:`kreinflow.evaluation`, :mod:`kreinflow.report`.
A package imports only from those before it in this list, and from the small
modules that all share: errors, randomness, numerics, artifacts.
"""

__version__ = "0.1.0"
