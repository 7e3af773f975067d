"""Words of the first screen: four questions about the final model, and what to do next."""

import textwrap
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kreinflow.alignment.scoring import by_parasail
from kreinflow.config.query_costs import million_hours, recipe_seconds
from kreinflow.evaluation.accepted import AS
from kreinflow.evaluation.comparison import SIGNIFICANCE
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.fitting.reject_threshold import UNKEPT_ADVICE
from kreinflow.report.names import DETAIL, HEAD, NEXT
from kreinflow.report.reading import DatasetResults
from kreinflow.report.tables import (
    flags,
    measured,
    numbers,
    of_recipe,
    pairs,
    span,
)
from kreinflow.report.texts import TEXTS
from kreinflow.sequences.sources.vectors import ComparedSource

MUCH_REJECTED = 0.2
"""If more of the test records are rejected, the page says what to do."""

CHEAPER = 0.8
"""A recipe is cheaper if a query costs it this share or less."""

_MORE_ACCEPTED = {
    "unknown": "To accept more, ask for a smaller share of false alarms (unknown).",
    "no relative": "They have no relative among the training records: add more of their kind.",
}

_WIDTH, _QUESTION = 96, 32
"""Letters of a line of the plain text, and of a question and the space behind it."""


class Card(NamedTuple):
    """A question of the first screen, its figure, and a line beside it."""

    question: str
    figure: str
    line: str


class Step(NamedTuple):
    """What to do next: a text, with a command or the key of the section to look at."""

    text: str
    command: str = ""
    section: str = ""


def cards(data: DatasetResults) -> list[Card]:
    """Return the four questions and their answers."""
    rival = "BLAST" if data.aligned else "the nearest neighbour"
    return [
        Card("How good is it?", *_accuracy(data)),
        Card("What will be accepted?", *_accepted(data)),
        Card(f"Is it better than {rival} here?", *_best_hit(data)),
        Card("What does a query cost?", *_cost(data)),
    ]


def _accuracy(data: DatasetResults) -> tuple[str, str]:
    own = data.own("summary")
    if own.empty:
        return "not measured", "No outer fold has a figure of this recipe."
    folds = int(numbers(own["folds"])[0])
    spread = ": mean ± standard deviation" if folds > 1 else ""
    where = f"on {folds} outer fold{'s' if folds != 1 else ''}{spread}"
    figure = f"{pairs(own, 'accuracy', factor=100)[0]} %"
    if data.several:
        f1 = pairs(own, "micro_f1", factor=100)[0]
        return figure, (
            f"of the records have all their labels right, and no other. Micro F1: {f1} %. Quote "
            f"these figures ({where})."
        )
    return figure, f"accuracy {where}. This is the figure to quote."


def _accepted(data: DatasetResults) -> tuple[str, str]:
    own, rule, threshold = data.own("accepted"), data.own_rule, data.threshold
    if own.empty:
        return "not known", "The predictions have no reasons: run the workflow again."
    on_folds, wrong = _mean(own, "accepted"), float(numbers(own["wrong_of_accepted"])[0])
    relatives = 1.0 if rule is None else 1 - float(rule["known_rejected"])
    figure = _percent(relatives * on_folds)
    of_these = f"; {_percent(wrong)} of these are wrong." if wrong == wrong else "."
    if data.several:
        return figure, (
            f"of new records{of_these} The others get no label and are rejected. Each label has "
            "its own threshold."
        )
    if threshold.nothing:
        return "nothing", (
            "The final model rejects all: no threshold keeps what was asked for. The models of the "
            f"outer folds accept {_percent(on_folds)} of the records of known classes{of_these}"
        )
    reasons = [
        f"{told} {_percent(share)}" for told, name in AS.items() if (share := _mean(own, name)) > 0
    ]
    if rule is not None:
        tried = f"(of {int(rule['tried']):,} training records)"
        reasons.append(f"no relative {_percent(1 - relatives)} {tried}")
    text = f"of new records of known classes{of_these}"
    text += f" Rejected: {', '.join(reasons)}." if reasons else " None was rejected."
    if data.final is None:
        return figure, text
    if threshold.probability > 1:
        return figure, f"{text} The final model asks for an overwhelming hit."
    also = ", or an overwhelming hit" if threshold.hits else ""
    return figure, f"{text} Threshold of the final model: {threshold.probability:.4g}{also}."


def rejects(data: DatasetResults) -> str:
    """Return which predictions the final model rejects."""
    threshold = data.threshold
    if data.several:
        return "records none of whose labels reaches its threshold"
    if threshold.nothing:
        return "all predictions"
    if threshold.probability > 1:
        text = "predictions that no overwhelming hit speaks for"
        return f"{text}, and others with a probability below {threshold.probability - 1:.4g}"
    text = f"predictions with a probability below {threshold.probability:.4g}"
    return f"{text}, unless an overwhelming hit speaks for them" if threshold.hits else text


