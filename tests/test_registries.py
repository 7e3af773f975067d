"""What the config can name describes itself, explains its settings and cites what is listed."""

import re

import pytest

from kreinflow.base.errors import InputError
from kreinflow.base.references import REFERENCES
from kreinflow.config.configuration import complete_configuration
from kreinflow.kernels.registry import KERNELS
from kreinflow.landmarks.registry import SELECTORS, make_selector
from kreinflow.learners.registry import LEARNERS, make_learner
from registries import one_recipe

DESCRIPTIONS = {
    **{name: make_learner({"method": name}).describe() for name in LEARNERS},
    **{name: make_selector({"method": name, "budget": 5}).describe("scores") for name in SELECTORS},
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_each_method_describes_itself_and_cites_what_is_listed(name):
    assert re.fullmatch(r"[^\n<>]{10,400}[^.\s]", DESCRIPTIONS[name])
    assert set({**SELECTORS, **LEARNERS}[name].references) <= set(REFERENCES)


def test_all_settings_are_explained():
    for entry in (*SELECTORS.values(), *LEARNERS.values(), *KERNELS.values()):
        for key, part in entry.settings_schema.items():
            assert part["description"], (entry, key)


@pytest.mark.parametrize("part", ["selector", "learner"])
def test_what_is_not_in_its_registry_is_refused(part):
    with pytest.raises(InputError, match=f"{part}s.it.*'outliers' is none of"):
        complete_configuration(one_recipe(**{part: {"method": "outliers"}}))
