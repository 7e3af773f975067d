"""Draw the stages of a run as a map of lines and stations, ``docs/stages.svg``.

``python docs/draw_stages.py`` writes the file again; a test compares the two.
"""

from pathlib import Path

WIDTH, HEIGHT = 900, 400
SEQUENCES, MATRIX, VECTORS, FACTOR = "#2f81f7", "#d9730d", "#2da44e", "#a371f7"
ROW, GAP = 128, 9  # the height of the main line, and between the three lines that run along it

# The stations of the main line are targets of Snakemake: name, place, and what happens there.
STATIONS = [
    ("dataset", 188, ["records checked,", "duplicates collapsed"]),
    ("folds", 292, ["outer folds,", "relatives together"]),
    ("landmarks", 392, ["a few records", "stand for the rest"]),
    ("alignment", 496, ["each record scored", "with the landmarks"]),
    ("factor", 594, ["Nyström factor,", "signs of eigenvalues"]),
    ("correction", 684, ["none, flip, clip,", "square, shift"]),
    ("model", 768, ["recipes, each", "with a learner"]),
    ("evaluation", 848, ["metrics,", "comparison"]),
]
SOURCES = [
    ("FASTA", ROW - 44, ROW - GAP, SEQUENCES),
    ("matrix", ROW, ROW, MATRIX),
    ("vectors, strings", ROW + 44, ROW + GAP, VECTORS),
]
LOWER = 318

STYLE = """\
text { font-family: -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; }
.card { fill: #ffffff; stroke: #d0d7de; }
.name { fill: #1f2328; font-size: 14px; font-weight: 600; }
.what { fill: #59636e; font-size: 11px; paint-order: stroke; stroke: #ffffff; stroke-width: 5px; }
.file { fill: #1f2328; font-size: 13px; font-weight: 600; font-family: monospace; }
.stop { fill: #ffffff; stroke: #1f2328; stroke-width: 2.5; }
.thin { stroke: #59636e; fill: none; }
.line { fill: none; stroke-width: 6; stroke-linecap: round; stroke-linejoin: round; }
@media (prefers-color-scheme: dark) {
  .card { fill: #0d1117; stroke: #3d444d; }
  .name, .file { fill: #f0f6fc; }
  .what { fill: #9198a1; stroke: #0d1117; }
  .stop { fill: #0d1117; stroke: #f0f6fc; }
  .thin { stroke: #9198a1; }
}"""


def text(x: float, y: float, words: str, kind: str, anchor: str = "middle") -> str:
    """Return a line of text."""
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>'


def line(path: str, colour: str) -> str:
    """Return a stretch of a line."""
    return f'<path class="line" d="{path}" stroke="{colour}"/>'


def stop(x: float, y: float, half_height: float = 7) -> str:
    """Return the mark of a station, long enough for the lines that meet there."""
    return (
        f'<rect class="stop" x="{x - 7}" y="{y - half_height}" width="14" '
        f'height="{2 * half_height}" rx="7"/>'
    )


def draw_lines() -> list[str]:
    """Return the lines: three from the sources to the factor, one from there to the ends."""
    places = {name: x for name, x, _ in STATIONS}
    factor, model, evaluation = places["factor"], places["model"], places["evaluation"]
    drawn = [
        line(f"M 62 {y} H 112 L {112 + abs(row - y)} {row} H {factor}", colour)
        for _, y, row, colour in SOURCES
    ]
    drawn.append(line(f"M {factor} {ROW} H {evaluation}", FACTOR))
    drawn.append(line(f"M {evaluation} {ROW} V {LOWER}", FACTOR))
    turn = f"V {LOWER - 24} Q {model} {LOWER} {model - 24} {LOWER}"
    drawn.append(line(f"M {model} {ROW} {turn} H 330", FACTOR))
    return drawn


def draw_score_store() -> list[str]:
    """Return the store of alignment scores, which two stations take theirs from."""
    landmarks, alignment = (x for name, x, _ in STATIONS if name in ("landmarks", "alignment"))
    middle = (landmarks + alignment) / 2
    ways = " ".join(
        f"M {x} {ROW + 57} V 198 Q {x} 206 {x + sign * 8} 206 H {middle}"
        for x, sign in ((landmarks, 1), (alignment, -1))
    )
    return [
        f'<path class="thin" d="{ways}" stroke-dasharray="3 3"/>',
        f'<rect class="card" x="{middle - 46}" y="194" width="92" height="24" rx="5"/>',
        text(middle, 210, "score store", "name"),
        text(middle, 233, "no score is computed again", "what"),
    ]


def draw_stations() -> list[str]:
    """Return the stations of the main line, with names and notes."""
    drawn = []
    for _, y, _, _ in SOURCES:
        drawn.append(stop(62, y))
    for name, y, _, _ in SOURCES:
        drawn.append(text(62, y - 13, name, "name"))
    for name, x, notes in STATIONS:
        drawn.append(stop(x, ROW, 7 + GAP if x <= 594 else 7))
        drawn.append(text(x, ROW - 26, name, "name"))
        for index, note in enumerate(notes):
            drawn.append(text(x, ROW + 36 + 14 * index, note, "what"))
    return drawn


def draw_ends() -> list[str]:
    """Return what a run leaves, and what is done with the model."""
    return [
        stop(848, LOWER),
        text(848, LOWER + 28, "report.html", "file"),
        stop(768, 232),
        text(754, 231, "final_model", "name", "end"),
        text(754, 246, "the best recipe, on all records", "what", "end"),
        stop(640, LOWER),
        text(640, LOWER + 28, "model.safetensors", "file"),
        text(640, LOWER + 44, "numbers and JSON, no code", "what"),
        stop(480, LOWER),
        text(480, LOWER - 16, "classify", "name"),
        text(480, LOWER + 26, "new sequences:", "what"),
        text(480, LOWER + 40, "label, probability, reject", "what"),
        stop(330, LOWER),
        text(330, LOWER - 16, "explain", "name"),
        text(330, LOWER + 26, "which landmarks", "what"),
        text(330, LOWER + 40, "carried a decision", "what"),
    ]


def draw_notes() -> list[str]:
    """Return the bracket over what is done in each fold, and the key."""
    first, last = 392 - 34, 768 + 26
    drawn = [
        f'<path class="thin" d="M {first} 70 V 60 H {last} V 70"/>',
        text((first + last) / 2, 50, "in each outer fold, and once on all records", "what"),
        text(24, 36, "From sequences to a report and a model", "name", "start"),
        text(24, 250, "Each name is a command:", "what", "start"),
        text(24, 265, "snakemake landmarks, kreinflow explain", "what", "start"),
    ]
    key = [("sequences", SEQUENCES), ("matrix", MATRIX), ("vectors, strings", VECTORS)]
    for index, (name, colour) in enumerate([*key, ("factor: one way for all", FACTOR)]):
        y = 292 + 19 * index
        drawn.append(line(f"M 28 {y} H 52", colour))
        drawn.append(text(64, y + 4, name, "what", "start"))
    return drawn


def draw() -> str:
    """Return the picture as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img">',
        "<title>The stages of a run</title>",
        f"<style>\n{STYLE}\n</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>',
        *draw_lines(),
        *draw_score_store(),
        *draw_stations(),
        *draw_ends(),
        *draw_notes(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("stages.svg").write_text(draw(), encoding="utf-8")