def _best_hit(data: DatasetResults) -> tuple[str, str]:
    own = data.own("best_hit")
    if data.several:
        return "not known", "With several labels to a record there is no best hit to compare with."
    if own.empty:
        return "not known", (
            "No recipe aligned each test record with training records beside its landmarks. "
            "“kreinflow compare” runs BLAST and other tools on the same folds."
            if data.aligned
            else "No recipe compared each test record with all training records. Add one with a "
            "selector of “method: all”."
        )
    low, high, p, difference, accuracy, among, of = (
        float(numbers(own[name])[0])
        for name in ("low", "high", "p", "difference", "hit_accuracy", "among", "of")
    )
    hit = TEXTS["hits"][data.settings["scoring"]["mode"]] if data.aligned else "nearest neighbour"
    which = f"among all {of:,.0f} training records"
    if not whole_search(data):
        done = "aligned" if data.aligned else "compared"
        which = (
            f"among {among:,.0f} of {of:,.0f} training records, those that were {done} in this run"
        )
    figure = f"{100 * difference:+.1f} points"
    line = f"against the {hit} {which}, which is right in {_percent(accuracy)}."
    if np.isnan([low, high, p]).any():
        return f"{figure}, not tested", line
    told = "< 0.001" if p < 0.001 else f"= {p:.3f}"
    verdict = "better" if difference > 0 else "worse"
    verdict = verdict if p <= SIGNIFICANCE else "not significant"
    return f"{figure}, {verdict}", (
        f"{line} 95 % interval: {100 * low:+.1f} to {100 * high:+.1f} points; exact test: p {told}."
    )


def whole_search(data: DatasetResults) -> bool:
    """Whether the best hit is known, and of each record among all training records."""
    own = data.own("best_hit")
    return not own.empty and bool(flags(own["whole"]).iloc[0])


def asked_on_outer_folds(data: DatasetResults) -> float | None:
    """Return the alignments of a query by the final model, on the mean; None if not measured.

    They are those of test records by the fits of its recipe, with all that a cascade and the test
    for unknown objects ask, and the landmarks that the final model has more.
    """
    own, fits = (of_recipe(data[name], data.final_recipe) for name in ("accepted", "models"))
    if own.empty or data.final is None:
        return None
    more = float(data.final["landmarks"]) - numbers(measured(fits)["landmarks"]).mean()
    asked = _mean(own, "alignments") + more
    return asked if asked == asked else None


def _cost(data: DatasetResults) -> tuple[str, str]:
    final = data.final
    if final is None:
        return "not known", "because the table of models has no row of the final model."
    found, distinct = asked_on_outer_folds(data), data.statistics["distinct"]
    asked = float(final["alignments_per_query"]) if found is None else found
    beside = f"instead of {distinct:,} with all distinct records."
    if int(final["landmarks"]) >= int(distinct):
        beside = "with all training records: each is a landmark, so nothing is saved. A selector "
        beside += "with a budget, or a cascade, asks fewer."
    beside = beside if found is None else f"on the mean, {beside}"
    if data.own_rule is not None:
        beside = f"{beside.removesuffix('.')}, and more where it may have no relative."
    if not data.aligned:
        return f"{asked:,.0f} scores", beside
    length = float(data.statistics["lengths"]["mean"])
    slow = by_parasail(data.config["alignment"]["backend"], data.settings["scoring"]["mode"])
    landmarks = float(final["landmarks"])
    seconds = recipe_seconds(data.recipe, asked, landmarks, distinct, length, slow)
    return f"{asked:,.0f} alignments", (
        f"{beside} About {1000 * seconds:.2g} ms on one core, {million_hours(seconds):.2g} core "
        f"hours for a million queries: an estimate, for sequences of {length:,.0f} residues."
    )


def _mean(own: pd.DataFrame, what: str) -> float:
    return float(numbers(own[f"{what}_mean"])[0])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def quoted(data: DatasetResults) -> str:
    """Return whose figures the page tells, where this needs a word."""
    choice = of_recipe(data["summary"], INNER_CHOICE)
    if choice.empty:
        return ""
    if data.measured != INNER_CHOICE:
        return (
            "The config names this recipe. If you picked it after a look at these very folds, its "
            "figure is optimistic: the best of several looks better than it is. Choosing among all "
            f"recipes by the inner folds gave {pairs(choice, 'accuracy', factor=100)[0]} % "
            "(Comparison)."
        )
    tested = measured(data.own_models)
    return (
        "The inner folds chose the recipe. So the figures on this page are those of choosing (the "
        "inner choice): each outer fold is measured with the recipe that its training part chose, "
        f"in {len(of_recipe(tested, data.final_recipe))} of {len(tested)} folds that of the final "
        "model."
    )


def data_line(data: DatasetResults) -> str:
    """Return how much there was, and how many landmarks are in the fits and the final model."""
    statistics = data.statistics
    kept, distinct = statistics["records_kept"], statistics["distinct"]
    text = f"{kept:,} records, {distinct:,} of them distinct,"
    text = f"{kept:,} distinct records" if kept == distinct else text
    text += f" of {len(statistics['class_sizes']):,} classes"
    counts = pd.Series(numbers(measured(data.own_models)["landmarks"]))
    parts = [f"{span(counts)} landmarks in the fits of the outer folds"] if len(counts) else []
    if data.final is not None:
        parts.append(f"{int(data.final['landmarks']):,} in the final model")
    return "; ".join([text, ", ".join(parts)] if parts else [text]) + "."


