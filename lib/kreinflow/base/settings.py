"""Methods with settings of their own: the base of learners, selectors, kernels and generators."""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar

SettingsSchema = Mapping[str, Mapping[str, Any]]
"""The JSON schema of each key of an entry of the config, but for the one that names the method."""


@cache
def strict_validator() -> Any:
    """Return the class of JSON schema validators to which 5.0 is no integer, and NaN no number."""
    from jsonschema import Draft202012Validator, validators

    def is_integer(checker: object, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool)

    def is_number(checker: object, value: object) -> bool:
        finite = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
        return finite and not isinstance(value, bool)

    kinds = {"integer": is_integer, "number": is_number}
    checker = Draft202012Validator.TYPE_CHECKER.redefine_many(kinds)
    return validators.extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, type_checker=checker
    )


def number(description: str, default: float | None, **rules: Any) -> dict[str, Any]:
    """Return the schema of a setting that is a number, unless ``rules`` have another ``type``."""
    return {"description": description, "type": "number", **rules, "default": default}


def positive_number(description: str, default: float = 1.0) -> dict[str, Any]:
    """Return the schema of a setting above 0, such as a width."""
    return number(description, default, exclusiveMinimum=0)


def whole_number(
    description: str, maximum: int, default: int = 1, minimum: int = 1
) -> dict[str, Any]:
    """Return the schema of a setting that counts, such as a power."""
    return number(description, default, type="integer", minimum=minimum, maximum=maximum)


def one_of(default: str, *others: str, about: str) -> dict[str, Any]:
    """Return the schema of a setting that is one of some words."""
    return {"description": about, "enum": [default, *others], "default": default}


def flag(description: str, default: bool = False) -> dict[str, Any]:
    """Return the schema of a setting that is true or false."""
    return {"description": description, "type": "boolean", "default": default}


def text(description: str) -> dict[str, Any]:
    """Return the schema of a text that must be there."""
    return {"description": description, "type": "string", "minLength": 1}


def optional_text(description: str) -> dict[str, Any]:
    """Return the schema of a text that may be left out."""
    return {"description": description, "type": ["string", "null"], "default": None}


class Configured:
    """A method with its settings, which are checked; missing keys have their default.

    ``named_by`` is the key of the config that names the method, no setting. ``settings_schema`` has
    the JSON schema of each key, with ``description`` and ``default``; one without is required.
    """

    named_by: ClassVar[str] = "method"
    settings_schema: ClassVar[SettingsSchema] = {}

    def __init__(self, settings: Mapping[str, Any]) -> None:
        defaults = {
            key: part["default"] for key, part in self.settings_schema.items() if "default" in part
        }
        self.settings: dict[str, Any] = defaults | {
            key: value for key, value in settings.items() if key != self.named_by
        }


Method = TypeVar("Method", bound=Configured)


def by_name(*methods: type[Method]) -> dict[str, type[Method]]:
    """Return a registry of methods, by the names that the config gives them."""
    return {getattr(method, method.named_by): method for method in methods}
