"""Take the screenshots of the report for the documentation: `python tools/screenshots.py`, with Chromium.

The report is that of `tamiz demo`, so the screenshots are reproducible.
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
# Section: selector of the part that is shown.
SHOWN = {
    "redundancy": "#redundancy figure:has(#shared)",
    "subset": "#subset figure:has(#sizes)",
    "model_effect": "#model_effect .experiment",
    "assessment": "#assessment figure:has(#scores-compared)",
    "maps": "#maps figure >> nth=0",
    "quality": "#quality .quad",
}
WIDTH, SCALE = 1000, 1.5
# Width of a column and height of the picture in the README, which has two columns.
HALF, TALL = 720, 1150
MAX_BYTES = 200_000
# Enough for the flat colours of a page.
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
            unfold(page)
            for section, selector in SHOWN.items():
                save_section(page, section, selector)
            overview(browser.new_page(viewport={"width": HALF, "height": 2400}), report)
            browser.close()


def unfold(page) -> None:
    """Open the folded sections, and all maps at once."""
    page.locator("details:is(.folded, .map)").evaluate_all(
        "(all) => all.forEach((one) => { one.removeAttribute('name'); one.open = true; })"
    )


def overview(page, report: Path) -> None:
    """Save the beginnings of three sections in two columns, for the README."""
    page.goto(report.as_uri())
    # The sticky navigation would cover the sections.
    page.add_style_tag(content="nav { display: none }")
    whole = Image.new("RGB", (2 * HALF, TALL), page.evaluate("() => getComputedStyle(document.body).backgroundColor"))
    for column, sections in enumerate((("ranking", "subset"), ("maps",))):
        top = 0
        for section in sections:
            element = page.locator(f"#{section}")
            for plot in element.locator(".plot").all()[:1]:
                plot.scroll_into_view_if_needed()
                plot.locator(".main-svg").first.wait_for()
            picture = Image.open(BytesIO(element.screenshot()))
            whole.paste(picture, (column * HALF + (HALF - picture.width) // 2, top))
            top += picture.height
    save(whole, DOCS / "report.png")


def save_section(page, section: str, selector: str) -> None:
    """Save the screenshot of one part after its charts are drawn."""
    element = page.locator(selector)
    plots = element.locator(".plot")
    for k in range(plots.count()):
        plots.nth(k).scroll_into_view_if_needed()
        plots.nth(k).locator(".main-svg").first.wait_for()
    save(Image.open(BytesIO(element.screenshot())).convert("RGB"), DOCS / f"report-{section.replace('_', '-')}.png")


def save(picture: Image.Image, path: Path) -> None:
    """Write a picture with few colours, and print its size."""
    picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.name}: {size:,} bytes{'' if size <= MAX_BYTES else ', more than the limit'}")


if __name__ == "__main__":
    main()
