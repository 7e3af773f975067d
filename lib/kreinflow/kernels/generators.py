"""The artificial data of the papers, as far as they say what it was.

What a paper leaves open was fixed before any method was run on the data, except in
:class:`ThreeGaussians`. Two settings were added after results: ``gap`` of :class:`Checkerboard`,
``centre`` of :class:`ThreeGaussians`. Their default is the first choice.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray
from kreinflow.base.random_streams import stream
from kreinflow.base.settings import SettingsSchema, by_name, number, whole_number
from kreinflow.kernels.kernel import Named


class Generated(NamedTuple):
    """Vectors, of shape (n, n_features), and the class of each."""

    vectors: FloatArray
    labels: tuple[str, ...]


def _objects(default: int) -> dict[str, Any]:
    return whole_number("vectors of all classes together", 10_000_000, default, minimum=4)


class Generator(Named):
    """A way to draw vectors of two classes, which have the codes 0 and 1.

    ``turns`` are codes that are repeated over all vectors.
    """

    settings_schema: ClassVar[SettingsSchema] = {"objects": _objects(200)}
    classes: ClassVar[tuple[str, str]]
    turns: ClassVar[tuple[int, ...]] = (0, 1)

    @abstractmethod
    def vectors(self, codes: NDArray[np.intp], random: np.random.Generator) -> FloatArray:
        """Return a vector for each code."""


class RandomBalls(Generator):
    """Balls of two sizes at random places; with the kernel ``ball``.

    Centres are uniform in the box :math:`[0, 100]^3`; balls of the class ``small`` have the
    radius 1, those of ``large`` 2.

    Duin & Pekalska (2010) proposed the data; schleif2018 (4.3) and gisbrecht2015 (5.4, 7) give
    neither dimension, box nor radii; oglic2019 has 3 dimensions. Box and radii are the defaults of
    ``genballd`` of the toolbox DisTools, which lets no balls overlap. The negative eigen-fraction
    is about 3.5 % at every size; oglic2019 gives 0.07 %.
    """

    name = "ball"
    phrase = "{objects} balls of radius 1 or 2 in a box of side 100"
    classes = ("small", "large")

    def vectors(self, codes: NDArray[np.intp], random: np.random.Generator) -> FloatArray:
        return np.column_stack([100.0 * random.random((len(codes), 3)), 1.0 + codes])


class Checkerboard(Generator):
    """A 3 x 3 board of squares around the origin; with the kernel ``elm``.

    Vector i is uniform in the square i modulo 9; the middle and the corners are ``black``. The
    middles of squares are 1 apart, with empty stripes of the width ``gap`` between. schleif2018
    (4.3) gives squares, labels and kernel; all its accuracies are multiples of 1/900.
    """

    name = "checkerboard"
    classes = ("black", "white")
    turns = (0, 1, 0, 1, 0, 1, 0, 1, 0)
    phrase = "{objects} points on a 3 x 3 checkerboard (gap {gap:g})"
    settings_schema: ClassVar[SettingsSchema] = {
        "objects": _objects(900),
        "gap": number("width of the stripes between squares", 0, minimum=0, maximum=0.9),
    }

    def vectors(self, codes: NDArray[np.intp], random: np.random.Generator) -> FloatArray:
        square = np.arange(len(codes)) % 9
        gap = self.settings["gap"]
        corner = np.column_stack([square // 3, square % 3]) - 1.5 + gap / 2
        return np.asarray(corner + (1 - gap) * random.random((len(codes), 2)))


class Gaussians(Generator):
    """Two round Gaussians in the plane that overlap substantially; with the kernel ``elm``.

    schleif2018 (4.3) gives no parameters; its accuracies are multiples of 1/200. At this distance
    no classifier can be right more often than in 91.9 %, a little above the paper's best, 90 %.
    """

    name = "gaussians"
    phrase = "{objects} points of two Gaussians that overlap"
    classes = ("left", "right")

    MEAN = (1.4, 0.0)

    def vectors(self, codes: NDArray[np.intp], random: np.random.Generator) -> FloatArray:
        noise = random.standard_normal((len(codes), 2))
        return noise + np.outer(2 * codes - 1, self.MEAN)


class Bananas(Generator):
    """Two half circles of radius 1 that reach into each other, blurred by a Gaussian.

    The upper one is (cos a, sin a), the lower one (1 - cos a, 1/2 - sin a), a uniform in
    [0, pi]. ``overlap`` is the standard deviation of the Gaussian: at 0.1 the bananas are
    apart, at 0.5 they are one cloud. schleif2018 (figure 5) gives neither formula nor sizes.
    """

    name = "bananas"
    phrase = "{objects} points of two banana-shaped classes (overlap {overlap:g})"
    classes = ("upper", "lower")
    settings_schema: ClassVar[SettingsSchema] = {
        "objects": _objects(200),
        "overlap": number("deviation of points from a half circle", 0.25, minimum=0, maximum=10),
    }

    def vectors(self, codes: NDArray[np.intp], random: np.random.Generator) -> FloatArray:
        angle = np.pi * random.random(len(codes))
        x, y = np.cos(angle), np.sin(angle)
        curve = np.column_stack([np.where(codes, 1 - x, x), np.where(codes, 0.5 - y, y)])
        noise = random.standard_normal(curve.shape)
        return np.asarray(curve + self.settings["overlap"] * noise)


class ThreeGaussians(Generator):
    r"""500 + 20 + 20 points of three Gaussians in 10 dimensions; with the kernel ``linear``.

    The large one is a class of its own, moved from the origin by ``centre`` standard deviations in
    each of the first two dimensions. The two small ones are the other class and lie on the third
    axis alone.

    Without landmarks in the small Gaussians the approximated kernel puts all their points at the
    origin. Fisher's discriminant is then right in a share of
    :math:`(40 + 500 \, \Phi(c / \sqrt 2)) / 540` of all points for the ``centre`` c.

    schleif2018 (4.3) gives the numbers of points, the dimensions, the classes and that all are
    perfectly separated. This is the second choice of parameters: with the first (the kernel
    ``elm``, a smaller large Gaussian) k-means and entropy found the small classes, against the
    paper.
    """

    name = "three_gaussians"
    classes = ("large", "small")
    phrase = "500 + 20 + 20 points of three Gaussians in 10 dimensions (centre {centre:g})"
    settings_schema: ClassVar[SettingsSchema] = {
        "centre": number("of the large Gaussian, in its deviations", 0, minimum=0, maximum=100)
    }

    LARGE, SMALL, DIMENSIONS = 500, 20, 10

    turns = (0,) * LARGE + (1,) * 2 * SMALL

    def vectors(self, codes: NDArray[np.intp], random: np.random.Generator) -> FloatArray:
        deviations = np.full(self.DIMENSIONS, 0.1)
        deviations[:3] = 5.0, 5.0, 0.0
        large = deviations * random.standard_normal((self.LARGE, self.DIMENSIONS))
        large[:, :2] += self.settings["centre"] * 5.0
        small = np.zeros((2 * self.SMALL, self.DIMENSIONS))
        means = np.repeat([4.0, 6.0], self.SMALL)
        small[:, 2] = means + 0.25 * random.standard_normal(2 * self.SMALL)
        return np.vstack([large, small])


class PseudoEuclideanGaussians(Gaussians):
    """Two Gaussians in the plane R^(1,1); with the kernel ``pseudo_euclidean``, ``positive: 1``.

    schleif2018 (section 7) says "slightly overlapping"; its accuracies are multiples of 1/200. At
    this distance no classifier can be right more often than in 95.3 %.
    """

    name = "pseudo_euclidean_gaussians"
    phrase = "{objects} points of two Gaussians in R^(1,1)"

    MEAN = (1.5, 0.75)


class Twonorm(Generator):
    r"""Breiman's twonorm: two Gaussians in 20 dimensions; with the kernel ``elm``.

    Means (a, ..., a) and (-a, ..., -a) with :math:`a = 2/\sqrt{20}`, unit covariances; then
    divided by the standard deviation of the mixture, :math:`\sqrt{1 + a^2}`, as schleif2015epcvm
    normalises its data; 7,400 points there. No classifier can be right more often than in 97.7 %.
    Breiman (1996), Technical Report 460, University of California, Berkeley.
    """

    name = "twonorm"
    phrase = "{objects} points of Breiman's twonorm"
    classes = ("above", "below")
    settings_schema: ClassVar[SettingsSchema] = {"objects": _objects(7400)}

    DIMENSIONS = 20

    def vectors(self, codes: NDArray[np.intp], random: np.random.Generator) -> FloatArray:
        a = 2 / np.sqrt(self.DIMENSIONS)
        X = random.standard_normal((len(codes), self.DIMENSIONS)) + a * (1 - 2 * codes[:, None])
        return np.asarray(X / np.sqrt(1 + a**2))


class Ringnorm(Twonorm):
    r"""Breiman's ringnorm: a Gaussian inside another in 20 dimensions; with the kernel ``elm``.

    The wide one has mean 0 and covariance 4 I, the narrow one mean (a, ..., a) and unit
    covariance, :math:`a = 2/\sqrt{20}` as in the data of the DELVE archive. Mean and standard
    deviation of the mixture are taken out. No classifier can be right more often than in 98.8 %.
    """

    name = "ringnorm"
    phrase = "{objects} points of Breiman's ringnorm"
    classes = ("wide", "narrow")

    def vectors(self, codes: NDArray[np.intp], random: np.random.Generator) -> FloatArray:
        a = 2 / np.sqrt(self.DIMENSIONS)
        X = random.standard_normal((len(codes), self.DIMENSIONS)) * (2 - codes[:, None])
        X += a * codes[:, None]
        # Half of the points have variance 4, half 1, and the means differ by a.
        return np.asarray((X - a / 2) / np.sqrt(2.5 + a**2 / 4))


class Waveform(Generator):
    r"""Breiman's waveforms in 21 dimensions, the first class against the others; kernel ``elm``.

    A vector is a random convex combination of two of three triangular waves

    .. math:: h_1(i) = \max(0, 6 - |i - 11|), \quad h_2(i) = h_1(i - 4), \quad
              h_3(i) = h_1(i + 4), \qquad i = 1, \ldots, 21

    with noise of variance 1. Class ``first`` mixes h_1 and h_2; ``others`` are h_1 and h_3, and
    h_2 and h_3, a third of all points each. No classifier can be right more often than in 92 %.
    schleif2015epcvm has two classes without saying which of the three are one. Breiman, Friedman,
    Olshen, Stone (1984), Classification and Regression Trees, section 2.6.2.
    """

    name = "waveform"
    classes = ("first", "others")
    turns = (0, 1, 1)
    phrase = "{objects} points of Breiman's waveforms, one class against two"
    settings_schema: ClassVar[SettingsSchema] = {"objects": _objects(5000)}

    def vectors(self, codes: NDArray[np.intp], random: np.random.Generator) -> FloatArray:
        waves = np.maximum(6.0 - np.abs(np.arange(1, 22) - np.array([[11], [15], [7]])), 0.0)
        left, right = waves[[0, 0, 1]], waves[[1, 2, 2]]
        n = len(codes)
        pair = np.arange(n) % 3
        share = random.random((n, 1))
        X = share * left[pair] + (1 - share) * right[pair] + random.standard_normal((n, 21))
        means = (left + right) / 2
        # Of a uniform share u: E u^2 = 1/3, E u (1 - u) = 1/6.
        squares = (left**2 + left * right + right**2) / 3
        deviation = np.sqrt(1 + squares.mean(axis=0) - means.mean(axis=0) ** 2)
        return np.asarray((X - means.mean(axis=0)) / deviation)


GENERATORS: dict[str, type[Generator]] = by_name(
    RandomBalls,
    Checkerboard,
    Gaussians,
    Bananas,
    ThreeGaussians,
    PseudoEuclideanGaussians,
    Twonorm,
    Ringnorm,
    Waveform,
)
"""By the name in the config."""


def generate(settings: Mapping[str, Any], seed: int) -> Generated:
    """Draw the data of a ``generator`` of the config: the same for the same settings and seed."""
    generator = GENERATORS[settings["name"]](settings)
    codes = np.resize(generator.turns, generator.settings.get("objects", len(generator.turns)))
    vectors = generator.vectors(codes, stream(seed, "generator", generator.name))
    return Generated(vectors, tuple(generator.classes[code] for code in codes.tolist()))
