"""Words of what the final model accepts and rejects, and what it promises of that."""

from kreinflow.evaluation.accepted import AS
from kreinflow.report.reading import DatasetResults
from kreinflow.report.tables import in_percent, mean_of, numbers, short_percent, with_interval
from kreinflow.report.texts import TEXTS

_TEXTS: dict[str, str] = TEXTS["screen"]
_PROMISE = ("confidence", "error")


def accepted_answer(data: DatasetResults) -> tuple[str, str]:
    """Return the figure of the second question, and the line beside it."""
    own, rule, threshold = data.own("accepted"), data.own_rule, data.threshold
    on_folds, wrong = mean_of(own, "accepted"), float(numbers(own["wrong_of_accepted"])[0])
    relatives = 1.0 if rule is None else 1 - float(rule["known_rejected"])
    figure = in_percent(relatives * on_folds)
    records = float(numbers(own["accepted_records"])[0])
    shown = with_interval(wrong, records) if wrong == wrong else ""
    of_these = f"; {shown} of these are wrong." if shown else "."
    if data.several:
        return figure, _TEXTS["several_accepted"].format(of_these=of_these)
    if threshold.nothing:
        accepted = in_percent(on_folds)
        return "nothing", _TEXTS["nothing"].format(accepted=accepted, of_these=of_these)
    shares = {told: mean_of(own, name) for told, name in AS.items()}
    reasons = [f"{told} {in_percent(share)}" for told, share in shares.items() if share > 0]
    if rule is not None:
        alone = with_interval(1 - relatives, int(rule["tried"]))
        reasons.append(f"no relative {alone}, of {int(rule['tried']):,} training records")
    text = f"of new records of known classes{of_these}"
    if threshold.promised is not None:
        confidence, asked = (short_percent(data.config[f"reject_{k}"]) for k in _PROMISE)
        kind, promised = ("promised", "promised_more")[promises_more(data)], threshold.promised
        of_it = {"confidence": confidence, "asked": asked, "promised": in_percent(promised)}
        text += f" {_TEXTS[kind].format(**of_it)}"
    text += f" Rejected: {', '.join(reasons)}." if reasons else " None was rejected."
    text += " In brackets: exact 95 % intervals." if "(" in of_these or rule is not None else ""
    if threshold.probability > 1:
        return figure, f"{text} The final model asks for an overwhelming hit."
    also = ", or an overwhelming hit" if threshold.hits else ""
    return figure, f"{text} Threshold of the final model: {threshold.probability:.4g}{also}."


def promises_more(data: DatasetResults) -> bool:
    """Whether the final model promises more errors than were asked for, of the surest half."""
    promised = data.threshold.promised
    return promised is not None and promised > data.config["reject_error"]


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
