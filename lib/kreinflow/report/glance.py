"""The first screen: four questions about the final model, and what to do next."""

import textwrap
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kreinflow.alignment.scoring import by_parasail
from kreinflow.answering.reject_threshold import UNKEPT_ADVICE
from kreinflow.config.query_costs import million_hours, recipe_seconds
from kreinflow.evaluation.accepted import AS
from kreinflow.evaluation.comparison import SIGNIFICANCE
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report.in_words import joined
from kreinflow.report.names import DETAIL, HEAD, NEXT
from kreinflow.report.own import Config
from kreinflow.report.reading import DatasetReport
from kreinflow.report.rejecting import Threshold
from kreinflow.report.tables import (
    best_recipe,
    flags,
    measured,
    numbers,
    pairs,
    span,
    wrong_of_accepted,
)
from kreinflow.report.unknown import rule_of_final_model
from kreinflow.sequences.sources.registry import make_source
from kreinflow.sequences.sources.source import Source
from kreinflow.sequences.sources.vectors import ComparedSource

MUCH_REJECTED = 0.2
"""If more of the test records are rejected, the page says what to do."""

CHEAPER = 0.8
"""A recipe is cheaper if a query costs it this share or less."""

_WIDTH, _QUESTION = 96, 32
"""Letters of a line of the plain text, and of a question and the space behind it."""

_HITS = {
    "local": "best Smith-Waterman hit (what BLAST searches for)",
    "global": "best Needleman-Wunsch hit",
    "semiglobal": "best semi-global hit",
}


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


def cards(
    data: DatasetReport,
    config: Config,
    final: Mapping[str, Any] | None,
    recipe: Mapping[str, Any],
) -> list[Card]:
    """Return the four questions and their answers.

    Parameters
    ----------
    data : DatasetReport
    config : mapping
    final : mapping or None
        The row of the final model in the table of models, if it is there.
    recipe : mapping
        The final one.
    """
    aligned = make_source(data.settings["source"]).aligned
    asked = (
        ("How good is it?", _accuracy(data)),
        ("What will be accepted?", _accepted(data, final)),
        (
            "Is it better than BLAST here?"
            if aligned
            else "Is it better than the nearest neighbour here?",
            _best_hit(data, aligned),
        ),
        ("What does a query cost?", _cost(data, config, final, recipe, aligned)),
    )
    return [Card(question, *answer) for question, answer in asked]


def _row(table: pd.DataFrame, recipe: str) -> pd.DataFrame:
    """Return the rows of a recipe: one or none in tables with one row a recipe."""
    return table[table["recipe"].astype(str) == recipe]


def _accuracy(data: DatasetReport) -> tuple[str, str]:
    own = _row(data.summary, data.measured)
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


def _accepted(data: DatasetReport, final: Mapping[str, Any] | None) -> tuple[str, str]:
    own = _row(data.accepted, data.measured)
    if own.empty:
        return "not known", "The predictions have no reasons: run the workflow again."
    on_folds, wrong = _mean(own, "accepted"), wrong_of_accepted(own)
    rule = rule_of_final_model(data.strangers or {})
    relatives = 1.0 if rule is None else 1 - float(rule["known_rejected"])
    figure = _percent(relatives * on_folds)
    of_these = f"; {_percent(wrong)} of these are wrong." if wrong == wrong else "."
    if data.several:
        return figure, (
            f"of new records{of_these} The others get no label and are rejected. Each label has "
            "its own threshold."
        )
    threshold = None if final is None else Threshold(final, data.strangers)
    if threshold is not None and threshold.nothing:
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
    return figure, text if threshold is None else f"{text} {threshold.told()}"


def _best_hit(data: DatasetReport, aligned: bool) -> tuple[str, str]:
    hit = _HITS[data.settings["scoring"]["mode"]] if aligned else "nearest neighbour"
    own = _row(data.best_hit, data.measured)
    if own.empty or data.several:
        return "not known", _no_hit(data, aligned)
    low, high, p, difference, accuracy, among, of = (
        float(numbers(own[name])[0])
        for name in ("low", "high", "p", "difference", "hit_accuracy", "among", "of")
    )
    figure = f"{100 * difference:+.1f} points"
    which = f"among all {of:,.0f} training records"
    if not whole_search(data):
        done = "aligned" if aligned else "compared"
        which = (
            f"among {among:,.0f} of {of:,.0f} training records, those that were {done} in this run"
        )
    line = f"against the {hit} {which}, which is right in {_percent(accuracy)}."
    if np.isnan([low, high, p]).any():
        return f"{figure}, not tested", line
    told = "< 0.001" if p < 0.001 else f"= {p:.3f}"
    verdict = "better" if difference > 0 else "worse"
    verdict = verdict if p <= SIGNIFICANCE else "not significant"
    return f"{figure}, {verdict}", (
        f"{line} 95 % interval: {100 * low:+.1f} to {100 * high:+.1f} points; exact test: p {told}."
    )


