"""The backends that the config can name."""

from kreinflow.alignment import engine
from kreinflow.alignment.engine import Backend


def backend_named(name: str) -> Backend:
    """Return the backend "parasail", the default and the measure of the others, or "pyopal".

    Their scores are the same, so a store may be filled by one and then by the other.
    """
    if name == "pyopal":
        from kreinflow.alignment import opal  # only here: its import asks what the processor can do

        return opal.align_pairs
    return engine.align_pairs
