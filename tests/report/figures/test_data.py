import numpy as np
import pandas as pd

from kreinflow.report.figures import data


def test_a_matrix_has_no_lengths():
    for lengths, panels in (([], 1), ([0, 0], 1), ([10, 12], 2)):
        assert len(data.classes_figure({"a": 3, "b": 4}, lengths).axes) == panels


def test_spectrum_shows_both_signs_of_the_first_fold_uncorrected():
    rows = [
        ("none", 0, 0, [4.0, -2.0, 1.0]),
        ("flip", 0, 0, [9.0, 9.0, 9.0]),
        ("none", 0, 1, [7.0, 7.0, 7.0]),
        ("none", -1, -1, [8.0, 8.0, 8.0]),
    ]
    table = pd.concat(
        pd.DataFrame({"correction": c, "repeat": r, "fold": k, "eigenvalue": values})
        for c, r, k, values in rows
    ).assign(selector="meb", transform="log", rank_wanted="misfit")
    (axes,) = data.spectrum_figure(table).axes
    steps = np.concatenate([patch.get_data().values for patch in axes.patches])
    np.testing.assert_allclose(steps, [1.0, 0.25, -0.5])
    assert "2 positive, 1 negative (28.6%)" in axes.get_title(loc="left")


def test_landmarks_are_counted_by_class_and_fold():
    table = pd.DataFrame(
        {
            "selector": "_s",
            "repeat": [0, 0, 0, 0, -1],
            "fold": [0, 0, 0, 1, -1],
            "class": ["a", "a", "b", "a", "b"],
        }
    )
    figure = data.landmarks_figure(table)
    (axes,) = figure.axes
    np.testing.assert_allclose(axes.lines[0].get_xdata(), [1.5, 0.5])
    (label,) = figure.legends[0].get_texts()  # matplotlib would leave out what begins with "_"
    assert label.get_text().strip("\u200b") == "_s (2 in all)"
