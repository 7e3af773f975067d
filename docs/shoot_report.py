"""Take the picture of a report that the README shows, with a browser that is installed.

``python docs/shoot_report.py results/report.html`` writes ``docs/report.png``.
"""

import io
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

WIDTH = 1200
SECTION = "section:has(> #data-1-confusion)"
HEIGHT = 800


@contextmanager
def opened(report: Path) -> Iterator[Page]:
    """Open a report in a browser whose scrollbars are seen."""
    browsers = filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome")))
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=next(browsers, None),
            args=["--no-sandbox", "--disable-gpu"],
            ignore_default_args=["--hide-scrollbars"],
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(report.resolve().as_uri())
        yield page
        browser.close()


def shoot(page: Page) -> Image.Image:
    """Return the four questions of a report, above the confusions."""
    cards = page.locator("dl.facts").first.bounding_box() or {"y": 0, "height": HEIGHT}
    top = picture(page.screenshot()).crop((0, 0, WIDTH, int(cards["y"] + cards["height"]) + 8))
    section = page.locator(SECTION)
    left = int((section.bounding_box() or {"x": 0})["x"])
    below = picture(section.screenshot())
    whole = Image.new("RGB", (WIDTH, top.height + below.height), "white")
    whole.paste(top, (0, 0))
    whole.paste(below, (left, top.height))
    return whole


def picture(png: bytes) -> Image.Image:
    """Return a picture that the browser took."""
    return Image.open(io.BytesIO(png)).convert("RGB")


if __name__ == "__main__":
    with opened(Path(sys.argv[1])) as tab:
        few_colours = shoot(tab).quantize(256)
    few_colours.save(Path(__file__).with_name("report.png"), optimize=True)
