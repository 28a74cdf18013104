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
        self.page.locator("details:is(.folded, .map), .map details.words").evaluate_all(
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
        """Scroll to a chart and wait until it is drawn."""
        self.wait_for(self.page.locator(f"#{name}"))

    def wait_for(self, plot: Any) -> None:
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for(timeout=30_000)

    def names(self, table: str) -> list[str]:
        """Return the names in the visible rows of a table, without the marks and notes beside them."""
        script = """(cells) => cells.map((cell) => {
            const bare = cell.cloneNode(true);
            bare.querySelectorAll(".mark, .note").forEach((part) => part.remove());
            return bare.textContent; })"""
        names: list[str] = self.page.locator(f"#{table} tbody tr:visible th").evaluate_all(script)
        return names
