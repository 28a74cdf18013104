"""Take the pictures of the report that the documentation shows: `python tools/screenshots.py`, with Chromium.

The table is the one of `tamiz demo`, so that anyone can make the pictures again, and they look the same.
"""

import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parent.parent / "docs"
# What is shown of a section: what is harder to say in words than to see.
SHOWN = {
    "redundancy": "#redundancy figure:has(#shared)",
    "subset": "#subset figure:has(#sizes)",
    "model_effect": "#model_effect .argued",
    "assessment": "#assessment figure:has(#scores-compared)",
    "maps": "#maps figure >> nth=0",
    "quality": "#quality .quad",
}
WIDTH, SCALE = 1000, 1.5
# The picture of the README: two columns, and how much of them.
HALF, TALL = 720, 1150
MOST_BYTES = 200_000
# Flat colours of a page need no more.
COLOURS = 256


def main() -> None:
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        subprocess.run([sys.executable, "-m", "tamiz", "demo", "--quiet", "--output", report], check=True)
        with sync_playwright() as play:
            chromium = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": WIDTH, "height": 1200}, device_scale_factor=SCALE)
            page.goto(report.as_uri())
            for section, selector in SHOWN.items():
                take(page, section, selector)
            overview(browser.new_page(viewport={"width": HALF, "height": 2400}), report)
            browser.close()


def overview(page, report: Path) -> None:
    """Save the beginnings of three sections side by side, as the README shows them."""
    page.goto(report.as_uri())
    # What sticks to the top of the window would lie over the sections.
    page.add_style_tag(content="nav { display: none }")
    whole = Image.new("RGB", (2 * HALF, TALL), page.evaluate("() => getComputedStyle(document.body).backgroundColor"))
    for column, sections in enumerate((("ranking", "subset"), ("maps",))):
        top = 0
        for section in sections:
            place = page.locator(f"#{section}")
            for plot in place.locator(".plot").all()[:1]:
                plot.scroll_into_view_if_needed()
                plot.locator(".main-svg").first.wait_for()
            picture = Image.open(BytesIO(place.screenshot()))
            whole.paste(picture, (column * HALF + (HALF - picture.width) // 2, top))
            top += picture.height
    save(whole, DOCS / "report.png")


def take(page, section: str, selector: str) -> None:
    """Save one picture, once the charts in it are drawn."""
    place = page.locator(selector)
    plots = place.locator(".plot")
    for k in range(plots.count()):
        plots.nth(k).scroll_into_view_if_needed()
        plots.nth(k).locator(".main-svg").first.wait_for()
    save(Image.open(BytesIO(place.screenshot())).convert("RGB"), DOCS / f"report-{section}.png")


def save(picture: Image.Image, path: Path) -> None:
    """Write a picture in few colours, and say how large it is."""
    picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.name}: {size:,} bytes{'' if size <= MOST_BYTES else ', more than the repository should hold'}")


if __name__ == "__main__":
    main()
