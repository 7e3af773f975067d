"""Downloads a file that the config names."""

from pathlib import Path

from kreinflow.files.console import logged
from kreinflow.sequences.download import fetch

with logged(snakemake.log[0]) as console:
    fetch(Path(snakemake.output[0]), snakemake.params.download, console.say)
