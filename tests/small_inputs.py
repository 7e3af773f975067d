"""Small inputs that tests write, and a final model of them without Snakemake."""

import gzip
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from Bio.Seq import Seq

from kreinflow.answering.levels import Levels
from kreinflow.answering.query_and_answers import Query
from kreinflow.classify.learned_file import Learned
from kreinflow.classify.model_file import final_model
from kreinflow.config.configuration import complete_configuration
from kreinflow.fitting.factors import factor_table, make_factors
from kreinflow.fitting.pipeline import LiftSource, Settings, training
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.fitting.run import Run, objects_of
from kreinflow.krein.landmark_kernel import landmark_kernel
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage, given_landmarks
from kreinflow.sequences.matrix_files import MATRIX_KINDS
from kreinflow.sequences.partition import Partition
from kreinflow.sequences.record_vectors import with_vectors
from kreinflow.sequences.scores import (
    MatrixScores,
    columns_in_memory,
    evidence_of,
    open_scores,
    read_scheme,
    transforms_of,
)
from kreinflow.sequences.sources.registry import make_source
from sequence_pairs import rectangle

PROTEIN, DNA = "ARNDCQEGHILKMFPSTWYV", "ACGT"


def families(seed, classes=("a", "b", "c"), each=10, length=60, letters=PROTEIN, changed=0.3):
    """Records (id, label, residues): a random ancestor a class, with letters replaced."""
    rng = np.random.default_rng(seed)
    records = []
    for label in classes:
        ancestor = rng.choice(list(letters), length)
        for number in range(each):
            child = ancestor.copy()
            places = rng.random(length) < changed
            child[places] = rng.choice(list(letters), places.sum())
            records.append((f"{label}{number}", label, "".join(child)))
    return records


def turned(record):
    """A record of the other strand."""
    id, label, residues = record
    return id, label, str(Seq(residues).reverse_complement())


def write_fasta(path, records, header="{id} family={label};"):
    text = "".join(f">{header.format(id=i, label=label)}\n{s}\n" for i, label, s in records)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def write_labels(path, records):
    path.write_text("id\tlabel\n" + "".join(f"{i}\t{label}\n" for i, label, _ in records))
    return path


def write_folds(path, ids, tested):
    """A fixed split: ``tested`` are the ids that nothing is learned from."""
    lines = [f"{i}\t{'test' if i in tested else 'train'}\n" for i in ids]
    path.write_text("id\tfold\n" + "".join(lines))


def points(seed, classes=("a", "b", "c"), each=10):
    """Points in the plane around a centre a class, and their labels."""
    rng = np.random.default_rng(seed)
    labels = [label for label in classes for _ in range(each)]
    centres = {label: 4 * rng.normal(size=2) for label in classes}
    return np.array([centres[label] + rng.normal(size=2) for label in labels]), labels


def matrix_of(kind, X, Y):
    """What the workflow calls ``kind``, of all X with all Y: similarities are indefinite.

    Asymmetric ones are of x with what lies a step to one side of y.
    """
    step = 0.8 * (kind == "asymmetric")
    squared = ((X[:, None] - Y - step) ** 2).sum(axis=2)
    if "dissimilarity" not in kind:
        similar = np.exp(-squared / 4) - 0.3 * np.exp(-squared / 30)
        return similar * (squared > 0) if kind == "zero_diagonal_similarity" else similar
    return squared if kind == "squared_dissimilarity" else np.sqrt(squared)


def write_matrix(path, values, ids, columns=None):
    pd.DataFrame(values, index=ids, columns=columns or ids).to_csv(
        path, sep="," if ".csv" in path.name else "\t"
    )
    return path


BY_HEADER = {"pattern": r"family=(\w+);"}
KINDS = tuple(MATRIX_KINDS)


def fasta_source(name="x.fasta", labels=None, **more):
    return {"type": "fasta", "fasta": name, "labels": labels or BY_HEADER, **more}


def matrix_source(kind="similarity", name="k.csv", labels="y.txt"):
    return {"type": "matrix", "matrix": name, "kind": kind, "labels": {"lines": labels}}


def vectors_source(name="x.npy", kernel=None, labels="y.txt"):
    kernel = kernel or {"name": "gaussian"}
    return {"type": "vectors", "vectors": name, "kernel": kernel, "labels": {"lines": labels}}


