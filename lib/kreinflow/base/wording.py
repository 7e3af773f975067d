"""Numbers, lists and long texts in messages."""


def plural(n: int, one: str, many: str | None = None) -> str:
    """Return a number and what it counts; the plural is the singular with an s, if not given.

    Examples
    --------
    >>> plural(1, "row"), plural(0, "class", "classes")
    ('1 row', '0 classes')
    """
    return f"{n} {one if n == 1 else many or one + 's'}"


def abridged(items: list[str], limit: int = 5) -> str:
    """Return the first few items as text, and how many more there are."""
    shown = ", ".join(items[:limit])
    return f"{shown} and {len(items) - limit} more" if len(items) > limit else shown


def shortened(text: str) -> str:
    """Return a text, or its first 60 characters, for messages."""
    return text if len(text) <= 60 else f"{text[:60]}..."
