"""Names of before: use :mod:`kreinflow.base.wording` and :mod:`text_files`."""

# ruff: noqa: F401, F403
# mypy: implicit-reexport
from kreinflow.base.wording import abridged as first_few
from kreinflow.base.wording import plural as counted
from kreinflow.base.wording import shortened
from kreinflow.sequences.text_files import *
