"""What the learners share that set one class against the rest."""

import numpy as np

from kreinflow.learners.one_against_rest import fitted_classes, with_mirror


def test_of_two_classes_the_second_is_fitted_and_the_first_mirrors_it():
    assert fitted_classes(2).tolist() == [1]
    assert fitted_classes(3).tolist() == [0, 1, 2]
    coef, intercept = with_mirror(np.array([[2.0], [-3.0]]), np.array([0.5]), 2)
    assert coef.tolist() == [[-2.0, 2.0], [3.0, -3.0]]
    assert intercept.tolist() == [-0.5, 0.5]
    assert with_mirror(coef, intercept, 2)[0] is coef
