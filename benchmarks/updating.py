"""What an update costs, and that it gives what a training on all records with its landmarks gives.

    python benchmarks/updating.py --data /path/to/folder        pfam30_11k.fasta.gz and .tsv in it
    python benchmarks/updating.py --data /path/to/folder --cascade      pfam_kin.fasta.gz and .tsv

Of some records of pfam30 one in ten is new, and so are all of the last two families. The model of
the others learns them, and the same recipe is trained on all records with the same landmarks, whose
scores are aligned again. The table has for each learner: seconds of the update (its alignments, the
training) and of the training anew; pairs aligned by each; the largest difference of a probability;
the accuracy on inner folds; bytes of what the model was learned from.

With --cascade the model has one, whose levels an update leaves as they are. Of 16 related families,
60 records each, two are new, and of the others a fifth of what is learned. A quarter of the records
is tested, by the model before the update, after it, and by one that is trained anew: landmarks of
its own, levels of its own.
"""

import argparse
import gzip
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.alignment.backends import backend_named
from kreinflow.alignment.engine import pack, self_scores
from kreinflow.answering.query_and_answers import Query
from kreinflow.classify.classification import classify_file
from kreinflow.classify.learned_file import Learned
from kreinflow.classify.model_file import Model, final_model
from kreinflow.classify.new_objects import Options
from kreinflow.classify.new_records import NewRecords
from kreinflow.classify.update import update, update_text
from kreinflow.config.configuration import complete_configuration
from kreinflow.fitting.factors import make_factors
from kreinflow.fitting.pipeline import LiftSource, Settings, training
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.fitting.run import Run
from kreinflow.krein.landmark_kernel import landmark_kernel
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.partition import ALL, NEVER_TESTED, Partition
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.scores import evidence_of, read_scheme, transforms_of

LEARNERS = {
    "ny_ikfd": {"method": "ny_ikfd", "scatter": "pooled", "ridge": "inner"},
    "sf_lsm": {"method": "sf_lsm", "ridge": "inner"},
    "krein_lsm": {"method": "krein_lsm", "lambda_plus": "inner", "lambda_minus": "inner"},
    "ny_pcvm": {"method": "ny_pcvm"},
}


CASCADE = {
    "views": {"words": [1, 2, 3]},
    "lift": {"kernel": "gaussian"},
    "cascade": {"loss": 0.005},
}


