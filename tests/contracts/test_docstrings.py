"""Docstrings of public names, from which the pages of the documentation are generated."""

import inspect
import re

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc

import tamiz
from tamiz import (
    assessment,
    cluster,
    comparison,
    criteria,
    display,
    error_control,
    graphs,
    metrics,
    neighbors,
    reduction,
    report,
    search,
    table,
)

PACKAGES = [
    tamiz,
    assessment,
    criteria,
    error_control,
    graphs,
    neighbors,
    search,
    reduction,
    metrics,
    cluster,
    comparison,
    display,
    table,
    report,
]
# Kinds that users do not call: they are chosen by name, or are for authors of new methods.
INTERNAL_KINDS = ("section", "file", "base", "record", "result")
PUBLIC = [
    entry
    for package in PACKAGES
    for entry in package.registry
    if entry.kind not in INTERNAL_KINDS and entry.attribute != "as_table"
]
CLASSES = [entry for entry in PUBLIC if inspect.isclass(entry.load())]
SCORING = [entry for entry in PUBLIC if entry.kind in ("relevance", "merit", "wrapper")]
MAPS = [entry for entry in PUBLIC if entry.kind == "map"]
SEARCHES = [entry for entry in PUBLIC if entry.kind == "search"]
DISPLAYS = list(display.registry)


def by_name(entries):
    return pytest.mark.parametrize("entry", entries, ids=lambda entry: f"{entry.package}.{entry.attribute}")


def doc_of(thing):
    return ClassDoc(thing) if inspect.isclass(thing) else FunctionDoc(thing)


def named(doc):
    return [name.strip().lstrip("*") for parameter in doc["Parameters"] for name in parameter.name.split(",")]


def parameters_of(thing):
    """The parameters of a function, or of a constructor that a class defines."""
    if inspect.isclass(thing) and "__init__" not in {name for cls in thing.__mro__[:-1] for name in vars(cls)}:
        return []
    return [name for name in inspect.signature(thing).parameters if name != "self"]


@by_name(PUBLIC)
def test_every_parameter_is_documented_in_the_order_of_the_signature(entry):
    assert named(doc_of(entry.load())) == parameters_of(entry.load())


@by_name(PUBLIC)
def test_every_public_name_has_an_example(entry):
    assert any(line.lstrip().startswith(">>>") for line in doc_of(entry.load())["Examples"])


@by_name(PUBLIC)
def test_the_first_paragraph_states_what_it_is_in_a_sentence(entry):
    first = (inspect.getdoc(entry.load()) or "").split("\n\n")[0]
    assert first.rstrip().endswith((".", "?"))
    assert "\n" not in first, "one line, because tables of methods show it"


@by_name([*SCORING, *MAPS, *cluster.registry])
def test_every_score_and_map_states_its_formula(entry):
    text = inspect.getdoc(entry.load())
    assert ".. math::" in text or ":math:" in text


@by_name([*SCORING, *MAPS, *SEARCHES, *cluster.registry])
def test_every_method_states_its_cost_in_its_notes(entry):
    notes = " ".join(ClassDoc(entry.load())["Notes"])
    assert re.search(r"\bCost\b|O\(|evaluations?\b", notes)


@by_name(CLASSES)
def test_public_methods_with_parameters_document_each_or_describe_them_in_a_sentence(entry):
    for name, method in inspect.getmembers(entry.load(), inspect.isroutine):
        if not name.startswith("_") and (getattr(method, "__module__", None) or "").startswith("tamiz"):
            documented = named(FunctionDoc(method))
            assert not documented or documented == [p for p in inspect.signature(method).parameters if p != "self"], (
                name
            )


@by_name(DISPLAYS)
def test_displays_are_made_from_what_was_fitted_and_draw_into_a_panel(entry):
    cls = entry.load()
    makers = [name for name in vars(cls) if name.startswith("from_") and inspect.isroutine(getattr(cls, name))]
    assert makers
    for name in makers:
        assert isinstance(inspect.getattr_static(cls, name), classmethod)
        assert FunctionDoc(getattr(cls, name))["Returns"][0].type == cls.__name__
    attributes = {name.strip() for item in ClassDoc(cls)["Attributes"] for name in item.name.split(",")}
    assert "figure_" in attributes
    if entry.name != "images":
        # Images have a panel for each image.
        assert "ax_" in attributes
        assert next(iter(inspect.signature(cls.plot).parameters.values())).name == "self"
        assert inspect.signature(cls.plot).parameters["ax"].default is None
        assert all(inspect.signature(getattr(cls, name)).parameters["ax"].default is None for name in makers)
