"""Made-up tables of a run, realistic in their shape, for the tests of figures and page."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd

from evaluation.made_up import made_up_paths, made_up_predictions, made_up_several
from kreinflow.evaluation.levels import level_tables
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.evaluation.tables import evaluation_tables
from kreinflow.evaluation.unknown import (
    FAMILIES_COLUMNS,
    MEASURES,
    REJECTION_SUMMARY_COLUMNS,
    UNKNOWN_CURVE_COLUMNS,
)
from kreinflow.fitting.recipe_choice import packed
from kreinflow.report.figures.dataset import draw
from kreinflow.report.page import render_report
from kreinflow.report.reading import CURVE_COLUMNS, DatasetResults
from kreinflow.report.texts import CAPTIONS, FIGURES
from kreinflow.report.times import COLUMNS

SELECTORS = {"meb": "meb", "kmeans": "kmeans++", "uniform": "uniform"}
RECIPES = (
    ("ikfd-meb", "log", "meb", "none", "ikfd"),
    ("ikfd-pooled-meb", "log", "meb", "none", "ikfd-pooled"),
    ("ikfd-pooled-meb-normalised", "normalised", "meb", "none", "ikfd-pooled"),
    ("ikfd-pooled-meb-flip", "log", "meb", "flip", "ikfd-pooled"),
    ("pcvm-meb", "log", "meb", "none", "pcvm"),
    ("nearest-meb", "log", "meb", "none", "nearest"),
    ("svc-meb", "log", "meb", "none", "svc"),
    ("ikfd-pooled-kmeans", "log", "kmeans", "none", "ikfd-pooled"),
    ("pcvm-uniform", "log", "uniform", "none", "pcvm"),
)
POOLED = {"scatter": "pooled", "bias": "least_squares", "ridge": "inner"}
LEARNERS = {
    "ikfd": {"method": "ny_ikfd", "scatter": "balanced", "bias": "midpoint", "ridge": 0},
    "ikfd-pooled": {"method": "ny_ikfd"} | POOLED,
    "pcvm": {"method": "ny_pcvm", "basis": "landmarks", "max_iter": 500},
    "nearest": {"method": "nearest_landmark"},
    "svc": {"method": "linear_svc"},
}


def many_recipes(n):
    """Return the recipes, again under other names if there are more."""
    again = [(f"{name}-{i}", *parts) for i in (2, 3) for name, *parts in RECIPES]
    return [*RECIPES, *again][:n]


def class_labels(n_classes):
    long = "family {0} of some length, subfamily {0}"
    names = [f"PF{7 * i:05d}" if i % 3 else long.format(i) for i in range(1, n_classes - 1)]
    return sorted([*names, "<b>&\"'$x", "NA"])


def run_tables(n_classes, n_folds, n, n_recipes=9, dropped=(), cascades=0, several=False):
    """Return the tables of a data set by name, and what the page needs beside them.

    Recipes that are ``dropped`` have been measured on the first fold alone. The first
    ``cascades`` recipes have a cascade. Records may have ``several`` labels.
    """
    rng = np.random.default_rng(0)
    classes, recipes = class_labels(n_classes), many_recipes(n_recipes)
    qualities = {name: 4.6 - 2.25 * r / max(n_recipes, 9) for r, (name, *_) in enumerate(recipes)}
    if several:
        qualities = {name: quality / 2 for name, quality in qualities.items()}
    made_up = made_up_several if several else made_up_predictions
    predictions = with_reasons(made_up(classes, qualities, n, n_folds))
    groups = pd.Series(range(n), index=predictions["id"][:n])
    labels = predictions["true"][:n].str.split(";") if several else predictions["true"][:n]
    true = labels.str[0] if several else labels
    chosen = predictions[predictions["recipe"] == recipes[1][0]].assign(recipe=INNER_CHOICE)
    predictions = predictions[~predictions["recipe"].isin(dropped) | (predictions["fold"] == 0)]
    places = pd.DataFrame({"repeat": 0, "fold": range(n_folds)})
    places.loc[n_folds] = -1
    budget = {selector: 8 * n_classes + 3 * i for i, selector in enumerate(SELECTORS)}
    models = made_up_models(places, recipes, budget)
    models = models[~models["recipe"].isin(dropped) | (models["fold"] == 0)]
    asking = [name for name, *_ in recipes[:cascades]]
    models.loc[models["recipe"].isin(asking), ["cascade", "cascade_pairs"]] = [LEVELS, 1500]
    factors, spectrum = made_up_factors(places, models, n, rng)
    told = pd.concat([predictions, chosen], ignore_index=True)
    final, *kernel = next(recipe[:3] for recipe in recipes if recipe[0] not in dropped)
    lengths = rng.gamma(4, 60, n).astype(int) + 30
    points = made_up_points(true, classes, budget["meb"], rng)
    statistics = made_up_statistics(labels.explode(), lengths) | {"records_kept": n}
    return {
        "classes": classes,
        "statistics": statistics | (several_statistics(labels) if several else {}),
        "thresholds": dict.fromkeys(classes, 0.375) if several else {},
        "lengths": lengths,
        "alignments": {
            "aligned": 700_000,
            "self_scores": n - 20,
            "full_matrix": (n - 20) * (n - 21) // 2,
            "distinct": n - 20,
            "store": "e3" * 16,
            "asked": None,
            "scheme": settings()["scoring"],
        },
        "agreed": 4_000,
        "landmarks": made_up_landmarks(places, models, classes, rng),
        "factors": factors,
        "spectrum": spectrum[(spectrum[["transform", "selector"]] == kernel).all(axis=1)],
        "models": models,
        "curves": made_up_curves(predictions[predictions["recipe"].isin(asking)], models),
        "cascade": FINAL_CASCADE if cascades else None,
        **evaluation_tables(told, groups, several),
        "times": made_up_times(n_folds, rng),
        "points": points,
        "landmark_map": {
            **{"transform": "log", "rank_wanted": "misfit"},
            "factor": factors.iloc[0].to_dict(),
            "eigenvalues": [812.5, -40.25],
            "all_eigenvalues": 1000.0,
            **{"distinct": n - 20, "recipe": final, "selector": kernel[1]},
            **dict.fromkeys(("landmarks", "shown_landmarks"), budget["meb"]),
            "shown_objects": len(points) - budget["meb"],
            "similar_classes": classes[1::2] + classes[::2],
        },
    }


def with_reasons(predictions):
    """Return them with those of low probability rejected, and the best hits of all records."""
    top = predictions.filter(regex="^p_").max(axis=1)
    below = [top < 0.3, top < 0.31, top < 0.5]
    reasons = np.select(below, ["unknown", "no relative", "unsure"], "")
    hits = predictions["true"].where(predictions.index % 5 > 0, predictions["predicted"].iloc[0])
    identity = (7 * predictions.index % 91 + 10) / 100
    told = {"hit": hits, "hit_among": 80, "hit_of": 80, "hit_identity": identity}
    return predictions.assign(reason=reasons, **told)


def several_statistics(labels):
    """What a data set says of its labels, where records may have several."""
    numbers = labels.str.len().value_counts().sort_index()
    return {
        "several": True,
        "labels_per_record": {str(n): int(count) for n, count in numbers.items()},
        "labels_removed": {"count": 1, "examples": ["rare"]},
    }


def made_up_models(places, recipes, budget):
    columns = ["recipe", "transform", "selector", "correction", "learner"]
    models = places.merge(pd.DataFrame(recipes, columns=columns), how="cross")
    landmarks, pcvm = models["selector"].map(budget), models["learner"] == "pcvm"
    counts = dict.fromkeys(("unlearned_classes", "singular_classes", "cascade_pairs"), 0)
    texts = ("unlearned_names", "singular_names", "views", "inner_sizes", "inner_known", "cascade")
    return models.assign(
        **{"landmarks": landmarks, "rank": landmarks // 2, "alignments_per_query": landmarks + 1},
        iterations=np.where(pcvm, 500, 1),
        converged=~(pcvm & (models["fold"] == 1)),
        hyper_parameters=models["learner"].map({"ikfd-pooled": '{"ridge": 0.01}'}),
        **{"basis_used": 0.04, "temperature": 0.7, "reject_threshold": 0.4},
        promised_error=0.01,
        **{"inner_accuracy": 0.95, "inner_log_loss": 0.2, "inner_records": 20},
        inner_right=packed(np.arange(20) < 19),
        groups_held_out=True,
        **counts,
        **dict.fromkeys(texts, ""),
    )


LEVELS = "nearest 10, 20, 50, pairs of 3, threshold 0.93"
FINAL_CASCADE = {"steps": [10, 20, 50], "likeliest": 3, "threshold": 0.93}
THRESHOLDS = (0.0, 0.5, 0.8, 0.93, 0.99, 2.0)


def made_up_curves(predictions, models):
    """Curves of all that is predicted: the chosen rows have as many right as the predictions."""
    cost = models.groupby("recipe", sort=False)["alignments_per_query"].first()
    cost += np.arange(len(cost))
    rows = []
    for (recipe, repeat, fold), part in predictions.groupby(["recipe", "repeat", "fold"]):
        n, right = len(part), int((part["true"] == part["predicted"]).sum())
        for place, threshold in enumerate(THRESHOLDS):
            found = min(n, max(0, right + (place - 3) * (2 + fold)))
            alignments = cost[recipe] * (1 + (place + fold / 4) * place**2 / 20)
            chosen = "yes" if threshold == 0.93 else "no"
            rows.append((recipe, repeat, fold, threshold, alignments, n, found, chosen))
    return pd.DataFrame(rows, columns=[*CURVE_COLUMNS]).assign(selector="meb")


def made_up_landmarks(places, models, classes, rng):
    selectors = models[["selector", "landmarks"]].drop_duplicates()
    table = places.merge(selectors, how="cross")
    table = table.loc[table.index.repeat(table["landmarks"])].reset_index(drop=True)
    label, meb = rng.choice(len(classes), len(table)), table["selector"] == "meb"
    return table.drop(columns="landmarks").assign(
        **{"class": np.array(classes)[label]},
        radius=np.where(meb, 0.8 + 0.01 * label, np.nan),
        reached=~(meb & (table["fold"] == 2) & (label == 1)),
    )


def made_up_factors(places, models, n, rng):
    """Factors, and their spectra: those of the transform log have more negative eigenvalues."""
    factors, spectra = [], []
    kinds = models[["selector", "transform", "landmarks", "rank"]].drop_duplicates()
    for row in places.merge(kinds.assign(rank_wanted="misfit"), how="cross").to_dict("records"):
        values = 40 / np.arange(1, row["rank"] + 1) ** 1.3
        share = 0.3 if row["transform"] == "log" else 0.02
        values *= np.where(rng.random(row["rank"]) < share, -1, 1)
        below = values[values < 0]
        row["misfit"] = 0.62 if (row["selector"], row["fold"]) == ("uniform", 0) else 0.12
        counts = {"positive": len(values) - len(below), "negative": len(below)}
        counts |= {"zero": n - row["rank"]}
        fraction = float(-below.sum() / np.abs(values).sum())
        factors.append(row | counts | {"negative_fraction": fraction})
        for correction, shown in (("none", values), ("flip", np.abs(values))):
            spectra.append(pd.DataFrame({"eigenvalue": shown, "correction": correction} | row))
    return pd.DataFrame(factors), pd.concat(spectra, ignore_index=True)


def made_up_points(true, classes, landmarks, rng):
    n = len(true)
    angle = np.searchsorted(classes, true) * 2 * np.pi / len(classes) + rng.normal(0, 0.2, n)
    x, y = (way(angle) * rng.gamma(9, 0.1, n) for way in (np.cos, np.sin))
    points = {
        "id": [f"s{i}" for i in range(n)],
        "class": true,
        "landmark": np.arange(n) < landmarks,
    }
    return pd.DataFrame(points | {"x": x, "y": y})[: landmarks + 2000]


def made_up_statistics(true, lengths):
    n = len(true)
    return {
        "records_read": n + 14,
        "records_kept": n,
        "distinct": n - 20,
        "dropped": {
            "small class": {"count": 3, "examples": ["x1", "x2", "x3"]},
            "illegal residues": {"count": 11, "examples": ["<i>bad</i>", "y2"]},
        },
        "substitutions": {"U -> C": 4, "lower case": 120},
        "class_sizes": true.value_counts().sort_index().to_dict(),
        "lengths": {"minimum": float(lengths.min()), "median": 250.0, "mean": 270.0},
        "asymmetry": None,
        "files": {"proteins.fasta.gz": "ab" * 32, "labels.tsv": "cd" * 32},
    }


def made_up_times(n_folds, rng):
    stages = ("alignment", "class_scores", "landmarks", "factor", "model", "evaluation", "dataset")
    machine = ("node1", "0.1.0", "2.4.6", "Haswell", "2026-01-02T03:04:05+00:00")
    times = [
        (stage, f"job{i}", rng.gamma(2, 9), rng.gamma(2, 8), 200 + rng.random() * 400, *machine)
        for stage in stages
        for i in range(1 if stage in ("dataset", "evaluation") else n_folds)
    ]
    return pd.DataFrame(times, columns=list(COLUMNS))


def config(n_recipes=9, cascades=0):
    keys = ("name", "transform", "selector", "correction", "learner")
    return {
        "seed": 1,
        "alignment": {"backend": "auto"},
        "inner_folds": 3,
        "prefer": "accuracy",
        "reject_error": 0.01,
        "reject_confidence": 0.9,
        "transforms": {"log": {"a": 20}, "evalue": {"lambda": None, "K": None}},
        "datasets": {"demo": settings()},
        "selectors": {
            name: {"method": method, "transform": "log", "candidates": None, "epsilon": 0.01}
            if method == "meb"
            else {"method": method, "budget": "meb"}
            for name, method in SELECTORS.items()
        },
        "learners": LEARNERS,
        "recipes": [
            dict(zip(keys, r, strict=True))
            | {"rank": "misfit", "cascade": {"loss": 0.001} if place < cascades else None}
            for place, r in enumerate(many_recipes(n_recipes))
        ],
    }


def settings():
    return {
        "source": {"type": "fasta", "fasta": "proteins.fasta.gz", "molecule": "protein"},
        "scoring": {"matrix": "BLOSUM62", "gap_open": 11, "gap_extend": 1, "mode": "local"},
        "folds": {"method": "stratified", "k": 10, "repeats": 1},
        "recipes": [r[0] for r in RECIPES],
        "final": None,
    }


def dataset_report(tables, whole=None, name="demo", **changes):
    """Return results with these tables and this config; ``changes`` replace parts of them."""
    own = settings()
    if tables["statistics"].get("several"):
        own["source"]["labels"] = {"table": "labels.tsv", "multiple": "all"}
    own = changes.pop("settings", own)
    final = changes.pop("final_recipe", "ikfd-meb")
    whole = whole or config()
    data = DatasetResults(Path("nowhere"), name, whole | {"datasets": {name: own}})
    parts = {key: value for key, value in tables.items() if hasattr(DatasetResults, key)}
    parts |= {"figures": dict.fromkeys(CAPTIONS, "<svg width='10pt'></svg>")}
    parts |= {"unlabelled": None, "unknown": None, "strangers": {}, "thresholds": {}}
    parts |= {"cascade": None, "final_recipe": final, "lost": "", "promises": pd.DataFrame()}
    for key, value in {**parts, **tables, **changes}.items():
        if hasattr(DatasetResults, key):
            vars(data)[key] = value
        elif isinstance(value, pd.DataFrame):
            data.tables[key] = value
        elif key == "levels":
            data.tables |= value
    return data


LEVELS_ASKED = {"separator": ".", "back_off": 0.95, "learn": "leaves", "small": "parent"}


def levels_of(tables):
    """The tables of classes that are paths, of the recipes of other ones."""
    recipes = {name: 3 - 0.2 * rank for rank, name in enumerate(tables["summary"]["recipe"])}
    return level_tables(made_up_paths(recipes, 120, folds=2), LEVELS_ASKED)


def unknown_tables(tables):
    """The tables of two classes held out, whose shares follow from a recipe's number."""
    recipes = list(tables["summary"]["recipe"])
    shares = np.arange(1, len(recipes) + 1) / 100
    of_measure = {"known_rejected": shares, "known_error": shares / 10}
    of_measure |= {"unknown_rejected": 0.3 + shares, "auroc": 0.5 + shares}
    summary = pd.DataFrame({"recipe": recipes, "folds": 3, "would_be_found": 0.6 + shares})
    for place, measure in enumerate(MEASURES):
        values = of_measure.get(measure, shares / 4 + place / 100)
        summary[f"{measure}_mean"], summary[f"{measure}_sd"] = values, 0.005
    summary = summary[list(REJECTION_SUMMARY_COLUMNS)]
    families = [
        (recipe, label, 30, 0.3 + share, np.nan, 0.1, 0.05, share, tables["classes"][0], 0.9)
        for recipe, share in zip(recipes, shares, strict=True)
        for label in ("<i>odd</i>", "new")
    ]
    curve = [(r, 0.1 * i, (0.1 * i) ** 0.5) for r in recipes for i in range(11)]
    return {
        "summary": summary,
        "families": pd.DataFrame(families, columns=list(FAMILIES_COLUMNS)),
        "curve": pd.DataFrame(curve, columns=list(UNKNOWN_CURVE_COLUMNS)),
    }


