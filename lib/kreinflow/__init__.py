"""kreinflow: sparse, probabilistic classifiers from indefinite similarities.

The packages stand in the order of the data. Each imports from those before it, or from others on
its own line. ``docs/architecture.md`` shows the way of a landmark column through them:

* ``errors, settings, randomness, numerics, binomial, tall, compiled, references, workflow_folder``:
  what all share.
* ``checksums, artifacts, provenance``: files, and what they came from.
* ``console``: what a job says, and how it ends.
* ``failures``: why jobs failed, and which are tried again.
* ``hierarchy``: the tree of labels that are paths.
* ``kernels``: kernels of vectors and strings, and generated data.
* ``alignment``: Smith-Waterman scores, their transforms and their store.
* ``sequences``: data sets and their sources, folds, identity clusters.
* ``scores``: where the scores of a data set come from.
* ``views``: what is known of objects beside their scores; kernels over both.
* ``krein``: the Krein factor, its eigenpairs and corrections.
* ``landmarks``: the selectors.
* ``learners``: the methods that recipes name.
* ``models``: training, calibration, the choice of a recipe, the files of factors and models.
* ``account, costs, lift_costs, cascade_costs, relating_costs, query_costs, plan, run_costs``:
  alignments, minutes and memory of a run, and of a new object; its selectors, folds, files.
* ``automatic, schema, cross_references, paths, configuration``: the configuration, checked and
  complete; what stands in for recipes that it does not name.
* ``preflight``: all checks before a run.
* ``proposing``: a config from what is found in data.
* ``classify``: the model file, and what is done with it.
* ``evaluation``: metrics, comparisons, cross-validation in memory.
* ``estimators``: the same for scikit-learn.
* ``report``: tables, figures and the page.
* ``competitors``: what people run today.
* ``papers``: the figures of the papers, and ours.
* ``commands``: the subcommands of the command line.
* ``cli``: its entry.

The scikit-learn estimators of :mod:`kreinflow.estimators` can be had from here as well.
"""

import os
import signal
from importlib import import_module
from typing import Any

__version__ = "0.10.0"

if "KREINFLOW_JOB" in os.environ and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # A process that rules/common.smk starts: Ctrl-C during the imports ends it as it ends any
    # program, without the traceback of what is being imported. Then kreinflow.console hears it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

_ESTIMATORS = ("KreinClassifier", "KreinNystroem", "NystroemClassifier")


def __getattr__(name: str) -> Any:
    """Return an estimator: only who asks for one waits for the import of scikit-learn."""
    if name in _ESTIMATORS:
        return getattr(import_module("kreinflow.estimators"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
