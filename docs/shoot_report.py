"""Take the picture of a report that the README shows, ``docs/report.png``.

``python docs/shoot_report.py results/report.html`` takes it with a browser that is installed.
"""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

WIDTH = 1200
TOP = 750  # of the page: what is at a glance, and what to look at first
SECTION = "section:has(> #data-1-map)"


def shoot(report: Path) -> Image.Image:
    """Return the top of a report above its landmark map."""
    browsers = filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome")))
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=next(browsers, None), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": TOP})
        page.goto(report.resolve().as_uri())
        section = page.locator(SECTION)
        parts = [page.screenshot(), section.screenshot()]
        left = int((section.bounding_box() or {"x": 0})["x"])
        browser.close()
    top, below = (Image.open(io.BytesIO(part)).convert("RGB") for part in parts)
    whole = Image.new("RGB", (WIDTH, top.height + below.height), "white")
    whole.paste(top, (0, 0))
    whole.paste(below, (left, top.height))
    return whole.quantize(256)


if __name__ == "__main__":
    shoot(Path(sys.argv[1])).save(Path(__file__).with_name("report.png"), optimize=True)