VERSIONS = {"python": "3.11", "kreinflow": "0.1.0"}


def figures_of(tables, **changes):
    """Return all figures of these tables, as text of SVGs."""
    changes = {"final_recipe": tables["landmark_map"]["recipe"]} | changes
    data = dataset_report(tables, **changes)
    return {name: draw(data, name) for name in FIGURES}


def report_page(tables, whole=None, **changes):
    """Return the page of these tables, as HTML and read."""
    data = dataset_report(tables, whole, **changes)
    html = render_report([data], whole or config(), VERSIONS)
    return html, Page(html).checked()


VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Elements with their attributes, the text, and whether tags are closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.text, self.faults = [], [], [], []
        self.under = {"": []}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("h2", "h3", "h4") and "id" in dict(attrs):
            self.under[dict(attrs)["id"]] = []
        # What a reader who sees no picture is told.
        self.under[next(reversed(self.under))] += [dict(attrs).get("alt") or ""]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        self.text.append(data)
        self.under[next(reversed(self.under))].append(data)

    def checked(self):
        """Tags are closed in order, ids are unique, links lead somewhere, and nothing is loaded."""
        assert self.faults == self.open == []
        assert len(self.ids) == len(set(self.ids))
        for tag, attrs in self.elements:
            assert tag not in ("link", "iframe", "object", "embed", "base")
            for name in ("src", "srcset", "poster", "data"):
                assert attrs.get(name, "data:").startswith("data:")
            if tag == "script":
                assert attrs == {}
            if "href" in attrs:
                assert tag == "a"
                inside = attrs["href"].removeprefix("#") in self.ids
                assert inside or attrs["href"].startswith("https://doi.org/")
        return self

    def sections(self):
        """The text under each heading of a section, by its id; the head of the page has none."""
        return {name: " ".join(" ".join(parts).split()) for name, parts in self.under.items()}

    @property
    def all_text(self):
        return " ".join(" ".join(self.text).split())

    @property
    def ids(self):
        return [attrs["id"] for _, attrs in self.elements if "id" in attrs]
