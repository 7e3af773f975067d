"""Names of before: use :mod:`atomic`, :mod:`json_files`, :mod:`tables` and :mod:`arrays`."""

# ruff: noqa: F401
# mypy: implicit-reexport
from kreinflow.files.arrays import (
    Sizes,
    map_array,
    new_array,
    open_array,
    read_arrays,
    write_array,
    write_arrays,
)
from kreinflow.files.atomic import read_text, replacing, write_bytes, write_text
from kreinflow.files.json_files import read_json, write_json
from kreinflow.files.tables import (
    read_measures,
    read_plain_columns,
    read_table,
    table_text,
    write_table,
)
