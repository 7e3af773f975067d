"""The section of sets and errors: its tables, and a data set whose records were too few."""

import pytest

from kreinflow.report.sets import broken, sets
from kreinflow.report.tables import best_recipe
from report.made_up import dataset_report, report_page, run_tables, settings


@pytest.fixture(scope="module")
def found(tables):
    return sets(tables["coverage"], tables["errors"], best_recipe(tables["comparison"]))


def test_the_tables_have_what_was_measured(tables, found):
    coverage, best = tables["coverage"], best_recipe(tables["comparison"])
    table = found["recipes"]
    assert list(table.head) == [
        "recipe",
        *(
            heading.format(level)
            for level in (90, 95, 99)
            for heading in ("held at {} %", "labels at {} %", "none at {} %")
        ),
    ]
    whole = coverage[coverage["class"] == ""].set_index(["recipe", "confidence"])
    assert [row[0] for row in table.rows] == list(dict.fromkeys(coverage["recipe"]))
    for row in table.rows:
        assert row[1] == f"{100 * whole.loc[(row[0], 0.9), 'coverage']:.2f} %"
        assert float(row[8]) == pytest.approx(whole.loc[(row[0], 0.99), "size"], abs=0.01)
    assert [table.rows[i][0] for i in table.marked] == [best]
    own = whole.loc[best]
    for row, (level, shown) in zip(found["coverage"].rows, own.iterrows(), strict=True):
        assert row[0] == f"{100 * level:g} %"
        assert row[1] == f"{100 * shown['coverage']:.2f}"
        assert float(row[2]) == pytest.approx(shown["size"], abs=0.01)
    classes = coverage[(coverage["recipe"] == best) & (coverage["class"] != "")]
    rows = {row[0]: row for row in found["classes"].rows}
    assert set(rows) == set(classes["class"])
    for label, own in classes[classes["confidence"] == 0.95].set_index("class").iterrows():
        assert rows[label][1] == f"{own['records']:,}"
        assert rows[label][4] == f"{100 * own['coverage']:.2f} %"
    errors = tables["errors"]
    assert len(found["accepted"].rows) == len(errors)
    assert found["accepted"].rows[0][:2] == (errors["recipe"].iloc[0], "1 %")
    mine = [row[1:] for row in found["accepted"].rows if row[0] == best]
    assert [tuple(row) for row in found["errors"].rows] == mine


def test_promises_that_are_broken_are_told(tables):
    """By more than chance: a point below what was asked for is not enough."""
    best, changed = best_recipe(tables["comparison"]), dict(tables)
    coverage, errors = tables["coverage"].copy(), tables["errors"].copy()
    of_best = (coverage["recipe"] == best) & (coverage["class"] == "")
    assert broken(coverage, errors.assign(wrong_mean=0.0), best) == []
    coverage.loc[of_best, ["coverage", "records"]] = [0.889, 1000]
    errors["wrong_mean"], errors["wrong_sd"] = 0.0, ""
    assert [text[:15] for text in broken(coverage, errors, best)] == [
        "sets of 95 % ho",
        "sets of 99 % ho",
    ]
    coverage.loc[of_best, "coverage"] = 0.84
    mine = errors["recipe"] == best
    errors.loc[mine, "wrong_mean"], errors["wrong_sd"] = 0.08, 0.002
    changed |= {"coverage": coverage, "errors": errors}
    asked = settings() | {"final": best}
    page = report_page(changed, settings=asked, final_recipe=best)[1].all_text
    assert "Not kept , by more than chance: sets of 90 % hold the true label in 84.00 %;" in page
    assert "; where 5 % errors were asked for, 8.00 % are wrong." in page
    assert "where 10 % errors" not in page


def test_few_records_have_no_sets_and_old_runs_no_section():
    few = run_tables(3, 2, 40)
    few["coverage"] = few["coverage"][:0]
    _, page = report_page(few)
    assert "data-1-sets" in page.ids
    assert "There are no sets: they take at least 9 records" in page.all_text
    assert sets(few["coverage"], few["errors"][:0], "ikfd-meb") is None
    few["errors"] = few["errors"][:0]
    assert "data-1-sets" not in report_page(few)[1].ids
    assert dataset_report(few).errors.empty
