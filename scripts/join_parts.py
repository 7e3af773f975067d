"""Joins the tables of the parts of a request, in their order."""

import shutil
from pathlib import Path

from kreinflow.files.atomic import replacing
from kreinflow.files.console import logged

with (
    logged(snakemake.log[0]) as console,
    replacing(snakemake.output[0]) as whole,
    whole.open("wb") as file,
):
    for path in snakemake.input:
        with Path(path).open("rb") as part:
            shutil.copyfileobj(part, file)
    console.say(f"{len(snakemake.input)} parts joined")