def whole_search(data: DatasetReport) -> bool:
    """Whether the best hit is known, and of each record among all training records."""
    own = _row(data.best_hit, data.measured)
    return not own.empty and bool(flags(own["whole"]).iloc[0])


def _no_hit(data: DatasetReport, aligned: bool) -> str:
    if data.several:
        return "With several labels to a record there is no best hit to compare with."
    if aligned:
        return (
            "No recipe aligned each test record with training records beside its landmarks. "
            "“kreinflow compare” runs BLAST and other tools on the same folds."
        )
    return (
        "No recipe compared each test record with all training records. Add one with a selector of "
        "“method: all”."
    )


def asked_on_outer_folds(data: DatasetReport, final: Mapping[str, Any]) -> float | None:
    """Return the alignments of a query by the final model, on the mean; None if not measured.

    They are those of test records by the fits of its recipe, with all that a cascade and the test
    for unknown objects ask, and the landmarks that the final model has more.
    """
    own, fits = (_row(table, data.final_recipe) for table in (data.accepted, data.models))
    if own.empty:
        return None
    more = float(final["landmarks"]) - numbers(measured(fits)["landmarks"]).mean()
    asked = _mean(own, "alignments") + more
    return asked if asked == asked else None


def _cost(
    data: DatasetReport,
    config: Config,
    final: Mapping[str, Any] | None,
    recipe: Mapping[str, Any],
    aligned: bool,
) -> tuple[str, str]:
    if final is None:
        return "not known", "because the table of models has no row of the final model."
    found, distinct = asked_on_outer_folds(data, final), data.statistics["distinct"]
    asked = float(final["alignments_per_query"]) if found is None else found
    beside = f"instead of {distinct:,} with all distinct records."
    if saves_nothing(data, final):
        beside = "with all training records: each is a landmark, so nothing is saved."
    beside = beside if found is None else f"on the mean, {beside}"
    if rule_of_final_model(data.strangers or {}) is not None:
        beside = f"{beside.removesuffix('.')}, and more where it may have no relative."
    if not aligned:
        return f"{asked:,.0f} scores", beside
    length = float(data.statistics["lengths"]["mean"])
    slow = by_parasail(config["alignment"]["backend"], data.settings["scoring"]["mode"])
    seconds = recipe_seconds(recipe, asked, float(final["landmarks"]), distinct, length, slow)
    return f"{asked:,.0f} alignments", (
        f"{beside} About {1000 * seconds:.2g} ms on one core, {million_hours(seconds):.2g} core "
        f"hours for a million queries: an estimate, for sequences of {length:,.0f} residues."
    )


def saves_nothing(data: DatasetReport, final: Mapping[str, Any]) -> bool:
    """Whether the final model compares a query with all training records."""
    return int(final["landmarks"]) >= int(data.statistics["distinct"])


def _mean(own: pd.DataFrame, what: str) -> float:
    return float(numbers(own[f"{what}_mean"])[0])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def quoted(data: DatasetReport, own: pd.DataFrame) -> str:
    """Return whose figures the page tells, where this needs a word; ``own`` are its models."""
    recipes = data.summary["recipe"].astype(str)
    if INNER_CHOICE not in set(recipes):
        return ""
    choice = f"{pairs(_row(data.summary, INNER_CHOICE), 'accuracy', factor=100)[0]} %"
    if data.measured != INNER_CHOICE:
        return (
            "The config names this recipe. If you picked it after a look at these very folds, its "
            "figure is optimistic: the best of several looks better than it is. Choosing among all "
            f"recipes by the inner folds gave {choice} (Comparison)."
        )
    tested = measured(own)
    same = int((tested["recipe"].astype(str) == data.final_recipe).sum())
    return (
        "The inner folds chose the recipe. So the figures on this page are those of choosing (the "
        "inner choice): each outer fold is measured with the recipe that its training part chose, "
        f"in {same} of {len(tested)} folds that of the final model."
    )


def data_line(data: DatasetReport, own: pd.DataFrame, final: Mapping[str, Any] | None) -> str:
    """Return how much there was, and how many landmarks are in the fits and the final model."""
    statistics = data.statistics
    kept, distinct = statistics["records_kept"], statistics["distinct"]
    text = f"{kept:,} records, {distinct:,} of them distinct,"
    text = f"{kept:,} distinct records" if kept == distinct else text
    text += f" of {len(statistics['class_sizes']):,} classes"
    counts = pd.Series(numbers(measured(own)["landmarks"]))
    parts = [f"{span(counts)} landmarks in the fits of the outer folds"] if len(counts) else []
    if final is not None:
        parts.append(f"{int(final['landmarks']):,} in the final model")
    return "; ".join([text, ", ".join(parts)] if parts else [text]) + "."