def write_input(folder, objects="sequences", seed=4, changed=0.3):
    """Write thirty objects of three classes, and return the source that reads them.

    ``objects`` is ``sequences``, the kind of a matrix, or the settings of a kernel.
    """
    records = families(seed, changed=changed)
    if objects == "sequences":
        write_fasta(folder / "x.fasta", records)
        return fasta_source()
    X, labels = points(seed)
    (folder / "y.txt").write_text("\n".join(labels))
    if objects in KINDS:
        ids = [f"o{i}" for i in range(len(X))]
        write_matrix(folder / "k.csv", matrix_of(objects, X, X), ids)
        return matrix_source(objects)
    if objects["name"] == "edit_distance":
        (folder / "x.txt").write_text("\n".join(s for _, _, s in records))
        return vectors_source("x.txt", objects)
    np.save(folder / "x.npy", np.abs(X))
    return vectors_source("x.npy", objects)


def configuration(
    source,
    transform="log",
    learner="ikfd",
    scoring=None,
    folds=None,
    recipe=None,
    vectors=None,
    levels=None,
    **more,
):
    """A config with one data set, ``mine``, and one recipe, with more keys if there are any."""
    one = {"name": "one", "transform": transform, "selector": "meb", "learner": learner}
    mine = {"source": source, "scoring": scoring or {}, "folds": folds or {"k": 2}}
    return {
        "seed": 5,
        "alignment": {"blocks": 1, "threads": 1},
        "datasets": {"mine": mine | {"vectors": vectors, "levels": levels}},
        "selectors": {"meb": {"method": "meb", "transform": transform, "epsilon": 0.1}},
        "learners": {
            "ikfd": {"method": "ny_ikfd", "scatter": "pooled", "bias": "least_squares"}
            | {"ridge": "inner"},
            "pcvm": {"method": "ny_pcvm", "max_iter": 50},
            "nearest": {"method": "nearest_landmark"},
            "svc": {"method": "linear_svc"},
        },
        "recipes": [one | (recipe or {})],
        **more,
    }


def training_on(table, stage, selector, partition, config, letters=PROTEIN, scheme=None):
    """The training of a stage's fold with a table of landmarks that a selector chose.

    With a scheme sequences are aligned when a cascade asks for them.
    """
    dataset, scores, fold = stage.dataset, stage.scores, stage.fold
    rows = table["row"].to_numpy(np.int64)
    columns = columns_in_memory(dataset, scores, rows)
    run = Run(dataset, partition, columns, rows, scores.self_scores())
    landmarks, part = run.landmarks(table), run.training_part(fold)
    seed, reject = config["seed"], RejectRule(config["reject_error"])
    strangers = None if scheme is None else run.strangers(part, scheme, seed)
    return training(
        landmarks,
        part,
        Settings(fold, seed, config["inner_folds"], reject),
        LiftSource(run.objects, dataset.digests, letters),
        run.choose_again(stage, make_selector(selector), len(table)),
        cache=None if scheme is None else run.pair_scores(scheme, "auto", 1, strangers),
        evidence=evidence_of(config["transforms"], scheme),
        **(config["unknown"] or {}),
        strangers=strangers,
    )


def trained_recipe(config, data, changed=lambda dataset: dataset):
    """The config's one recipe, trained on all records of the data set by the workflow's pieces.

    ``changed`` returns the data set to train on from the one that was read.
    """
    config = complete_configuration(config)
    mine, recipe = config["datasets"]["mine"], config["recipes"][0]
    data = Path(data)
    separator = mine["levels"] and mine["levels"]["separator"]
    source = make_source(mine["source"], data, separator)
    dataset = source.load(source.alphabet(mine["scoring"]), config["seed"])
    if mine["vectors"]:
        dataset = with_vectors(dataset, data / mine["vectors"])
    dataset = changed(dataset)
    scheme = read_scheme(dataset, mine["scoring"], data)
    if scheme is None:
        scores = open_scores(dataset)
    else:
        rows = np.arange(len(dataset.digests))
        scores = MatrixScores(rectangle(dataset.sequences, rows, rows, scheme))
    selector = config["selectors"][recipe["selector"]]
    names = recipe["transform"], selector.get("transform", "raw")
    transforms = transforms_of(names, config["transforms"], scheme)
    stage = LandmarkStage(dataset, scores, transforms, config["seed"])
    given = given_landmarks(dataset, selector, data)
    table = stage.select(make_selector(selector), given=given)
    landmark_rows = table["row"].to_numpy(np.int64)
    partition = Partition(dataset.rows, np.empty((0, len(dataset.ids)), dtype=np.int64))
    letters = "" if scheme is None else scheme.matrix.alphabet
    training = training_on(table, stage, selector, partition, config, letters, scheme)
    levels = Levels.of_settings(dataset.classes, mine["levels"])
    learn = mine["levels"]["learn"] if levels else "leaves"
    training = replace(training, levels=levels, learn=learn)
    landmarks, part = training.landmarks, training.part
    (entry,) = make_factors(landmarks, part, transforms, [recipe | {"lift": None}])
    learner, corrected = (
        config["learners"][recipe["learner"]],
        entry.corrected[recipe["correction"]],
    )
    kernel = landmark_kernel(landmarks, part, transforms[recipe["transform"]])
    trained = training.train(recipe, learner, corrected, kernel)
    own = landmarks.self_scores, landmarks.lengths
    seen = [array[dataset.rows] for array in (landmarks.scores, *own)]
    query = Query(*seen, objects_of(dataset).take(dataset.rows))
    (factor,) = factor_table([entry]).to_dict("records")
    figures, rows = {"recipe": recipe["name"]} | trained.figures, landmark_rows.tolist()
    model = final_model(dataset, trained.classifier, scheme, mine["source"], figures, factor, rows)
    labels = mine["source"].get("labels") or {}
    return SimpleNamespace(
        dataset=dataset,
        rows=landmark_rows,
        model=model,
        training=training,
        trained=trained,
        settings={
            "seed": config["seed"],
            "inner_folds": config["inner_folds"],
            "min_class_size": mine["source"]["min_class_size"],
            "folds": mine["folds"],
            "columns": [labels.get(f"{name}_column", name) for name in ("id", "label")],
        },
        decisions=trained.classifier.decision_function(query),
        probabilities=trained.classifier.predict_proba(query),
    )


