"""The figures of the papers: which are drawn, and why the others are not.

Light to import: the workflow asks for the names while it is parsed. The module of the same name in
:mod:`kreinflow.papers.plots` measures and draws. Captions speak of the figures of the seed 1.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kreinflow.papers.experiments import load_experiments


class PaperFigure(NamedTuple):
    """A figure of ours beside one of a paper."""

    source: str
    """A key of :data:`kreinflow.base.references.REFERENCES`."""
    figure: str
    """Its number in the paper."""
    caption: str
    """What ours shows, and what the paper's does."""
    experiment: str = ""
    """Whose files it shows too; without them their part of the figure is left out."""

    def present(self, folder: Path) -> list[str]:
        """Return the paths of these files in a data folder; empty if one of them is not there."""
        return load_experiments()[self.experiment].present(folder) if self.experiment else []


class FigureLeftOut(NamedTuple):
    """A figure of a paper that is not drawn."""

    source: str
    figure: str
    reason: str


PROTEIN213 = "protein213"

FIGURES: Mapping[str, PaperFigure] = {
    "eigenmap": PaperFigure(
        "schleif2018",
        "1",
        "Laplacian eigenmaps of K K' (negative entries taken as 0); colour and mark are the "
        "class. The paper maps the kernels without approximation, as the first row does: its "
        "classes overlap on the balls and the checkerboard and part on the proteins and the "
        "Gaussians, and so do ours. Below are the kernels approximated with the landmarks of the "
        "enclosing balls, turned onto the map above. The maps of the two psd kernels are the "
        "same. Of the indefinite ones the untruncated approximation is off by more than the "
        "kernel itself, and its map is another one; with the rank chosen by the misfit of the "
        "self-scores the proteins come back, the balls in outline. Without the files of "
        "protein213 its column is missing.",
        PROTEIN213,
    ),
    "decision_regions": PaperFigure(
        "schleif2018",
        "2",
        "Ny-iKFD on one fold of the checkerboard (large marks: the test points; rings: the "
        "landmarks), each selector with as many landmarks as the enclosing balls find. The paper: "
        "9 landmarks, about 90 % with the balls, 92 % with k-means, 72 % drawn at random. Here "
        "the balls find about 19, on the rim of each class; none is in the middle square, whose "
        "points are lost. k-means covers the board, as in the paper, and is better. That uniform "
        "landmarks do worst is not seen: at 19 it depends on the draw. One fold has 90 test "
        "points; Figure 6, of ten folds, is the one to compare selectors by.",
    ),
    "spectra": PaperFigure(
        "schleif2018",
        "3",
        "Both ends of the spectrum of the ball data (black), and of its approximations (bars); "
        "error is relative, in the Frobenius norm. The paper: the landmarks of the enclosing "
        "balls capture the negative eigenvalues, random and k-means landmarks do not. Here the "
        "balls find 5 landmarks (seed 1; the paper 8), too few for any selector: one or two "
        "negative eigenvalues are found, and some of them are not of the kernel but of the "
        "untruncated inverse of a badly conditioned W, which puts an eigenvalue far beyond all "
        "others. With 20 landmarks every selector finds about 15 negative eigenvalues, and none "
        "stands out, but that the accident may befall any of them. So their number decides, not "
        "their choice.",
    ),
    "reconstructed_kernel": PaperFigure(
        "schleif2018",
        "4",
        "The linear kernel of three Gaussians (every tenth object of the large one) and what the "
        "landmarks make of it. As in the paper the block of the two small Gaussians is gone if "
        "the landmarks are chosen by k-means, by entropy or at random, and is there with the "
        "enclosing balls, which look at each class; leverage scores, which look at directions, "
        "keep it too. The paper gives no means, deviations or kernel: the generator's were chosen "
        "for this effect, so the figure shows that it exists, not how often.",
    ),
    "bananas": PaperFigure(
        "schleif2018",
        "5",
        "Two bananas of falling overlap (ELM kernel); accuracy of Ny-iKFD (10 folds, 5 draws of "
        "folds and landmarks) against the relative Frobenius error. Agreed: two landmarks are not "
        "enough, whatever the overlap; with as many as the enclosing balls find, k-means has the "
        "smallest error and no better accuracy, and the balls are the most accurate at the "
        "smallest overlaps with a larger error, so that the error does not tell the accuracy. "
        "Uniform landmarks of that number are worse, as the paper says, but by three points at "
        "most. The entropy falls behind where the bananas are apart.",
    ),
    "landmark_numbers": PaperFigure(
        "schleif2018",
        "6",
        "Accuracy of Ny-iKFD on the checkerboard, and Frobenius error, against the number of "
        "landmarks, for all selectors on equal terms: the enclosing balls are cut to a budget, or "
        "grown to it. The paper varies the number for k-means alone, and finds that the balls' "
        "own number is a good one, more landmarks help the error but hardly the accuracy, and the "
        "balls' own landmarks are nearly as good. Here the first holds (k-means is at its plateau "
        "at the number that the balls find, the square), and so does the second; the third does "
        "not: from 19 to 40 landmarks the balls, like the entropy, stay on the rim of the "
        "classes, 4 to 10 points below the others, and catch up when the points that are worst "
        "represented are added. The scale of the paper's data and its form of the ELM kernel are "
        "not known.",
    ),
    "pseudo_euclidean_plane": PaperFigure(
        "schleif2018",
        "7",
        "Two Gaussians in R^(1,1) (dotted: vectors of length 0), one fold of ten; rings are "
        "landmarks. The paper: 93.5 % for iKFD and 88.5 % for Ny-iKFD. The kernel has rank 2, so "
        "that any two landmarks that are not collinear make it again exactly: all three functions "
        "are the same to rounding, and so are the accuracies. The paper's difference of five "
        "points must come from one more approximation, or from other folds. The line is that of "
        "Fisher's discriminant in the plane: signs cancel out of it.",
    ),
    "rank_preservation": PaperFigure(
        "gisbrecht2015",
        "4",
        "Spearman correlation of the entries of the flipped kernel with those of its "
        "approximation (boxes: ten draws of uniform landmarks), and accuracy of the core vector "
        "machine on it (boxes: ten folds). The paper's three data sets cannot be had; these are "
        "balls, the 213 proteins where their files are, and simulated protein families "
        "(logarithms of alignment scores). As in the paper, the ranks are worst not with the "
        "fewest landmarks but in between, where small eigenvalues come in, and are restored near "
        "all; and accuracy hardly follows. The dip is that of the untruncated inverse of an "
        "indefinite W: with the rank chosen by the misfit it is gone for the proteins, and "
        "smaller for the families. On the balls, ranks are kept by any landmarks, for three large "
        "eigenvalues make them, while the classes are in the small negative ones: there a smaller "
        "rank can cost accuracy.",
        PROTEIN213,
    ),
    "runtime": PaperFigure(
        "gisbrecht2015",
        "6",
        "Time from balls to a flipped kernel, scores included, on one core: from all "
        "dissimilarities, and from those with 100 landmarks, with the slope fitted over N >= "
        "1,000 and N >= 16,000; and the error of the second. The paper: on its largest data set, "
        "500 landmarks, two orders of magnitude. Here it is hundreds of times at N = 4,000, where "
        "the full way stops, and the slopes are near 3 and 1, as they should. Below N = 4,096, "
        "one tile of rows, the linear way takes a constant time. Classifiers are not part of "
        "these times.",
    ),
    "samplers": PaperFigure(
        "oglic2019",
        "1 and 2",
        "Error of approximations of rank k with k or k ln n landmarks (up to half of the "
        "objects), and its processor time, all scores given: the difference of two Gaussian "
        "kernels of the widths d^(1/2) and 2 d^(1/2), d features of unit variance, negative part "
        "50 %; medians of 5 draws. The paper's tables are not at hand: these come with "
        "scikit-learn. Agreed: the error falls steeply with the rank; k ln n landmarks come close "
        "to the best that rank k can do, k landmarks do not; and leverage scores and kernel "
        "k-means++ are close to each other. Not seen: that one of the two is clearly better than "
        "uniform landmarks, which are faster, or a smooth fall: any selector has jumps, where W "
        "is badly conditioned, even in medians.",
    ),
    "classification_ranks": PaperFigure(
        "oglic2019",
        "3",
        "Classification error against the rank, landmarks by kernel k-means++, hyper-parameters "
        "from inner folds. The paper shows medians of ten folds; with so few test objects these "
        "are multiples of a fold's, so means are drawn. Balls and proteins are two of the paper's "
        "five data sets by name (its balls have other radii, its proteins are one class against "
        "the rest as here); the third is simulated. Agreed: errors fall with the rank, and the "
        "baseline SF-LSM is quite competitive, the best of the four on the proteins with 50 "
        "landmarks and more. Krein SH-SVM is ahead with few landmarks and on the families.",
        PROTEIN213,
    ),
}
"""By the name of the file, ``figures/NAME.png``; in the order of the page."""

LEFT_OUT: Sequence[FigureLeftOut] = (
    FigureLeftOut("gisbrecht2015", "1", "a scheme of transformations, without data"),
    FigureLeftOut("gisbrecht2015", "2", "a scheme of transformations, without data"),
    FigureLeftOut("gisbrecht2015", "3", "accuracy by size of SwissProt: its scores are wanted"),
    FigureLeftOut("gisbrecht2015", "5", "spectra of three real data sets: their files are wanted"),
    FigureLeftOut("schleif2015epcvm", "1", "time on a larger data set that is not named"),
)
"""Figures that are not drawn."""
