"""Figures of a data set, by the names of their files, and what each of them shows."""

CAPTIONS = {
    "classes": "Sizes of the classes, and lengths of the sequences where there are any.",
    "landmarks": "Landmarks of each class: a dot is the number in the final model, a line goes "
    "from the fewest to the most in a fold.",
    "spectrum": "Eigenvalues of the approximated kernel as shares of the largest, of the final "
    "model's landmarks and transform. They are of the first fold, or of all data where no recipe "
    "learns from a factor of this kernel. Positive ones are blue, negative ones vermilion. The "
    "axis is logarithmic outside 0.0001.",
    "map": "Objects and landmarks (black edges) of the final model in two dimensions of the Krein "
    "space of its scores: axes are named with the sign and size of their eigenvalue.",
    "comparison": "Accuracy of each recipe on the outer folds: mean and standard deviation. The "
    "recipe of the final model is shaded.",
    "confusion": "Confusion matrix of the model on the outer folds, each row divided by its sum: "
    "right predictions blue, errors vermilion. Numbers are records (mean over repeats).",
    "alignments": "Accuracy against what a new object costs (recipes of equal cost are set side by "
    "side). The marker of the final model is larger and has a black edge. The dashed line is the "
    "cost without landmarks.",
    "reject": "Errors among the predictions that are kept when the least certain are set aside "
    "(line). The marker shows what the models of the outer folds accept, and how much of it is "
    "wrong. They reject what is below their threshold, and for other reasons too where there are "
    "such, so the marker need not be on the line. The threshold is that of the final model.",
    "calibration": "How often predictions of a given probability are right, above how many there "
    "are. The boxes hold 95 % of what perfect probabilities would show with so many predictions.",
    "sets": "Sets of labels. Left: how often they hold the true label, against the confidence that "
    "was asked for (dashes); a dot is a class, the large marker all records. Right: how many "
    "labels are in them; above the bars the mean.",
    "times": "Where the time went: seconds of each stage, summed over its jobs.",
    "unknown": "Left: objects of unknown classes that are rejected, against those of known "
    "classes, as the threshold of the p-value, or of the probability where there is none, grows "
    "from left to right: mean over outer folds at each share of the known. The marker has the "
    "means of what the models reject, for whatever reason; on the dashed line nothing is told "
    "apart. Right: why known objects are rejected, and those of each class held out.",
    "levels": "The model at each level of the classes. Left: how many records have another node "
    "there than the likeliest one, and than the one that is answered. Right: how many are answered "
    "at the level or below it.",
}
"""What each figure shows, on outer folds of the final model's figures, but those that compare
recipes."""

FIGURES = tuple(name for name in CAPTIONS if name not in ("unknown", "levels"))
"""Those that all data sets have."""

SEVERAL_CAPTIONS = CAPTIONS | {
    "map": "Objects and landmarks (black edges) of the final model in two dimensions of the Krein "
    "space of its scores, each by the rarest of its labels: axes are named with the sign and size "
    "of their eigenvalue.",
    "comparison": "Share of the records all of whose labels are right, and that are given no "
    "other, by each recipe on the outer folds: mean and standard deviation. The recipe of the "
    "final model is shaded.",
    "confusion": "Of the records that have a label (row), the share that were given it (blue), and "
    "that were given another label (column) wrongly (vermilion), by the model on the outer folds. "
    "Numbers are records (mean over repeats).",
    "reject": "Wrong ones among the labels that are kept when the least certain are set aside.",
    "calibration": "How often a record has a label of a given probability, above how many such "
    "probabilities there are. The boxes hold 95 % of what perfect probabilities would show with so "
    "many, were labels independent.",
}
"""The same where records may have several labels."""
