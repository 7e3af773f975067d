"""Approximate kernel k-means++ over all classes, in the feature space of the flipped kernel."""

import numpy as np
from numpy.typing import NDArray

from kreinflow.landmarks.kmeans import kmeans_plus_plus
from kreinflow.landmarks.selector import SketchSelector
from kreinflow.landmarks.sketch import Sketch


class KernelKMeansPlusPlus(SketchSelector):
    r"""Rows drawn by k-means++ with the distances of the flipped kernel.

    .. math:: \| z^*_i - z^*_j \|^2 = |\tilde K|_{ii} + |\tilde K|_{jj} - 2 |\tilde K|_{ij}

    References
    ----------
    .. [1] Oglic, D., Gärtner, T.: Scalable learning in reproducing kernel Krein spaces.
       ICML 2019, PMLR 97, section 2.3.
    """

    method = "kernel_kmeans++"
    references = ("oglic2019", "arthur2007")
    phrase = "approximate kernel k-means++ on the flipped kernel"

    def choose(self, sketch: Sketch, count: int, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Draw the rows; see :func:`~kreinflow.landmarks.kmeans.kmeans_plus_plus`."""
        return kmeans_plus_plus(sketch.flipped, count, keys)