def next_steps(
    data: DatasetReport,
    config: Config,
    final: Mapping[str, Any] | None,
    costs: Mapping[str, float],
    recipe: Mapping[str, Any],
) -> list[Step]:
    """Return what to do next, only what applies.

    Parameters
    ----------
    data : DatasetReport
    config : mapping
    final : mapping or None
        As for :func:`cards`.
    costs : mapping of str to float
        Of a query, by recipe.
    recipe : mapping
        Of the final model.
    """
    source = make_source(data.settings["source"])
    model = f"{config.get('results', 'results')}/{data.name}/model.safetensors"
    new = f"new.{_ending(source)}"
    beside = " --vectors new.tsv" if (recipe.get("views") or {}).get("vectors") else ""
    if (recipe.get("cascade") or {}).get("records") == "apart":
        beside += " --records training.fasta"
    steps = [
        Step(
            "Classify new " + ("sequences" if source.aligned else "objects"),
            f"kreinflow classify {model} {new}{beside} -o predictions.tsv",
        ),
        Step(
            "See what a decision rests on",
            f"kreinflow explain {model} {new}{beside} --id ID",
        ),
    ]
    local = source.aligned and data.settings["scoring"]["mode"] == "local"  # else no E-values
    if local and not data.several and config.get("unknown") is None:
        steps.append(
            Step(
                "If new sequences may be of classes that are not here, set “unknown: "
                "{false_alarms: 0.01}” and run again: each then has a p-value"
            )
        )
    accepted = _row(data.accepted, data.measured)
    if final is not None and not data.several and Threshold(final, data.strangers).nothing:
        steps.append(Step(f"All new records will be rejected. {UNKEPT_ADVICE}."))
    elif not accepted.empty and (rejected := 1 - _mean(accepted, "accepted")) > MUCH_REJECTED:
        steps.append(Step(_of_much_rejected(data, config, accepted, rejected)))
    if final is not None and saves_nothing(data, final):
        steps.append(
            Step(
                "Every training record is a landmark, so nothing is saved against a full search. "
                "A selector with a budget, or a cascade, asks fewer."
            )
        )
    if cheaper_alike(data.comparison, costs, data.final_recipe):
        steps.append(
            Step(
                "A recipe that costs less is not distinguishable from the best one",
                section="comparison",
            )
        )
    if source.aligned and not data.several and not whole_search(data):
        steps.append(
            Step(
                "Run BLAST and other tools on the same folds",
                "kreinflow compare CONFIG.yaml",
            )
        )
    by_column = bool(data.settings["folds"].get("column"))
    if data.settings["source"]["type"] != "matrix" and not data.several and not by_column:
        steps.append(
            Step(
                "Add records that get a label later, without a new run",
                f"kreinflow update {model} more{new.removeprefix('new')} --labels more.tsv "
                "-o updated.safetensors",
            )
        )
    return steps


def in_text(head: str, screen: Mapping[str, Any]) -> str:
    """Return the first screen of a data set as plain text, with warnings before the next steps.

    Parameters
    ----------
    head : str
    screen : mapping
        ``cards``, ``quoted``, ``warnings`` and ``next``, as the page has them.
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
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _ending(source: Source) -> str:
    """Return what the name of a file of new objects may end in."""
    if source.aligned:
        return "fasta"
    return "txt" if isinstance(source, ComparedSource) and source.kernel.strings else "csv"


def _of_much_rejected(
    data: DatasetReport, config: Config, accepted: pd.DataFrame, rejected: float
) -> str:
    """Return what to do if much will be rejected, by the reason that is most often told."""
    about = "About half" if 0.45 <= rejected <= 0.55 else f"About {100 * rejected:.0f} %"
    text = f"{about} of new records will be rejected. They are given their likeliest class too. "
    main = max(AS, key=lambda reason: _mean(accepted, AS[reason]))
    if data.several:
        return text + "No label reaches its threshold there: add records of rare labels."
    if main == "unknown":
        return text + "To accept more, ask for a smaller share of false alarms (unknown)."
    if main == "no relative":
        return text + "They have no relative among the training records: add more of their kind."
    ways = [
        "raise " + ("reject_error" if config.get("reject_coverage") is None else "reject_coverage")
    ]
    if (numbers(_row(data.per_class, data.measured)["recall"]) < 1).any():
        ways.append("add records of the classes with a low recall (Classes)")
    if best_recipe(data.comparison) != data.final_recipe:
        ways.append("take a more accurate recipe (Comparison)")
    return f"{text}To accept more, {joined(ways, 'or')}."


def cheaper_alike(comparison: pd.DataFrame, costs: Mapping[str, float], final: str) -> bool:
    """Whether the best recipe, or one not distinguishable from it, costs less than the final."""
    good = flags(comparison["best"]) | flags(comparison["indistinguishable"])
    own = [costs[name] for name in comparison.loc[good, "recipe"].astype(str) if name in costs]
    return final in costs and min(own, default=costs[final]) <= CHEAPER * costs[final]
