"""Take pictures of a report with a browser that is installed.

``python docs/shoot_report.py results/report.html`` takes the one that the README shows,
``docs/report.png``. With ``--folder shots`` it takes the first screen instead, in windows of
``--width`` pixels.
"""

import argparse
import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

WIDTH = 1200
SECTION = "section:has(> #data-1-confusion)"
WIDTHS = (1280, 1400)
HEIGHT = 800  # of a first screen


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


def save(image: Image.Image, path: Path) -> None:
    """Write a picture with few colours."""
    image.quantize(256).save(path, optimize=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("--folder", type=Path, help="where pictures of the first screen go")
    parser.add_argument("--width", type=int, nargs="+", default=WIDTHS, help="of the windows")
    asked = parser.parse_args()
    with opened(asked.report) as tab:
        if asked.folder is None:
            save(shoot(tab), Path(__file__).with_name("report.png"))
        else:
            asked.folder.mkdir(parents=True, exist_ok=True)
            for width in asked.width:
                tab.set_viewport_size({"width": width, "height": HEIGHT})
                save(picture(tab.screenshot()), asked.folder / f"{width}.png")
