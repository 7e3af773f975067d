"""The methods that the page "A method of your own" makes up, and a config that names one."""

import re
import types
from contextlib import contextmanager
from pathlib import Path

import pytest

from kreinflow.schema import schema

PAGE = (Path(__file__).parents[1] / "docs" / "a-method-of-your-own.md").read_text()


@contextmanager
def documented(registry, name, class_name):
    """Run the code of the page that defines a class, which then stands in the registry."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (code,) = (block for block in blocks if f"class {class_name}(" in block)
    module = types.ModuleType(name)
    exec(code, module.__dict__)
    schema.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry, name, getattr(module, class_name))
        yield registry[name]
    schema.cache_clear()


def one_recipe(selector=None, learner=None, **recipe):
    """A config with one selector and one learner."""
    recipe = {"name": "it", "selector": "it", "learner": "it", **recipe}
    return {
        "datasets": {"demo": {"source": {"type": "simulated"}}},
        "selectors": {"it": selector or {"method": "meb"}},
        "learners": {"it": learner or {"method": "nearest_landmark"}},
        "recipes": [recipe],
    }
