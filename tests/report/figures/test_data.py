import numpy as np
import pandas as pd

from kreinflow.report.figures import data
from kreinflow.report.times import COLUMNS
from report.made_up import dataset_report


def test_a_matrix_has_no_lengths(tables):
    statistics = {"class_sizes": {"a": 3, "b": 4}}
    for lengths, panels in (([], 1), ([0, 0], 1), ([10, 12], 2)):
        made = dataset_report(tables, statistics=statistics, lengths=lengths)
        assert len(data.classes_figure(made).axes) == panels


def test_spectrum_shows_both_signs_of_the_first_fold_uncorrected(tables):
    rows = [
        ("none", 0, 0, [4.0, -2.0, 1.0]),
        ("flip", 0, 0, [9.0, 9.0, 9.0]),
        ("none", 0, 1, [7.0, 7.0, 7.0]),
    ]
    table = pd.concat(
        pd.DataFrame({"correction": c, "repeat": r, "fold": k, "eigenvalue": values})
        for c, r, k, values in rows
    )
    figure = data.spectrum_figure(dataset_report(tables, spectrum=table))
    (axes,) = figure.axes
    steps = np.concatenate([patch.get_data().values for patch in axes.patches])
    np.testing.assert_allclose(steps, [1.0, 0.25, -0.5])
    signature = "2 positive, 1 negative (28.6% of all magnitudes)"
    assert axes.get_title(loc="left") == signature
    assert figure.get_label() == f"Eigenvalues: {signature}."


def test_landmarks_of_the_final_model_stand_on_the_range_of_the_folds(tables):
    rows = [(0, 0, "a"), (0, 0, "a"), (0, 0, "b"), (0, 1, "a"), (-1, -1, "b"), (-1, -1, "b")]
    own = pd.DataFrame(rows, columns=["repeat", "fold", "class"])
    figure = data.landmarks_figure(dataset_report(tables, own_landmarks=own))
    (axes,) = figure.axes
    assert axes.lines[0].get_xdata().tolist() == [0, 2]
    lines = [line[:, 0].tolist() for line in axes.collections[0].get_segments()]
    assert lines == [[1, 2], [0, 1]]
    assert figure.get_label() == (
        "2 landmarks in the final model, 0 to 2 of a class. In the folds 1 to 3."
    )


def test_a_run_whose_benchmarks_are_gone_has_a_figure_of_times(tables):
    figure = data.times_figure(dataset_report(tables, times=pd.DataFrame(columns=list(COLUMNS))))
    assert figure.get_label() == "0.0 seconds in all."
