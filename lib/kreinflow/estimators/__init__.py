"""scikit-learn estimators: the pieces of the workflow for pipelines, searches and notebooks.

===========================  ===================================================================
:class:`NystroemClassifier`  learns from the scores with landmarks that are given
:class:`KreinClassifier`     chooses its landmarks: from a matrix, vectors or sequences
:class:`KreinNystroem`       the corrected embedding of a matrix, vectors or sequences
===========================  ===================================================================
"""

from kreinflow.estimators.columns import NystroemClassifier
from kreinflow.estimators.objects import KreinClassifier, KreinNystroem

__all__ = ["KreinClassifier", "KreinNystroem", "NystroemClassifier"]
