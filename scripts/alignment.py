"""Scores one block of rows: with the candidates to choose landmarks by, or with all landmarks.

Sequences are aligned, and the user's own score is asked.
"""

from pathlib import Path

import numpy as np

from kreinflow.alignment.progress import ProgressPrinter
from kreinflow.alignment.store import ScoreStore
from kreinflow.files.console import logged
from kreinflow.files.json_files import write_json
from kreinflow.landmarks.stage import candidate_rectangles, read_candidates, read_union
from kreinflow.sequences.asking import Asking
from kreinflow.sequences.dataset import read_dataset
from kreinflow.sequences.scores import column_rectangles, read_scheme, scorer_of

with logged(snakemake.log[0]) as console:
    folder = Path(snakemake.input.records).parent
    dataset = read_dataset(folder)
    if snakemake.params.columns == "candidates":
        candidates = read_candidates(snakemake.input.candidates, dataset)
        rectangles = candidate_rectangles(dataset, candidates)
    else:
        union = read_union(snakemake.input.landmarks, dataset)
        rectangles = column_rectangles(dataset, np.arange(len(dataset.digests)), union)
    params = snakemake.params
    scheme = read_scheme(dataset, params.scoring, params.data)
    scorer = scorer_of(dataset, scheme, params.backend, params.asked, Path(params.data))
    store = ScoreStore(folder.parent / "scores", scorer, dataset.digests)
    block, blocks = int(snakemake.wildcards.block), params.blocks
    report = store.fill(
        rectangles,
        block,
        blocks,
        threads=snakemake.threads,
        memory_mb=snakemake.resources.alignment_memory_mb,
        progress=ProgressPrinter(
            console.terminal,
            f"{snakemake.rule} {snakemake.wildcards.dataset}: block {block + 1} of {blocks}",
            pairs=isinstance(scorer, Asking),
        ),
        seed=params.seed,
    )
    console.say(str(report))
    if isinstance(scorer, Asking):
        console.say(scorer.said())
    sizes = [[len(rows), len(columns)] for rows, columns in rectangles]
    write_json(
        snakemake.output[0],
        {
            "block": block,
            "store": scorer.digest,
            "rectangles": sizes,
            "backend": params.backend,
            "blocks": blocks,
            "agreed": report.agreed,
        },
    )