def next_steps(data: DatasetResults) -> list[Step]:
    """Return what to do next, only what applies."""
    config, aligned = data.config, data.aligned
    model = f"{config.get('results', 'results')}/{data.name}/model.safetensors"
    strings = isinstance(data.source, ComparedSource) and data.source.kernel.strings
    ending = "fasta" if aligned else "txt" if strings else "csv"
    beside = " --vectors new.tsv" if (data.recipe.get("views") or {}).get("vectors") else ""
    if (data.recipe.get("cascade") or {}).get("records") == "apart":
        beside += " --records training.fasta"
    query = f"{model} new.{ending}{beside}"
    objects = "sequences" if aligned else "objects"
    steps = [
        Step(f"Classify new {objects}", f"kreinflow classify {query} -o predictions.tsv"),
        Step("See what a decision rests on", f"kreinflow explain {query} --id ID"),
    ]
    local = aligned and data.settings["scoring"]["mode"] == "local"  # else no E-values
    if local and not data.several and config.get("unknown") is None:
        text = "If new sequences may be of classes that are not here, set “unknown: "
        steps.append(Step(f"{text}{{false_alarms: 0.01}}” and run again: each then has a p-value"))
    accepted = data.own("accepted")
    if not data.several and data.threshold.nothing:
        steps.append(Step(f"All new records will be rejected. {UNKEPT_ADVICE}."))
    elif not accepted.empty and 1 - _mean(accepted, "accepted") > MUCH_REJECTED:
        steps.append(Step(_of_much_rejected(data, accepted)))
    if cheaper_alike(data["comparison"], data.costs, data.final_recipe):
        text = "A recipe that costs less is not distinguishable from the best one"
        steps.append(Step(text, section="comparison"))
    if aligned and not data.several and not whole_search(data):
        text = "Run BLAST and other tools on the same folds"
        steps.append(Step(text, "kreinflow compare CONFIG.yaml"))
    by_column = bool(data.settings["folds"].get("column"))
    if data.settings["source"]["type"] != "matrix" and not data.several and not by_column:
        more = f"{model} more.{ending}{beside} --labels more.tsv -o updated.safetensors"
        text = "Add records that get a label later, without a new run"
        steps.append(Step(text, f"kreinflow update {more}"))
    return steps


def _of_much_rejected(data: DatasetResults, accepted: pd.DataFrame) -> str:
    """Return what to do if much will be rejected, by the reason that is most often told."""
    rejected = 1 - _mean(accepted, "accepted")
    text = (
        f"About {100 * rejected:.0f} % of new records will be rejected. They are given their "
        "likeliest class too. "
    )
    if data.several:
        return text + "No label reaches its threshold there: add records of rare labels."
    main = max(AS, key=lambda reason: _mean(accepted, AS[reason]))
    if main != "unsure":
        return text + _MORE_ACCEPTED[main]
    by = "error" if data.config.get("reject_coverage") is None else "coverage"
    return (
        f"{text}To accept more, raise reject_{by}, add records of the classes with a low recall "
        "(Classes) or take a more accurate recipe (Comparison)."
    )


def cheaper_alike(comparison: pd.DataFrame, costs: Mapping[str, float], final: str) -> bool:
    """Whether the best recipe, or one not distinguishable from it, costs less than the final."""
    good = flags(comparison["best"]) | flags(comparison["indistinguishable"])
    own = [costs[name] for name in comparison.loc[good, "recipe"].astype(str) if name in costs]
    return final in costs and min(own, default=costs[final]) <= CHEAPER * costs[final]


def in_text(head: str, screen: Mapping[str, Any]) -> str:
    """Return the first screen of a data set as plain text, with warnings before the next steps.

    ``screen`` has ``cards``, ``quoted``, ``warnings`` and ``next``, as the page has them.
    """
    lines, inner = [*_filled(head, HEAD), ""], "  "
    for card in screen["cards"]:
        lines += [f"{card.question:<{_QUESTION}}{card.figure}", *_filled(card.line, inner)]
        inner = DETAIL
    lines += _filled(screen["quoted"], DETAIL) if screen["quoted"] else []
    if screen["warnings"]:
        lines += ["", "Look at this first"]
        lines += [line for text in screen["warnings"] for line in _filled(text, "- ")]
    lines += ["", NEXT]
    for step in screen["next"]:
        where = f" (section {step.section.capitalize()} of the page)" if step.section else ""
        lines += _filled(f"{step.text}{where}{':' if step.command else ''}", "- ")
        lines += [f"  {step.command}"] if step.command else []
    return "\n".join(lines) + "\n"


def _filled(text: str, first: str = "") -> list[str]:
    """Return a text in lines of a terminal's width; no word, which may be a path, is broken."""
    indents = {"initial_indent": first, "subsequent_indent": " " * len(first)}
    kept = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(text, _WIDTH, **indents, **kept)  # type: ignore[arg-type]
