import pandas as pd
import pytest

from kreinflow.answering.reject_threshold import NOTHING_ACCEPTED, RejectRule
from kreinflow.report.advice import warnings_of
from kreinflow.report.cascades import Lost


def sound():
    place = {"repeat": [0, 0, -1], "fold": [0, 1, -1]}
    return {
        "statistics": {"class_sizes": {"a": 10, "b": 200}},
        "landmarks": pd.DataFrame(
            {"recipe": "r", "selector": "meb", "class": "a", "reached": True, **place}
        ),
        "factors": pd.DataFrame({"recipe": "r", "misfit": 0.5, **place}),
        "models": pd.DataFrame(
            {
                "recipe": "r",
                "converged": "True",
                "unlearned_classes": 0,
                "unlearned_names": "",
                "singular_classes": 0,
                "groups_held_out": "True",
                "reject_threshold": 0.99,
                **place,
            }
        ),
        "selectors": {"meb": {"method": "meb"}, "kept": {"method": "given"}},
        "reject": RejectRule(0.01),
        "final_recipe": "r",
        "lost": None,
    }


def test_nothing_to_say_of_a_sound_run():
    assert warnings_of(**sound()) == []


@pytest.mark.parametrize(
    ("part", "column", "value", "said"),
    [
        ("factors", "misfit", 0.51, "misfit up to 0.51"),
        ("models", "converged", "False", "Training stopped before it converged"),
        ("models", "unlearned_classes", 1, "Nothing was learned of some classes"),
        ("models", "singular_classes", 2, "covariance of Ny-iKFD is singular, in 1 fold, so a"),
        ("models", "groups_held_out", "False", "too few groups for inner folds to hold out"),
        ("models", "reject_threshold", NOTHING_ACCEPTED, "It takes at least 230 records"),
        ("landmarks", "reached", False, "did not come to cover all members of a"),
    ],
)
def test_trouble_is_named_with_what_to_do(part, column, value, said):
    tables = sound()
    tables[part][column] = [value, *tables[part][column].tolist()[1:]]
    (text,) = warnings_of(**tables)
    assert said in text
    assert "in 1 fold" in text.lower()
    assert "final model" not in text
    assert any(word in text for word in ("Take", "Raise", "Collect", "Use", "Give", "try"))


def test_classes_of_which_nothing_was_learned_are_named():
    tables = sound()
    tables["models"]["unlearned_classes"] = [1, 0, 2]
    tables["models"]["unlearned_names"] = ["'01'", "", "'01', 'b'"]
    (text,) = warnings_of(**tables)
    assert "of some classes ('01'; '01', 'b'), in 1 fold and the final model:" in text


def test_a_coverage_promises_nothing_so_none_is_missed():
    tables = sound()
    tables["models"]["reject_threshold"] = NOTHING_ACCEPTED
    assert "In 2 folds and the final model, no threshold" in warnings_of(**tables)[0]
    assert warnings_of(**tables | {"reject": RejectRule(None, 0.9)}) == []


def test_the_final_model_is_named():
    tables = sound()
    tables["models"]["converged"] = False
    assert "in 2 folds and the final model" in warnings_of(**tables)[0]


def test_folds_where_another_recipe_was_chosen_are_told_without_its_name():
    tables = sound()
    tables["models"]["converged"] = False
    tables["models"]["recipe"] = ["other", "r", "r"]
    (text,) = warnings_of(**tables)
    assert (
        "in 2 folds (1 by another recipe, which the inner folds chose there) and the final model"
        in text
    )
    assert "other," not in text


def test_a_cascade_that_lost_more_than_was_stated():
    (text,) = warnings_of(**sound() | {"lost": Lost(0.0234, 0.001)})
    assert "The cascade lost 2.34 points of accuracy on the outer folds" in text
    assert "and 0.1 were stated" in text


def test_given_landmarks_may_have_seen_the_tested_records():
    tables = sound()
    tables["landmarks"]["selector"] = "kept"
    (text,) = warnings_of(**tables)
    assert "The landmarks of kept were given" in text
    assert "optimistic" in text


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (
            {"class_sizes": {"Kinase": 20, "globin": 20, "kinase": 20}},
            "upper and lower case only: Kinase and kinase. ",
        ),
        (
            {"class_sizes": {f"c{i}": i + 1 for i in range(12)}},
            "c0 (1), c1 (2), c2 (3), c3 (4), c4 (5) and 4 more",
        ),
        (
            {"class_sizes": {f"c{i}": i + 1 for i in range(5)} | {"large": 50}},
            "c0 (1), c1 (2), c2 (3), c3 (4), c4 (5). Their own",
        ),
        (
            {"other_strand": {"count": 7, "examples": list("abcdefg")}},
            "7 records look like the other strand of their class: a, b, c, d, e and 2 more.",
        ),
    ],
)
def test_what_the_statistics_tell(part, said):
    tables = sound()
    tables["statistics"] |= part
    (text,) = warnings_of(**tables)
    assert said in text


def test_no_record_on_the_other_strand_is_no_trouble():
    tables = sound()
    tables["statistics"]["other_strand"] = {"count": 0, "examples": []}
    assert warnings_of(**tables) == []
