"""The methods that a page of the documentation makes up, and a config that names one."""

import re
import types
from contextlib import contextmanager
from pathlib import Path

import pytest

from kreinflow.config.schema import schema

DOCS = Path(__file__).parents[1] / "docs"


@contextmanager
def documented(page, registry, name, class_name):
    """Run the code of a page that defines a class, which then stands in the registry."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
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
