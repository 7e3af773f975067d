"""kreinflow: sparse, probabilistic classifiers from indefinite similarities.

The rooms stand in the order of the data. Each imports from those before it.
``docs/architecture.md`` shows the way of a landmark column through them:

* ``base``: errors, numerics, tiled matrices, random streams, the tree of labels.
* ``files``: tables, arrays, texts, checksums, the console of a job.
* ``kernels``: kernels of vectors and strings, and generated data.
* ``alignment``: Smith-Waterman scores, their transforms and their store.
* ``sequences``: data sets and their sources, folds, identity clusters, where scores come from.
* ``views``: what is known of objects beside their scores; kernels over both.
* ``krein``: the Krein factor, its eigenpairs and corrections.
* ``landmarks``: the selectors.
* ``learners``: the methods that recipes name.
* ``answering``: what a model says of a query. Nothing here learns.
* ``fitting``: how each part of a model is learned.
* ``config``: the configuration, its checks, the plan of a run, the cost model.
* ``classify``: the model file, and what is done with it.
* ``evaluation``: metrics, comparisons, cross-validation in memory.
* ``estimators``: the same for scikit-learn.
* ``report``: tables, figures and the page.
* ``compare``: what people run today.
* ``commands``: the subcommands of the command line; what ``init`` proposes.

The scikit-learn estimators of :mod:`kreinflow.estimators` can be had from here as well.
"""

import os
import signal
from importlib import import_module
from typing import Any

__version__ = "0.12.0"

if "KREINFLOW_JOB" in os.environ and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # A process that rules/common.smk starts: Ctrl-C during the imports ends it as it ends any
    # program, without the traceback of what is being imported. Then kreinflow.files.console hears
    # it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

_ESTIMATORS = ("KreinClassifier", "KreinNystroem", "NystroemClassifier")


def __getattr__(name: str) -> Any:
    """Return an estimator: only who asks for one waits for the import of scikit-learn."""
    if name in _ESTIMATORS:
        return getattr(import_module("kreinflow.estimators"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
