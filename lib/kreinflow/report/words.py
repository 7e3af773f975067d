"""Words of the first screen: four questions on the final model, warnings, what to do next."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kreinflow.alignment.scoring import by_parasail
from kreinflow.answering.query_and_answers import NOTHING_ACCEPTED
from kreinflow.base.numerics import FloatArray
from kreinflow.base.wording import abridged, plural
from kreinflow.config.part_costs import million_hours, recipe_seconds
from kreinflow.evaluation.accepted import AS
from kreinflow.evaluation.comparison import SIGNIFICANCE
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.files.text_files import name_endings
from kreinflow.fitting.reject_threshold import UNKEPT_ADVICE, RejectRule
from kreinflow.kernels.registry import ASKED
from kreinflow.report.accepting import accepted_answer, promises_more
from kreinflow.report.cascades import LEVEL, broken_loss
from kreinflow.report.names import DETAIL, HEAD, NEXT
from kreinflow.report.reading import DatasetResults
from kreinflow.report.tables import (
    cells,
    flags,
    in_percent,
    mean_of,
    measured,
    numbers,
    of_recipe,
    percent,
    share,
    short_percent,
    span,
)
from kreinflow.report.texts import TEXTS
from kreinflow.sequences.collapse import SMALL
from kreinflow.sequences.labels import differ_in_case
from kreinflow.sequences.sources.measured import ComparedSource
from kreinflow.sequences.strands import strand_advice

LARGEST_MISFIT = 0.5
SMALL_CLASS = 10
MUCH_REJECTED = 0.2  # if more of the test records are rejected, the page says what to do
FAR, FEW_FAR = (0.3, 0.5), 50  # identities of far records, the first with so many; else none
CHEAPER = 0.8  # a recipe is cheaper if a query costs it this share or less

_TEXTS: dict[str, str] = TEXTS["screen"]
_WARNINGS: dict[str, str] = TEXTS["warnings"]
_WIDTH, _QUESTION = 96, 32  # letters of a line of the plain text, and of a question and its space


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
        Card("What will be accepted?", *accepted_answer(data)),
        Card(f"Is it better than {rival} here?", *_best_hit(data)),
        Card("What does a query cost?", *_cost(data)),
    ]


def _accuracy(data: DatasetResults) -> tuple[str, str]:
    own = data.own("summary")
    folds = int(numbers(own["folds"])[0])
    spread = ": mean ± standard deviation" if folds > 1 else ""
    where = f"on {plural(folds, 'outer fold')}{spread}"
    figure = share(own, "accuracy")
    if data.several:
        f1 = cells(own, "micro_f1", "±%")[0]
        return figure, _TEXTS["several_right"].format(f1=f1, where=where)
    of_two = data.own("ranking").rename(columns={"class": "label"}).to_dict("records")
    ranked = "".join(f" {_TEXTS['ranked'].format_map(row)}" for row in of_two)
    return figure, f"accuracy {where}. This is the figure to quote.{ranked}{_of_far(data)}"


def _of_far(data: DatasetResults) -> str:
    """Return how many are right of those without a near relative; nothing if few or most are so."""
    own = data.own("identity")
    high, count, right = (numbers(own[name]) for name in ("high", "records", "accuracy"))
    for limit in FAR:
        far = high <= limit
        if FEW_FAR <= (n := count[far].sum()) <= count.sum() / 2:
            told = {"limit": 100 * limit, "n": n, "right": percent(right[far] @ count[far] / n)}
            return " " + _TEXTS["far"].format(**told)
    return ""


def _best_hit(data: DatasetResults) -> tuple[str, str]:
    own = data.own("best_hit")
    if data.several:
        return "not known", _TEXTS["several_hit"]
    if own.empty:
        return "not known", _TEXTS["no_hit_aligned" if data.aligned else "no_hit_compared"]
    low, high, p, difference, accuracy = (
        float(numbers(own[name])[0]) for name in ("low", "high", "p", "difference", "hit_accuracy")
    )
    hit = TEXTS["hits"][data.settings["scoring"]["mode"]] if data.aligned else "nearest neighbour"
    figure = f"{100 * difference:+.1f} points"
    line = f"against the {hit} {found_among(data)}, which is right in {in_percent(accuracy)}."
    if np.isnan([low, high, p]).any():
        return f"{figure}, not tested", line
    told = "< 0.001" if p < 0.001 else f"= {p:.3f}"
    verdict = "better" if difference > 0 else "worse"
    verdict = verdict if p <= SIGNIFICANCE else "not significant"
    return f"{figure}, {verdict}", (
        f"{line} 95 % interval: {100 * low:+.1f} to {100 * high:+.1f} points; exact test: p {told}."
    )


def found_among(data: DatasetResults) -> str:
    """Return among which training records the best hits are."""
    among, of = (numbers(data.own("best_hit")[name])[0] for name in ("among", "of"))
    if whole_search(data):
        return f"among all {of:,.0f} training records"
    told = "aligned" if data.aligned else "compared"
    return f"among {among:,.0f} of {of:,.0f} training records, those that were {told} in this run"


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
    more = float(data.final["landmarks"]) - numbers(measured(fits)["landmarks"]).mean()
    asked = mean_of(own, "alignments") + more
    return asked if asked == asked else None


def _cost(data: DatasetResults) -> tuple[str, str]:
    final = data.final
    found, distinct = asked_on_outer_folds(data), data.statistics["distinct"]
    asked = float(final["alignments_per_query"]) if found is None else found
    beside = f"instead of {distinct:,} with all distinct records."
    if int(final["landmarks"]) >= int(distinct):
        beside = _TEXTS["nothing_saved"]
    beside = beside if found is None else f"on the mean, {beside}"
    if data.own_rule is not None:
        beside = f"{beside.removesuffix('.')}, and more where it may have no relative."
    if not data.aligned:
        return f"{asked:,.0f} scores", beside
    length = float(data.statistics["lengths"]["mean"])
    slow = by_parasail(data.config["alignment"]["backend"], data.settings["scoring"]["mode"])
    beyond = max(0.0, asked - float(final["landmarks"]) - 1)
    seconds = recipe_seconds(data.recipe, asked, beyond, distinct, length, slow)
    return f"{asked:,.0f} alignments", (
        f"{beside} About {1000 * seconds:.2g} ms on one core, {million_hours(seconds):.2g} core "
        f"hours for a million queries: an estimate, for sequences of {length:,.0f} residues."
    )


def span_of_percent(shares: FloatArray) -> str:
    """Return shares in percent, from the least to the largest; of none nothing."""
    ends = [f"{100 * end:.1f}" for end in (min(shares, default=0.0), max(shares, default=0.0))]
    return f"{' to '.join(dict.fromkeys(ends))} %"


def quoted(data: DatasetResults) -> str:
    """Return whose figures the page tells, where this needs a word."""
    choice = of_recipe(data["summary"], INNER_CHOICE)
    if choice.empty:
        return ""
    if data.measured != INNER_CHOICE:
        return _TEXTS["named"].format(accuracy=cells(choice, "accuracy", "±%")[0])
    tested = measured(data.own_models)
    same = len(of_recipe(tested, data.final_recipe))
    return _TEXTS["chosen"].format(same=same, folds=len(tested))


def data_line(data: DatasetResults) -> str:
    """Return how much there was, and how many landmarks are in the fits and the final model."""
    statistics = data.statistics
    kept, distinct = statistics["records_kept"], statistics["distinct"]
    text = f"{kept:,} records, {distinct:,} of them distinct,"
    text = f"{kept:,} distinct records" if kept == distinct else text
    text += f" of {len(statistics['class_sizes']):,} classes"
    counts = pd.Series(numbers(measured(data.own_models)["landmarks"]))
    final = f"{int(data.final['landmarks']):,} in the final model"
    return f"{text}; {span(counts)} landmarks in the fits of the outer folds, {final}."


def next_steps(data: DatasetResults) -> list[Step]:
    """Return what to do next, only what applies."""
    config, aligned = data.config, data.aligned
    model = f"{config.get('results', 'results')}/{data.name}/model.safetensors"
    strings = isinstance(data.source, ComparedSource) and data.source.kernel.strings
    ending = "fasta" if aligned else "txt" if strings else "csv"
    beside = " --vectors new.tsv" if (data.recipe.get("views") or {}).get("vectors") else ""
    if (data.recipe.get("cascade") or {}).get("records") == "apart":
        beside += " --records training.fasta"
    if (asked := data.source.asked) is not None:
        ending = name_endings(Path(data.settings["source"][data.source.path_key]))[1][1:]
        beside += f" --score {asked[asked['name']]}" if asked["name"] in ASKED else ""
    query = f"{model} new.{ending}{beside}"
    objects = "sequences" if aligned else "objects"
    steps = [
        Step(f"Classify new {objects}", f"kreinflow classify {query} -o predictions.tsv"),
        Step("See what a decision rests on", f"kreinflow explain {query} --id ID"),
    ]
    local = aligned and data.settings["scoring"]["mode"] == "local"  # else no E-values
    if local and not data.several and config.get("unknown") is None:
        steps.append(Step(_TEXTS["ask_unknown"]))
    accepted = data.own("accepted")
    if not data.several and data.threshold.nothing:
        steps.append(Step(f"All new records will be rejected. {UNKEPT_ADVICE}."))
    elif promises_more(data):
        steps.append(Step(_TEXTS["half"]))
    elif 1 - mean_of(accepted, "accepted") > MUCH_REJECTED:
        steps.append(Step(_of_much_rejected(data, accepted)))
    if cheaper_alike(data["comparison"], data.costs, data.final_recipe):
        steps.append(Step(_TEXTS["cheaper"], section="comparison"))
    if aligned and not data.several and not whole_search(data):
        steps.append(Step(_TEXTS["compare"], "kreinflow compare CONFIG.yaml"))
    by_column = bool(data.settings["folds"].get("column"))
    if data.settings["source"]["type"] != "matrix" and not data.several and not by_column:
        more = f"{model} more.{ending}{beside} --labels more.tsv -o updated.safetensors"
        steps.append(Step(_TEXTS["update"], f"kreinflow update {more}"))
    return steps


def _of_much_rejected(data: DatasetResults, accepted: pd.DataFrame) -> str:
    rejected = 1 - mean_of(accepted, "accepted")
    reason = max(AS, key=lambda reason: mean_of(accepted, AS[reason]))
    by = "error" if data.config.get("reject_coverage") is None else "coverage"
    advice = TEXTS["more_accepted"]["several" if data.several else reason].format(by=by)
    return f"{_TEXTS['much_rejected'].format(rejected=100 * rejected)} {advice}"


def cheaper_alike(comparison: pd.DataFrame, costs: Mapping[str, float], final: str) -> bool:
    """Whether the best recipe, or one not distinguishable from it, costs less than the final."""
    good = flags(comparison["best"]) | flags(comparison["indistinguishable"])
    own = [costs[name] for name in comparison.loc[good, "recipe"].astype(str) if name in costs]
    return final in costs and min(own, default=costs[final]) <= CHEAPER * costs[final]


def warnings_of(data: DatasetResults) -> list[str]:
    """Return one sentence or two for each kind of trouble, an empty list if there is none.

    Nothing is said of other recipes than those that the final model's figures come from.
    """
    found = [*_of_fits(data), _of_cascade(data)]
    if broken := broken_promises(data):
        found.append(_WARNINGS["broken"].format(broken="; ".join(broken)))
    found += [*_of_classes(data.statistics), data.lost]
    return [text for text in found if text]


def _of_fits(data: DatasetResults) -> list[str]:
    models, landmarks, factors = data.own_models, data.own_landmarks, data.own_factors
    config = data.config
    given = [n for n, settings in config["selectors"].items() if settings["method"] == "given"]
    misfit = numbers(factors["misfit"])
    nothing = RejectRule.of_config(config).unkept(NOTHING_ACCEPTED) or ""
    unkept = bool(nothing) & (numbers(models["reject_threshold"]) >= NOTHING_ACCEPTED)
    promised = numbers(models["promised_error"])
    more = promised > (config.get("reject_error") or 1.0)
    trouble = (
        (landmarks, landmarks["selector"].isin(given), "selector", "given"),
        (factors, misfit > LARGEST_MISFIT, None, "misfit"),
        (models, ~flags(models["converged"]), None, "not_converged"),
        (models, numbers(models["unlearned_classes"]) > 0, "unlearned_names", "unlearned"),
        (models, numbers(models["singular_classes"]) > 0, None, "singular"),
        (models, ~flags(models["groups_held_out"]), None, "torn_groups"),
        (models, unkept, None, "not_promised"),
        (models, more, None, "half_promised"),
        (landmarks, ~flags(landmarks["reached"]), "class", "not_reached"),
    )
    return [
        _WARNINGS[text].format(
            names=_names(table.loc[bad, column]) if column else "",
            places=_places(table[bad], data.final_recipe),
            worst=max(misfit[misfit > LARGEST_MISFIT], default=0.0),
            limit=LARGEST_MISFIT,
            unkept=nothing,
            half=span_of_percent(promised[more]),
            asked=short_percent(config.get("reject_error") or 1.0),
        )
        for table, bad, column, text in trouble
        if bad.any()
    ]


def _of_cascade(data: DatasetResults) -> str:
    stated = (data.recipe.get("cascade") or {}).get("loss")
    # Records of a group tend to be right or wrong together.
    if stated is None or data.settings["folds"]["method"] == "grouped":
        return ""
    curve = of_recipe(data.curves, data.final_recipe)
    lost = broken_loss(curve, float(stated), data.statistics["distinct"])
    if lost is None:
        return ""
    return _WARNINGS["lost_more"].format(found=100 * lost, stated=100 * float(stated), level=LEVEL)


def broken_promises(data: DatasetResults) -> list[str]:
    """Return what the outer folds say against the promises of sets and errors, beyond chance.

    A promise is broken if it is missed by a point and three standard errors more. Of a coverage
    these are binomial, of as many calibrating records as are tested; of errors those over folds.
    """
    found = []
    coverage, errors = data.own("coverage"), data.own("errors")
    for row in coverage[coverage["class"].astype(str) == ""].to_dict("records"):
        asked, held, n = (float(row[name]) for name in ("confidence", "coverage", "records"))
        if held < asked - 0.01 - 3 * np.sqrt(2 * asked * (1 - asked) / n):
            found.append(f"sets of {short_percent(asked)} hold the true label in {percent(held)}")
    for row in errors.to_dict("records"):
        asked, wrong = float(row["errors"]), float(row["wrong_mean"])
        spread = float(pd.to_numeric(row["wrong_sd"], errors="coerce"))
        if wrong > asked + 0.01 + 3 * spread / np.sqrt(float(row["folds"])):
            were = f"where {short_percent(asked)} errors were asked for"
            found.append(f"{were}, {percent(wrong)} are wrong")
    return found


def _of_classes(statistics: Mapping[str, Any]) -> list[str]:
    sizes, found = statistics["class_sizes"], []
    if left_out := statistics.get("dropped", {}).get(SMALL):
        told = {"records": plural(left_out["count"], "record")}
        told["names"] = ", ".join(left_out["examples"][:3])
        found.append(_WARNINGS["left_out"].format(**told))
    if small := sorted((size, name) for name, size in sizes.items() if size < SMALL_CLASS):
        names = abridged([f"{name} ({size})" for size, name in small])
        found.append(_WARNINGS["small_classes"].format(limit=SMALL_CLASS, names=names))
    if alike := differ_in_case(sizes):
        names = abridged([f"{first} and {second}" for first, second in alike])
        found.append(_WARNINGS["differ_in_case"].format(names=names))
    return [*found, strand_advice(statistics.get("other_strand"))]


def _names(cells: "pd.Series[Any]") -> str:
    lists = str(cells.name).endswith("_names")  # else a cell is one name, which may have a comma
    found = [str(cell).split(", ") if lists else [str(cell)] for cell in cells]
    return abridged(list(dict.fromkeys(name for names in found for name in names)))


def _places(table: pd.DataFrame, final_recipe: str) -> str:
    own = measured(table)
    folds = own.drop_duplicates(["repeat", "fold"])
    others = int((folds["recipe"].astype(str) != final_recipe).sum())
    places = [plural(len(folds), "fold")] if len(folds) else []
    if others:
        places[0] += f" ({others} by another recipe, which the inner folds chose there)"
    if len(own) < len(table):
        places.append("the final model")
    return " and ".join(places)


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
