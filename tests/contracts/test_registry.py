"""Every entry of a registry can be loaded, is documented, and behaves like an estimator or a function."""

import importlib
import inspect
import pickle
from pathlib import Path

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc
from sklearn.base import BaseEstimator, clone

import tamiz
from tamiz import (
    RankSelector,
    SubsetSelector,
    assessment,
    cluster,
    comparison,
    criteria,
    display,
    error_control,
    graphs,
    metrics,
    models,
    neighbors,
    reduction,
    report,
    search,
    table,
)
from tamiz.cluster import SpectralClustering
from tamiz.criteria import CFS, Entropy
from tamiz.criteria.base import Merit, Relevance
from tamiz.graphs.builders import GraphBuilder
from tamiz.graphs.edges import Weight
from tamiz.models.backends import FoldBackend
from tamiz.neighbors.base import NeighborSearch
from tamiz.reduction.base import Reducer
from tamiz.runtime.registry import Registry, suggestion
from tamiz.search import Evaluations, Forward
from tamiz.search.base import Search
from tamiz.search.stopping import StoppingRule
from tamiz.statistics.cuts import Discretization

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
    models,
]
ENTRIES = [entry for package in PACKAGES for entry in package.registry]
BASES = {
    "relevance": Relevance,
    "merit": Merit,
    "wrapper": Merit,
    "search": Search,
    "map": Reducer,
    "stopping": StoppingRule,
    "discretization": Discretization,
    "builder": GraphBuilder,
    "weight": Weight,
    "neighbors": NeighborSearch,
    "clustering": SpectralClustering,
}
PARTS = [entry for entry in ENTRIES if entry.kind in BASES]
METHODS = [entry for entry in PARTS if entry.kind in ("relevance", "merit", "wrapper", "search", "map", "clustering")]
SELECTORS = [*tamiz.registry.of_kind("selector"), *error_control.registry.of_kind("selector")]
FUNCTIONS = [
    entry
    for package in (tamiz, assessment, criteria, reduction, metrics, comparison, error_control)
    for entry in package.registry.of_kind("function")
]
ARGUMENTS = {
    "evaluations": (10,),
    "seconds": (1.5,),
    "patience": (3,),
    "min_gain": (0.1,),
    "target_merit": (0.5,),
    "radius": (1.0,),
    "cross_validated": ("gaussian_nb",),
}


def by_name(entries):
    return pytest.mark.parametrize("entry", entries, ids=lambda entry: f"{entry.package}.{entry.attribute}")


def make(entry):
    return entry.load()(*ARGUMENTS.get(entry.name, ()))


@by_name(ENTRIES)
def test_every_line_loads_and_is_reached_as_an_attribute_of_its_package(entry):
    package = importlib.import_module(entry.package)
    assert getattr(package, entry.attribute) is entry.load()
    assert entry.attribute in dir(package)
    assert entry.attribute in package.__all__


@by_name(PARTS)
def test_every_part_is_of_the_kind_that_its_line_states(entry):
    assert issubclass(entry.load(), BASES[entry.kind])
    assert not inspect.isabstract(entry.load())


@by_name(ENTRIES)
def test_every_line_has_a_name_for_the_command_line_and_a_label_for_people(entry):
    assert entry.name.replace("_", "").isalnum()
    assert entry.label[0].isupper() or entry.label == "t-SNE"


def test_no_two_parts_of_a_package_share_a_name_or_an_attribute():
    for package in (
        tamiz,
        criteria,
        graphs,
        neighbors,
        search,
        reduction,
        metrics,
        cluster,
        comparison,
        display,
        error_control,
    ):
        attributes = [entry.attribute for entry in package.registry]
        assert len(set(attributes)) == len(attributes)


@by_name([*METHODS, *SELECTORS])
def test_every_method_is_documented_with_its_parameters_notes_and_an_example(entry):
    cls = entry.load()
    doc = ClassDoc(cls)
    parameters = [name for name in inspect.signature(cls).parameters if name != "self"]
    assert [name.strip() for p in doc["Parameters"] for name in p.name.split(",")] == parameters
    assert doc["Summary"]
    assert doc["Examples"], "an example that runs"
    assert any(">>>" in line for line in doc["Examples"])


@by_name(METHODS)
def test_every_method_states_its_cost_and_its_source(entry):
    doc = ClassDoc(entry.load())
    assert doc["Notes"]
    assert doc["References"] or entry.name == "variance"


@by_name([*FUNCTIONS])
def test_every_function_is_documented_with_its_parameters_what_it_returns_and_an_example(entry):
    function = entry.load()
    doc = FunctionDoc(function)
    named = [name.strip().lstrip("*") for p in doc["Parameters"] for name in p.name.split(",")]
    assert named == list(inspect.signature(function).parameters)
    assert doc["Returns"]
    assert any(">>>" in line for line in doc["Examples"])