def learned_of(it):
    """What the model of :func:`trained_recipe` was learned from."""
    scores = np.asarray(it.training.landmarks.scores)
    return Learned(
        it.dataset,
        scores.astype(np.int16) if it.dataset.kind == "sequences" else scores,
        it.training.landmarks.self_scores,
        it.rows,
        it.trained.held_out,
        it.settings,
    )


def trained_model(config, data):
    """The final model of the config's one recipe, with the probabilities of its training rows."""
    it = trained_recipe(config, data)
    return it.model, it.dataset, it.probabilities


def write_vectors(path, ids, seed=1, labels=None, columns=4, noise=1.0):
    """Write a vector for each id; with labels each class has a centre, among noise."""
    rng = np.random.default_rng(seed)
    values = noise * rng.normal(size=(len(ids), columns))
    if labels is not None:
        classes, codes = np.unique(labels, return_inverse=True)
        values += rng.normal(size=(len(classes), columns), scale=2)[codes]
    table = pd.DataFrame(values, columns=[f"v{i}" for i in range(columns)])
    table.insert(0, "id", list(ids))
    table.to_csv(path, sep="," if ".csv" in path.name else "\t", index=False)
    return path


def lifted_model(folder, vectors=True, kernel="gaussian", inducing=6, **more):
    """A lifted model that looks at scores, words and vectors, whatever its widths leave out."""
    ids, labels = zip(*[(id, label) for id, label, _ in families(0)], strict=True)
    write_vectors(folder / "v.tsv", ids, labels=labels)
    recipe = {"views": {"words": [1, 2], "vectors": vectors}}
    recipe |= {"lift": {"kernel": kernel, "inducing": inducing}}
    table = "v.tsv" if vectors else None
    model, dataset, _ = model_of(folder, recipe=recipe, vectors=table, **more)
    lift, classifier = model.classifier.lift, model.classifier
    rates = dict.fromkeys(("scores", "words", "vectors") if vectors else ("scores", "words"), 0.3)
    lift = replace(lift, rates=rates | dict(lift.rates))
    return replace(model, classifier=replace(classifier, lift=lift)), dataset


def model_of(
    folder, objects="sequences", transform=None, learner="ikfd", recipe=None, vectors=None, **more
):
    """As :func:`trained_model`, of what :func:`write_input` writes."""
    transform = transform or ("log" if objects == "sequences" else "raw")
    changes = {}
    if objects == "asymmetric":
        changes["selectors"] = {"meb": {"method": "uniform", "budget": 15}}
    changes |= {"recipe": recipe, "vectors": vectors}
    source = write_input(folder, objects, **more)
    return trained_model(configuration(source, transform, learner, **changes), folder)


def without_times(path: Path) -> bytes:
    """A result's content, without times and whatever else two runs of the same may differ in."""
    data = path.read_bytes()
    if path.name == "report.html":
        data = re.sub(rb'<section class="times".*?</section>', b"", data, flags=re.DOTALL)
    if path.name == "ro-crate-metadata.json":  # times, and what files that show times are
        varies = rb'"(startTime|endTime|datePublished|contentSize|sha256)": "[^"]*"'
        data = re.sub(varies, b"", data)
    return data
