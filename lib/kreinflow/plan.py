"""What a run makes of a data set: its recipes, selectors and score transforms."""

from collections.abc import Mapping
from typing import Any

Settings = Mapping[str, Any]


class DatasetPlan:
    """One data set of a complete configuration.

    Parameters
    ----------
    config : mapping
        As :func:`~kreinflow.configuration.complete_configuration` returns it.
    name : str
        Of the data set.
    """

    def __init__(self, config: Settings, name: str) -> None:
        self.config, self.name = config, name
        self.settings: Settings = config["datasets"][name]

    def recipes(self) -> list[Settings]:
        """Return the recipes of the data set in its order."""
        by_name = {recipe["name"]: recipe for recipe in self.config["recipes"]}
        return [by_name[name] for name in self.settings["recipes"]]

    @property
    def selectors(self) -> dict[str, Settings]:
        """The selectors of the recipes, then those that lend them their number of landmarks."""
        known = self.config["selectors"]
        used = list(dict.fromkeys(recipe["selector"] for recipe in self.recipes()))
        lenders = [b for name in used if isinstance(b := known[name].get("budget"), str)]
        return {name: known[name] for name in (*used, *lenders)}

    @property
    def transforms(self) -> list[str]:
        """The score transforms of the recipes and of the selectors, sorted."""
        wanted = [recipe["transform"] for recipe in self.recipes()]
        wanted += [settings.get("transform", "raw") for settings in self.selectors.values()]
        return sorted(set(wanted))
