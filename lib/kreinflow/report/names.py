"""The files that the page is in, in the folder of results."""

PAGE, TEXT, CONFIG = "report.html", "report.txt", "config.yaml"
"""The page, its first screen as plain text, and the complete config of the run."""

DETAIL = "    "
"""What a line of the plain text begins with if a short text can do without it."""
