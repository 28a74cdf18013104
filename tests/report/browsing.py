"""A reader of the report in Chromium."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


class Reader:
    """A page, and everything it did that a report must not do; what is folded is opened, unless the page is read as it is."""

    def __init__(self, page: Any, path: Path, *, unfolded: bool = True) -> None:
        self.page = page
        self.complaints: list[str] = []
        own = path.resolve().as_uri()
        page.on("console", lambda message: self.complaints.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self._asked(request.url, own))
        page.goto(own)
        if unfolded:
            self.unfold()

    def unfold(self) -> None:
        """Open all folded parts, of maps all at once."""
        self.page.locator("details:is(.folded, .map), :is(.map, #reproduction) details").evaluate_all(
            "(all) => all.forEach((one) => { one.removeAttribute('name'); one.open = true; })"
        )

    def _asked(self, url: str, own: str) -> None:
        if url.split("#")[0] != own and not url.startswith(("data:", "blob:")):
            self.complaints.append(f"request: {url}")

    def visit_all(self) -> None:
        for link in self.page.locator("nav.bar a").all():
            link.click()
        for plot in self.page.locator(".plot").all():
            self.wait_for(plot)

    def show(self, name: str) -> None:
        """Scroll to a map and wait until it is drawn."""
        self.wait_for(self.page.locator(f"#{name}"))

    def wait_for(self, plot: Any) -> None:
        plot.scroll_into_view_if_needed()
        plot.locator("canvas").wait_for(timeout=30_000)

    def drawn(self, name: str = "map-1-points") -> list[int]:
        """Return the pixels of a map, four numbers each."""
        script = """(id) => { const { width, height } = document.querySelector(`#${id} canvas`);
            const copy = Object.assign(document.createElement("canvas"), { width, height });
            const pen = copy.getContext("2d", { willReadFrequently: true });
            pen.drawImage(document.querySelector(`#${id} canvas`), 0, 0);
            return [...pen.getImageData(0, 0, width, height).data]; }"""
        pixels: list[int] = self.page.evaluate(script, name)
        return pixels

    def legend(self) -> list[str]:
        """Return what stands beside the colours of the maps."""
        texts: list[str] = self.page.locator("#legend li").all_inner_texts()
        return texts

    def recolour(self, option: str) -> None:
        """Choose a colouring of the maps."""
        self.page.locator("#colours select").select_option(label=option)
        self.page.wait_for_timeout(100)

    def names(self, table: str) -> list[str]:
        """Return the names in the visible rows of a table, without the marks and notes beside them."""
        script = """(cells) => cells.map((cell) => {
            const bare = cell.cloneNode(true);
            bare.querySelectorAll(".mark, .note").forEach((part) => part.remove());
            return bare.textContent; })"""
        names: list[str] = self.page.locator(f"#{table} tbody tr:visible th").evaluate_all(script)
        return names
