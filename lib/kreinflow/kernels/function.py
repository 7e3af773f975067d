"""A function of the user's that compares two lists of objects."""

import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from kreinflow.base.errors import InputError, KreinflowError
from kreinflow.base.settings import SettingsSchema, text
from kreinflow.kernels.asked import AskedKernel
from kreinflow.kernels.kernel import Mask

Compare = Callable[[list[Any], list[Any]], Any]
"""Returns the scores of the objects of a list, rows, with those of another, columns."""


class FunctionKernel(AskedKernel):
    """A Python function, named ``package.module:function``, or given as ``call``."""

    name = "function"
    what = "function"
    settings_schema: ClassVar[SettingsSchema] = {
        "function": text("package.module:function of two lists; found in the data folder too"),
        **AskedKernel.settings_schema,
    }

    def __init__(self, settings: Mapping[str, Any], call: Compare | None = None) -> None:
        super().__init__(settings)
        self.call = call

    @classmethod
    def fault(cls, score: Mapping[str, Any]) -> str | None:
        module, _, name = score["function"].partition(":")
        if all(part.isidentifier() for whole in (module, name) for part in whole.split(".")):
            return None
        return f"{score['function']!r} is none. Write package.module:function."

    def loaded(self, folders: Sequence[Path]) -> Self:
        module, _, name = self.named.partition(":")
        for folder in (*folders, Path()):
            if (place := str(folder.resolve())) not in sys.path:
                sys.path.append(place)
        try:
            found: Any = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except Exception as error:  # whatever the module does when it is imported
            raise InputError(
                f"function {self.named}: cannot be imported ({type(error).__name__}: {error}). It "
                "has to be where Python finds modules, in the folder that 'data' names, or here."
            ) from error
        if not callable(found):
            raise InputError(f"function {self.named}: is no function. Name one of two lists.")
        return type(self)(self.settings, found)

    def values(self, X: list[Any], Y: list[Any], place: str, wanted: Mask) -> Any:
        if self.call is None:
            raise InputError(
                f"the scores are those of the function {self.named}, which a file cannot bring "
                f"along. Say that it may be asked: --score {self.named}"
            )
        found: list[Any] = []
        failed: list[Exception] = []

        def ask(call: Compare = self.call) -> None:
            try:
                found.append(call(X, Y))
            except Exception as error:  # whatever the user's code raises
                failed.append(error)

        if (seconds := self.settings["timeout"]) is None:
            ask()
        else:
            asking = threading.Thread(target=ask, daemon=True)  # which ends with the process
            asking.start()
            asking.join(seconds)
            if asking.is_alive():
                raise InputError(
                    f"{place}: took more than the {seconds:g} seconds of its timeout. Correct it, "
                    "leave the object out, or give it more time."
                )
        for error in failed:
            if isinstance(error, KreinflowError | MemoryError):
                raise error
            raise InputError(f"{place}: raised {type(error).__name__}: {error}") from error
        return found[0]
