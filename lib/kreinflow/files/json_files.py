"""JSON objects that carry their checksum."""

import json
import os
from collections.abc import Mapping
from typing import Any

from kreinflow.base.errors import InputError
from kreinflow.files.atomic import AGAIN, read_bytes, replacing
from kreinflow.files.checksums import UNSET, check_seal, seal


def write_json(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write a JSON object with sorted keys, behind its checksum, atomically."""
    text = json.dumps(content, indent=2, sort_keys=True, allow_nan=False)
    with replacing(path) as part:
        part.write_text(f'{{\n  "checksum": "{UNSET}"{"," if content else ""}{text[1:]}\n')
        seal(part)


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what :func:`write_json` wrote; an InputError if it is missing or damaged."""
    check_seal(path, AGAIN)
    try:
        content: dict[str, Any] = json.loads(read_bytes(path))
        del content["checksum"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a JSON file of kreinflow's ({error}). {AGAIN}") from error
    return content
