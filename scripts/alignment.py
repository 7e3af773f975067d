"""Aligns one block of rows: with the candidates to choose landmarks by, or with all landmarks."""

from pathlib import Path

import numpy as np

from kreinflow.alignment.backends import backend_named
from kreinflow.alignment.progress import ProgressPrinter
from kreinflow.alignment.store import ScoreStore
from kreinflow.files.console import logged
from kreinflow.files.json_files import write_json
from kreinflow.landmarks.stage import candidate_rectangles, read_candidates, read_union
from kreinflow.sequences.dataset import read_dataset
from kreinflow.sequences.scores import read_scheme

with logged(snakemake.log[0]) as console:
    folder = Path(snakemake.input.records).parent
    dataset = read_dataset(folder)
    if snakemake.params.columns == "candidates":
        candidates = read_candidates(snakemake.input.candidates, dataset)
        rectangles = candidate_rectangles(dataset, candidates)
    else:
        union = read_union(snakemake.input.landmarks, dataset)
        rectangles = [(np.arange(len(dataset.digests)), union)]
    scheme = read_scheme(dataset, snakemake.params.scoring, snakemake.params.data)
    store = ScoreStore(
        folder.parent / "scores",
        scheme,
        dataset.sequences,
        dataset.digests,
        backend_named(snakemake.params.backend),
    )
    block, blocks = int(snakemake.wildcards.block), snakemake.params.blocks
    report = store.fill(
        rectangles,
        block,
        blocks,
        threads=snakemake.threads,
        memory_mb=snakemake.resources.alignment_memory_mb,
        progress=ProgressPrinter(
            console.terminal,
            f"{snakemake.rule} {snakemake.wildcards.dataset}: block {block + 1} of {blocks}",
        ),
        seed=snakemake.params.seed,
    )
    console.say(str(report))
    sizes = [[len(rows), len(columns)] for rows, columns in rectangles]
    write_json(
        snakemake.output[0],
        {
            "block": block,
            "store": scheme.digest,
            "rectangles": sizes,
            "backend": snakemake.params.backend,
            "agreed": report.agreed,
        },
    )
