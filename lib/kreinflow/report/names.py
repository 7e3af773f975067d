"""The page and the files beside it, in the folder of results."""

PAGE, TEXT, CONFIG = "report.html", "report.txt", "config.yaml"  # TEXT is the first screen
MULTIQC = "kreinflow_mqc.json"  # MultiQC looks for such an end
CRATE, WORKFLOW = "ro-crate-metadata.json", "workflow.smk"  # a crate must hold its main entity

HEAD, DETAIL, NEXT = "== ", "    ", "What to do next"
"""Of the plain text: what begins the part of a data set, a line that a short text can do without,
and what a short text ends before."""


def short(text: str) -> str:
    r"""Return the plain text without details and next steps.

    Examples
    --------
    >>> print(short("== one\nHow?  Well\n    details\nWhat to do next\n- Look\n\n== two\n"))
    == one
    How?  Well
    == two
    """
    lines, kept = [], True
    for line in text.splitlines():
        kept = line.startswith(HEAD) or (kept and line != NEXT)
        if kept and not line.startswith(DETAIL):
            lines.append(line)
    return "\n".join(lines)