@by_name(PARTS)
def test_every_part_and_its_public_methods_have_a_docstring(entry):
    cls = entry.load()
    assert cls.__doc__
    for name, member in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_") and member.__module__.startswith("tamiz."):
            assert inspect.getdoc(member), name


@by_name([*METHODS, *SELECTORS])
def test_constructors_take_one_argument_by_position_at_most_but_for_the_parts_of_a_selector(entry):
    parameters = list(inspect.signature(entry.load()).parameters.values())
    positional = [p for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    assert not any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)
    # A selector has its parts in this order, and estimator, cv, scoring is the order of scikit-learn.
    in_order = (("estimator", "cv", "scoring"), ("merit", "search"))
    allowed = max([1, *(len(names) for names in in_order if tuple(p.name for p in parameters[: len(names)]) == names)])
    assert all(p.default is inspect.Parameter.empty for p in positional) or len(positional) <= allowed


@by_name([entry for entry in PARTS if entry.kind != "discretization"])
def test_parts_clone_and_set_parameters_as_estimators_do(entry):
    part = make(entry)
    assert isinstance(part, BaseEstimator)
    copy = clone(part)
    assert copy is not part
    assert copy.get_params() == part.get_params()
    assert repr(copy) == repr(part)
    assert part.set_params(**part.get_params()).get_params() == copy.get_params()
    assert pickle.loads(pickle.dumps(part)).get_params() == part.get_params()


@by_name([entry for entry in PARTS if entry.kind != "discretization"])
def test_constructors_store_and_do_nothing_else(entry):
    part = make(entry)
    assert set(vars(part)) == set(inspect.signature(entry.load()).parameters)


@by_name(models.registry.of_kind("backend"))
def test_a_fold_backend_has_the_name_of_its_estimator_class(entry):
    backend = entry.load()
    assert issubclass(backend, FoldBackend)
    assert not inspect.isabstract(backend)
    assert backend.estimator_class.__name__ == entry.name
    assert backend.method


@by_name([entry for entry in PARTS if entry.kind == "discretization"])
def test_discretisations_are_parts_with_parameters(entry):
    rule = entry.load()()
    assert clone(rule).get_params() == rule.get_params()
    assert repr(pickle.loads(pickle.dumps(rule))) == repr(rule)
    for name, value in rule.get_params().items():
        assert clone(rule).set_params(**{name: value + 1}).get_params()[name] == value + 1


@pytest.mark.parametrize(
    "selector",
    [
        RankSelector(Entropy(missing="category"), n_features=3),
        SubsetSelector(CFS(), Forward(fixed=[1]), stop=Evaluations(5)),
    ],
    ids=["RankSelector", "SubsetSelector"],
)
def test_nested_parameters_are_reached_by_name(selector):
    copy = clone(selector)
    assert repr(copy) == repr(selector)
    part = "relevance" if isinstance(selector, RankSelector) else "search"
    before = repr(getattr(selector, part))
    copy.set_params(
        **{f"{part}__{'missing' if part == 'relevance' else 'fixed'}": "distribute" if part == "relevance" else [2]}
    )
    assert repr(getattr(selector, part)) == before
    assert repr(getattr(copy, part)) != before


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_the_type_stub_is_what_the_registry_writes(package):
    stub = Path(package.__file__).with_suffix(".pyi")
    assert stub.read_text(encoding="utf-8") == package.registry.stub(), "run `make stubs`"


def test_an_unknown_name_is_refused_with_the_closest_and_the_whole_list():
    with pytest.raises(
        ValueError, match=r"tamiz\.search has no 'foward' \(did you mean 'forward'\?\); it has forward, backward"
    ):
        search.registry["foward"]


def test_an_unknown_attribute_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'tamiz\.criteria' has no attribute 'Gini'"):
        criteria.Gini  # noqa: B018 - the access is the test


def test_lines_are_read_as_text_and_loaded_when_asked_for():
    registry = Registry("tamiz.nowhere", "a_name  module:Thing  kind  A label of words\n\n")
    (entry,) = registry
    assert (entry.name, entry.module, entry.attribute, entry.kind, entry.label) == (
        "a_name", "module", "Thing", "kind", "A label of words",
    )  # fmt: skip
    with pytest.raises(ModuleNotFoundError):
        entry.load()
    assert registry.of_kind("other") == []


def test_a_suggestion_is_made_only_where_a_name_is_close():
    assert suggestion("colour", ["color", "size"]) == " (did you mean 'color'?)"
    assert suggestion("zzz", ["color", "size"]) == ""