def config_of(learner: str, more: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """Return the config of one learner, with more keys of its recipe."""
    recipe = {"name": "it", "transform": "log", "selector": "some", "learner": "it", **more}
    return complete_configuration(
        {
            "datasets": {"mine": {"source": {"type": "simulated"}}},
            "selectors": {"some": {"method": "uniform", "budget": 372}},
            "learners": {"it": LEARNERS[learner]},
            "recipes": [recipe],
        }
    )


Record = tuple[str, str, bytes]
"""Id, label, residues."""


def read(path: Path, count: int | None = None) -> list[Record]:
    """Return distinct records, all or some that are spread over the file."""
    table = pd.read_csv(path.with_name(f"{path.name}.tsv"), sep="\t", dtype=str)
    labels = dict(table.iloc[:, :2].values)
    text = gzip.decompress(path.with_name(f"{path.name}.fasta.gz").read_bytes()).decode()
    found = {}
    for entry in text.split(">")[1:]:
        header, _, residues = entry.partition("\n")
        found.setdefault(residues.replace("\n", "").upper(), header.split()[0])
    records = [(id, labels[id], s.encode()) for s, id in found.items() if id in labels]
    return records if count is None else records[:: max(1, len(records) // count)][:count]


def dataset_of(records: list[Record]) -> Dataset:
    """Return a data set of distinct records."""
    ids, labels, sequences = zip(*records, strict=True)
    classes, codes = np.unique(labels, return_inverse=True)
    payload = Sequences(sequences)
    return Dataset(
        ids,
        codes,
        tuple(classes.tolist()),
        np.arange(len(ids)),
        payload.digests(sequences),
        payload,
    )


def trained(dataset: Dataset, rows: Any, config: dict[str, Any], threads: int) -> SimpleNamespace:
    """Align all records with landmarks, and train the recipe."""
    recipe, learner = config["recipes"][0], config["learners"]["it"]
    scheme = read_scheme(dataset, config["datasets"]["mine"]["scoring"], Path())
    assert scheme is not None
    packed, everyone = pack(dataset.sequences, scheme, threads), np.arange(len(dataset.ids))
    start = time.monotonic()
    scores = backend_named("auto")(packed, everyone, rows).astype(np.int16)
    own = self_scores(packed, everyone).astype(np.float64)
    aligned = time.monotonic() - start
    partition = Partition(dataset.rows, np.full((1, len(everyone)), NEVER_TESTED))
    run = Run(dataset, partition, scores, rows, own)
    labels = [dataset.row_labels[row] for row in rows]
    landmarks, part = run.landmarks(pd.DataFrame({"row": rows, "class": labels})), run._part
    seen = part(np.ones(len(everyone), dtype=bool))
    transforms = transforms_of(["log"], config["transforms"], scheme)
    reject = RejectRule(config["reject_error"])
    learning = training(
        landmarks,
        seen,
        Settings(ALL, config["seed"], config["inner_folds"], reject),
        LiftSource.of(run, scheme),
        cache=run.pair_scores(scheme, "auto", threads),
        evidence=evidence_of(config["transforms"], scheme),
    )
    entries = make_factors(landmarks, seen, transforms, [recipe])
    embedding = entries[0].corrected[recipe["correction"]] if entries else None
    kernel = landmark_kernel(landmarks, seen, transforms["log"])
    done = learning.train(recipe, learner, embedding, kernel)
    model = final_model(
        dataset, done.classifier, scheme, {}, {"recipe": "it", **done.figures}, {}, list(rows)
    )
    settings = {key: config[key] for key in ("seed", "inner_folds")}
    settings |= {"min_class_size": 2, "folds": {"method": "stratified"}, "columns": ["id", "label"]}
    learned = Learned(dataset, scores, own, np.asarray(rows), done.held_out, settings)
    return SimpleNamespace(
        model=model,
        learned=learned,
        figures=done.figures,
        seconds=time.monotonic() - start,
        aligned=aligned,
        pairs=len(everyone) * (len(rows) + 1),
    )


def probabilities(model: Model, learned: Learned) -> Any:
    """Return those of all training records."""
    lengths = learned.dataset.lengths.astype(np.float64)
    query = Query(np.asarray(learned.scores), learned.self_scores, lengths)
    return model.classifier.predict_proba(query)


def spread(dataset: Dataset, count: int) -> Any:
    """Return landmarks at equal steps over the records."""
    return (np.arange(count) * len(dataset.ids) / count).astype(np.int64)


def new_records(records: list[Record]) -> NewRecords:
    """Return records that a model is to learn."""
    ids, labels, sequences = zip(*records, strict=True)
    return NewRecords(ids, labels, Sequences(sequences))


def cascades(folder: Path, threads: int, seed: int) -> None:
    """Print what the models before and after an update say, and one that is trained anew."""
    records = read(folder / "pfam_kin")
    rng = np.random.default_rng(seed)
    records = [records[place] for place in rng.permutation(len(records))]
    late = set(rng.permutation(sorted({label for _, label, _ in records}))[:2].tolist())
    old, new, test, seen = [], [], [], Counter[str]()
    for record in records:
        number, label = seen[record[1]], record[1]
        seen[label] += 1
        part = test if number >= 45 else new if label in late or number >= 35 else old
        part.append(record)
    config = config_of("sf_lsm", CASCADE)
    first = dataset_of(old)
    before = trained(first, spread(first, 24), config, threads)
    done = update(before.model, before.learned, new_records(new), threads)
    every = dataset_of([*old, *new])
    whole = trained(every, spread(every, 24 + done.landmarks), config, threads)
    truth = np.array([label for _, label, _ in test])
    known = ~np.isin(truth, sorted(late))
    with tempfile.TemporaryDirectory() as scratch:
        fasta = Path(scratch, "test.fasta")
        fasta.write_text("".join(f">{id}\n{s.decode()}\n" for id, _, s in test))
        for name, model in (("before", before), ("updated", done), ("anew", whole)):
            table = classify_file(model.model, fasta, Options(threads))
            right = table["label"].to_numpy() == truth
            accepted = (table["reject"] == "no").to_numpy()
            print(
                f"seed {seed}, {name}: accuracy of {known.sum()} of known families "
                f"{right[known].mean():.3f}, of {(~known).sum()} of new ones "
                f"{right[~known].mean():.3f}; accepted {accepted.mean():.3f}, wrong among them "
                f"{(~right[accepted]).mean():.3f}; alignments {table['alignments'].mean():.1f}",
                flush=True,
            )


def main() -> None:
    """Print a line for each learner."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--records", type=int, default=5500)
    parser.add_argument("--landmarks", type=int, default=372)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cascade", action="store_true")
    parser.add_argument("--seeds", type=int, default=3, help="with --cascade")
    options = parser.parse_args()
    if options.cascade:
        for seed in range(options.seeds):
            cascades(options.data, options.threads, seed)
        return
    records = read(options.data / "pfam30_11k", options.records)
    late = sorted({label for _, label, _ in records})[-2:]
    is_new = [i % 10 == 9 or label in late for i, (_, label, _) in enumerate(records)]
    old = dataset_of([r for r, new in zip(records, is_new, strict=True) if not new])
    fresh = [r for r, new in zip(records, is_new, strict=True) if new]
    new, rows = new_records(fresh), spread(old, options.landmarks)
    print(f"{len(old.ids)} old records, {len(fresh)} new ones, {len(rows)} landmarks")
    for name in LEARNERS:
        config = config_of(name)
        before = trained(old, rows, config, options.threads)
        with tempfile.TemporaryDirectory() as folder:
            paths = Path(folder, "m"), Path(folder, "l")
            before.model.save(paths[0])
            before.learned.save(paths[1], paths[0])
            size = paths[1].stat().st_size
            start = time.monotonic()
            learned = Learned.load(paths[1], before.model, paths[0])
            done = update(before.model, learned, new, options.threads)
            seconds = time.monotonic() - start
        every = done.learned.dataset
        whole = trained(every, done.learned.landmark_rows, config, options.threads)
        ours, theirs = (probabilities(it.model, it.learned) for it in (done, whole))
        print(
            f"{name}: {size / 1e6:.1f} MB; update {seconds:.1f} s, {done.alignments:,} pairs; "
            f"anew {whole.seconds:.1f} s, {whole.aligned:.1f} of them aligning, "
            f"{whole.pairs:,} pairs; difference {np.abs(ours - theirs).max():.1e}; inner accuracy "
            f"{before.figures['inner_accuracy']:.4f} before, {whole.figures['inner_accuracy']:.4f} "
            "after"
        )
        print("    " + update_text(done).replace("\n", "\n    "), flush=True)


if __name__ == "__main__":
    main()
