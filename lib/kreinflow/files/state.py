"""State of models: what each class keeps in a file, declared once.

From that list follow the JSON header and the arrays of a file, and the reading, which refuses what
is missing, or of another type or shape. Nothing in a file is code.

A dimension whose name is one letter is known from outside, or chosen by the first array that has
it: m landmarks or inducing points, c classes, r at most the landmarks, s at most the training
records, b less than twice the classes. Longer names of dimensions of arrays stand in the header.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError

# A JSON header and named arrays.
Parts = tuple[dict[str, Any], dict[str, NDArray[Any]]]


@dataclass(frozen=True)
class Array:
    """An array of a file.

    ``kind`` is ``dtype.kind``, followed by the bytes of a number where these matter, ``shape`` the
    names of the dimensions, or numbers. An ``optional`` one may be missing.
    """

    kind: str
    shape: str = ""
    optional: bool = False

    def check(self, name: str, array: NDArray[Any], sizes: dict[str, int]) -> NDArray[Any]:
        """Return the array; a ValueError if it is not as declared. Adds dimensions of its own."""
        names = self.shape.split()
        for dimension, size in zip(names, array.shape, strict=False):
            if not dimension.isdigit():
                sizes.setdefault(dimension, size)
        shape = tuple(int(name) if name.isdigit() else sizes.get(name) for name in names)
        if array.shape != shape or not array.dtype.str[1:].startswith(self.kind):
            raise ValueError(f"{name} is {array.dtype} {array.shape}, not of shape {shape}")
        return array


@dataclass(frozen=True)
class Number(Array):
    """A number of a header, or a list of numbers if it has a shape; None if it is optional."""

    def read(self, name: str, value: object, sizes: dict[str, int]) -> Any:
        """Return a float or an int, or an array of them; a ValueError if it is none."""
        if value is None and self.optional:
            return None
        array = np.array(value)
        if (array.dtype.kind == "i" and self.kind == "f") or array.size == 0:
            array = array.astype(np.float64 if self.kind == "f" else np.int64)
        array = self.check(name, array, sizes)
        return array if self.shape else array.item()


@dataclass(frozen=True)
class Value:
    """Anything else of a header; an ``optional`` one is left out if it is None."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = lambda value: value
    optional: bool = False


@dataclass(frozen=True)
class Part:
    """A part with a header and arrays of its own, whose names begin with ``prefix``; or None.

    ``needs`` names a value, declared before it, that it is built with.
    """

    state: "type[State]"
    prefix: str = ""
    needs: str = ""


class State:
    """The base of classes that are kept in files: ``state`` is what is kept, by its name there."""

    state: ClassVar[Mapping[str, Array | Number | Value | Part]]

    def stored(self) -> dict[str, Any]:
        """Return what is kept, by its name: the attributes of these names."""
        return {name: getattr(self, name) for name in self.state}

    @classmethod
    def restored(cls, **values: Any) -> Self:
        """Build an instance of what :meth:`stored` returns; a ValueError if it does not fit."""
        return cls(**values)

    @classmethod
    def dimensions(cls, header: Mapping[str, Any]) -> dict[str, int]:
        """Return the sizes of dimensions that the header tells."""
        names = {
            name
            for item in cls.state.values()
            if isinstance(item, Array) and not isinstance(item, Number)
            for name in item.shape.split()
        }
        return {name: _size(header[name]) for name in names if len(name) > 1 and name in header}

    def to_parts(self) -> Parts:
        """Return the header and the arrays of a file."""
        header: dict[str, Any] = {}
        arrays: dict[str, NDArray[Any]] = {}
        values = self.stored()
        for name, item in self.state.items():
            value = values[name]
            if isinstance(item, Number):
                header[name] = np.asarray(value).tolist()
            elif isinstance(item, Part):
                if value is not None:
                    header[name], own = value.to_parts()
                    arrays |= {item.prefix + key: array for key, array in own.items()}
            elif isinstance(item, Value):
                if value is not None or not item.optional:
                    header[name] = item.write(value)
            elif value is not None:
                arrays[name] = value
                sizes = zip(item.shape.split(), value.shape, strict=True)
                header |= {key: size for key, size in sizes if len(key) > 1 and not key.isdigit()}
        return header, arrays

    @classmethod
    def from_parts(
        cls,
        header: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        sizes: Mapping[str, int],
        **given: Any,
    ) -> Self:
        """Build an instance; ``sizes`` are known dimensions, ``given`` what :meth:`restored` needs.

        A KeyError, TypeError or ValueError if something is missing, or not as declared.
        """
        known = {**sizes, **cls.dimensions(header)}
        for name, item in cls.state.items():
            if isinstance(item, Number):
                given[name] = item.read(name, header[name], known)
            elif isinstance(item, Part):
                given[name] = None
                if (part := header.get(name)) is not None:
                    own = starting_with(item.prefix, arrays)
                    needed = {item.needs: given[item.needs]} if item.needs else {}
                    if None in needed.values():
                        raise ValueError(f"its {name} lack {item.needs}")
                    given[name] = item.state.from_parts(part, own, known, **needed)
            elif isinstance(item, Value):
                missing = item.optional and name not in header
                given[name] = None if missing else item.read(header[name])
            elif name not in arrays and item.optional and name not in known:
                given[name] = None
            else:
                given[name] = item.check(name, arrays[name], known)
        return cls.restored(**given)


def _size(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is not the size of an array")
    return value


@contextmanager
def refusing_damage(path: object, advice: str) -> Iterator[None]:
    """Turn the errors of :meth:`State.from_parts` into one message that names the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except KeyError as error:
        raise InputError(f"{path}: a part is missing ({error}). {advice}") from error
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"{path}: a part is damaged ({error}). {advice}") from error


def starting_with(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a part, by their names in it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
