"""Take the screenshots of the report for the documentation: `python tools/screenshots.py`, with Chromium.

The report is that of `tamiz demo`, so the screenshots are reproducible.
"""

import shutil
import subprocess
import sys
from importlib.resources import as_file, files
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parent.parent / "docs"
# Section: selector of the part that is shown.
SHOWN = {
    "columns": "#columns .scroll",
    "redundancy": "#redundancy figure:has(#shared)",
    "subset": "#subset figure:has(#sizes)",
    "model_effect": "#noise_experiment .experiment",
    "assessment": "#assessment figure >> nth=0",
    "maps": "#map-1 .map-figure",
    "quality": "#quality .quad",
}
WIDTH, SCALE = 1000, 1.5
# Width of the picture in the README.
WIDE = 1400
MAX_BYTES = 200_000
# Enough for the flat colours of a page.
COLOURS = 256


def main() -> None:
    with TemporaryDirectory() as folder:
        report, searched = Path(folder) / "report.html", Path(folder) / "searched.html"
        subprocess.run([sys.executable, "-m", "tamiz", "demo", "--quiet", "--output", report], check=True)
        with as_file(files("tamiz.datasets") / "penguins.csv") as table:
            asked = [
                "study",
                table,
                "--target",
                "species",
                "--merit",
                "cfs",
                "--no-assess",
                "--quiet",
                "--output",
                searched,
            ]
            subprocess.run([sys.executable, "-m", "tamiz", *asked], check=True)
        with sync_playwright() as play:
            chromium = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": WIDTH, "height": 1200}, device_scale_factor=SCALE)
            for section, selector in SHOWN.items():
                page.goto((searched if section == "subset" else report).as_uri())
                unfold(page)
                save_section(page, section, selector)
            overview(browser.new_page(viewport={"width": WIDE, "height": 900}), report)
            browser.close()


def unfold(page) -> None:
    """Open the folded sections, and all maps at once."""
    page.locator("details:is(.folded, .map)").evaluate_all(
        "(all) => all.forEach((one) => { one.removeAttribute('name'); one.open = true; })"
    )


def overview(page, report: Path) -> None:
    """Save the first screen, for the README."""
    page.goto(report.as_uri())
    save(Image.open(BytesIO(page.locator("header.top").screenshot())).convert("RGB"), DOCS / "report.png")


def save_section(page, section: str, selector: str) -> None:
    """Save the screenshot of one part after its charts are drawn."""
    element = page.locator(selector)
    plots = element.locator(".plot")
    for k in range(plots.count()):
        plots.nth(k).scroll_into_view_if_needed()
        plots.nth(k).locator("canvas").wait_for()
    save(Image.open(BytesIO(element.screenshot())).convert("RGB"), DOCS / f"report-{section.replace('_', '-')}.png")


def save(picture: Image.Image, path: Path) -> None:
    """Write a picture with few colours, and print its size."""
    picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.name}: {size:,} bytes{'' if size <= MAX_BYTES else ', more than the limit'}")


if __name__ == "__main__":
    main()
