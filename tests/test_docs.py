"""The documentation site: built without warnings, complete, and readable without a network."""

import importlib
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import pytest

import tamiz
from tamiz import criteria, reduction, search
from tamiz.cli import main
from tamiz.runtime.registry import Registry

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
# Files outside the folder that pages include.
INCLUDED = ["CHANGELOG.md", "CONTRIBUTING.md", "src/tamiz/verdicts.md"]
MADE = ["_build", "methods", "examples", "commands.rst", "__pycache__"]
# Kinds that are chosen by name and have no page.
NAMED_ONLY = ("backend", "model", "section", "file")
LOADED = {
    "script": ["src"],
    "img": ["src"],
    "iframe": ["src"],
    "source": ["src", "srcset"],
    "object": ["data"],
    "use": ["href"],
}
ELSEWHERE = re.compile(r"^\s*(?:[a-z][a-z+.-]*:)?//", re.IGNORECASE)


class Page(HTMLParser):
    """The ids, tags, loaded files and links of a page."""

    def __init__(self, path):
        super().__init__()
        self.path, self.ids, self.loads, self.links, self.tags = path, set(), [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.add(tag)
        self.ids.add(values.get("id"))
        self.loads += [values[name] for name in LOADED.get(tag, ()) if values.get(name)]
        if tag == "link" and not {"next", "prev", "search", "index", "canonical_csr"} & set(
            (values.get("rel") or "").split()
        ):
            self.loads.append(values["href"])
        self.loads += re.findall(r"url\(['\"]?([^'\")]+)", values.get("style") or "")
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built from a copy of its sources without earlier output."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns(*MADE))
    for name in INCLUDED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    built = folder / "html"
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", folder / "docs", built]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert not run.stderr, run.stderr
    return built


@pytest.fixture(scope="module")
def pages(site):
    return {path.relative_to(site).as_posix(): Page(path) for path in sorted(site.rglob("*.html"))}


def registries():
    for init in sorted(Path(tamiz.__file__).parent.glob("**/__init__.py")):
        package = ".".join(["tamiz", *init.parent.relative_to(Path(tamiz.__file__).parent).parts])
        registry = getattr(importlib.import_module(package), "registry", None)
        if isinstance(registry, Registry):
            yield registry


def test_every_public_name_has_a_page(pages):
    described = set().union(*(page.ids for page in pages.values()))
    with_page = {id(e.load()) for r in registries() for e in r if f"{e.package}.{e.attribute}" in described}
    for registry in registries():
        for entry in registry:
            assert entry.kind in NAMED_ONLY or id(entry.load()) in with_page, f"{entry.package}.{entry.attribute}"


def test_methods_with_a_command_line_name_are_listed(site):
    for registry in registries():
        listed = [entry for entry in registry if entry.kind in NAMED_ONLY]
        if listed:
            text = (site / "methods" / registry.package.removeprefix("tamiz.") / "index.html").read_text("utf-8")
            assert [entry.name for entry in listed if f">{entry.name}<" not in text] == []


def test_formulas_are_drawn_by_the_browser_itself(pages):
    assert "math" in pages["methods/criteria/cfs.html"].tags
    for name, page in pages.items():
        text = page.path.read_text(encoding="utf-8")
        assert "mathjax" not in text.lower(), name


def test_no_page_asks_for_anything_from_the_network(site, pages):
    for name, page in pages.items():
        assert [asked for asked in page.loads if ELSEWHERE.match(asked)] == [], name
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        asked = re.findall(r"(?:url\(|@import\s+)['\"]?([^'\")]+)", text)
        assert [a for a in asked if ELSEWHERE.match(a)] == [], path


def test_every_link_within_the_site_leads_somewhere(site, pages):
    for name, page in pages.items():
        for link in page.links:
            where = urlsplit(link)
            if where.scheme or where.netloc:
                continue
            target = (page.path.parent / unquote(where.path)).resolve() if where.path else page.path
            assert target.exists(), f"{name}: {link}"
            key = target.relative_to(site.resolve()).as_posix()
            if where.fragment and key in pages:
                assert unquote(where.fragment) in pages[key].ids, f"{name}: {link}"


def test_every_command_and_option_is_documented(site):
    text = (site / "commands.html").read_text(encoding="utf-8")
    top = click.Context(main, info_name="tamiz")
    for name in main.list_commands(top):
        assert f"tamiz {name}" in text
        for parameter in main.get_command(top, name).params:
            for option in parameter.opts:
                assert not option.startswith("--") or option in text, f"{name} {option}"


@pytest.mark.parametrize(
    ("registry", "kind"),
    [
        (criteria.registry, "relevance"),
        (criteria.registry, "merit"),
        (search.registry, "search"),
        (reduction.registry, "map"),
    ],
)
def test_which_method_when_has_every_method(site, registry, kind):
    text = (site / "which-method.html").read_text(encoding="utf-8")
    package = registry.package.removeprefix("tamiz.")
    for entry in registry.of_kind(kind):
        assert f'href="methods/{package}/{entry.name}.html"' in text, entry.attribute


def test_every_example_shows_a_picture(site, pages):
    examples = sorted((ROOT / "docs" / "gallery").glob("plot_*.py"))
    assert examples
    for example in examples:
        page = pages[f"examples/{example.stem}.html"]
        assert any(f"sphx_glr_{example.stem}" in asked for asked in page.loads), example.name


@pytest.mark.browser
def test_a_browser_that_reads_the_site_sends_no_request(site, browser):
    asked, failed = [], []
    with browser.new_page(viewport={"width": 390, "height": 844}) as page:
        page.on("request", lambda request: asked.append(request.url))
        page.on("requestfailed", lambda request: failed.append(request.url))
        for name in ("index", "which-method", "methods/criteria/cfs", "examples/index", "commands", "search"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert failed == []
