"""What views, lifts, corrections and learners say of each other."""

import pytest

from kreinflow.configuration import complete_configuration
from kreinflow.errors import InputError
from registries import one_recipe


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"lift": {"width": 0}}, "width: 0 is not more than 0"),
        ({"lift": {"width": "wide"}}, "width: 'wide' is not a number or inner"),
        ({"lift": {"inducing": 1}}, "inducing: 1 is not at least 2"),
        ({"lift": {"kernel": "rbf"}}, "kernel: 'rbf' is none of gaussian, linear"),
        ({"lift": {}, "correction": "flip"}, "'it': a lift has no negative eigenvalues"),
        ({"lift": {}, "rank": 5}, "'it': a lift keeps all of its inducing points. Leave out rank"),
        ({"views": {"words": [1, 1]}}, "words"),
        ({"views": {"words": [5]}}, "5 is not at most 4"),
        ({"views": {"words": []}}, r"words: \[\] is empty"),
        ({"views": {"word": [1]}}, "unknown key 'word'; did you mean 'words'"),
        ({"views": {"words": [1]}, "correction": "clip"}, "a lift has no negative eigenvalues"),
    ],
)
def test_views_and_lifts_that_cannot_be_are_refused(more, message):
    content = one_recipe()
    content["recipes"][0] |= more
    with pytest.raises(InputError, match=message):
        complete_configuration(content)


def test_a_lift_lets_learners_that_need_no_negative_eigenvalue_do_without_a_correction():
    content = one_recipe(learner={"method": "cvm"})
    with pytest.raises(InputError, match="cvm cannot learn from negative eigenvalues"):
        complete_configuration(content)
    content["recipes"][0] |= {"correction": "none", "lift": {"kernel": "gaussian"}}
    complete_configuration(content)
