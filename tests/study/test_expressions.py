"""Python expressions that evaluate to given values."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamiz import SubsetSelector
from tamiz._study.reproduction import ExpressionWriter, NoExpressionError, format_call
from tamiz.criteria import CFS, MDL, CrossValidated, InformationGain, SymmetricUncertainty
from tamiz.graphs import ConnectedRadius, HeatKernel, KNearest
from tamiz.search import Beam, BestFirst, Evaluations, Forward, Genetic, MinGain, Patience, Seconds


class Unknown(GaussianNB):
    """Of a test, and of no package."""


VALUES = [
    None, True, 3, 0.1, 1e-9, "a", "it's \"both\"\n\t\\", [1, [2.5]], (1,), (1, 2), (), {"a b": "x"},
]  # fmt: skip
PARTS = [
    CFS(), CFS(missing="category"), CFS(SymmetricUncertainty(discretization=MDL())), InformationGain(), BestFirst(),
    BestFirst(direction="backward"), Beam(7, fixed=["a'b"], column_groups=[["x", "y"]]), Genetic(population=5),
    CrossValidated("gaussian_nb", 5, "f1_macro"), CrossValidated(GaussianNB(), encode=True),
    CrossValidated(make_pipeline(StandardScaler(), LogisticRegression(C=0.5))), KNearest(8, weight=HeatKernel(math.inf)),
    ConnectedRadius(), Evaluations(5), SubsetSelector(CFS(), Forward(), n_features=(2, 3)),
]  # fmt: skip


def to_expression(value):
    return ExpressionWriter().write(value)


def evaluated(text, speller):
    names = {}
    exec("\n".join(speller.import_lines()), names)
    return eval(text, names)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_values_are_evaluated_to_themselves(value):
    assert eval(to_expression(value)) == value


@pytest.mark.parametrize("value", [np.int64(3), np.float64(0.25), np.bool_(True), np.str_("a")], ids=repr)
def test_numbers_of_numpy_are_plain_ones(value):
    assert eval(to_expression(value)) == value.item()


def test_numbers_that_are_not_finite_are_evaluated_to_themselves():
    assert eval(to_expression(math.inf)) == math.inf
    assert math.isnan(eval(to_expression(math.nan)))


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_expressions_of_parts_include_their_imports(part):
    speller = ExpressionWriter()
    made = evaluated(speller.write(part), speller)
    assert type(made) is type(part)
    assert repr(made) == repr(part)


def test_combined_stopping_rules_keep_their_structure():
    rule = (Evaluations(5) | Patience(2)) & Seconds(3) | MinGain(0.1)
    assert to_expression(rule) == "(Evaluations(5) | Patience(2)) & Seconds(3) | MinGain(0.1)"
    speller = ExpressionWriter()
    assert to_expression(evaluated(speller.write(rule), speller)) == to_expression(rule)


def test_imports_name_the_outermost_package_that_has_it_tamiz_last():
    speller = ExpressionWriter()
    speller.write([CFS(), CrossValidated(LogisticRegression()), SubsetSelector(CFS(), BestFirst())])
    assert speller.import_lines() == [
        "from sklearn.linear_model import LogisticRegression",
        "from tamiz import SubsetSelector",
        "from tamiz.criteria import CFS, CrossValidated",
        "from tamiz.search import BestFirst",
    ]


def test_arguments_that_are_the_defaults_are_not_written():
    assert to_expression(KNearest(15)) == "KNearest()"
    assert to_expression(Beam(7, start=["a"])) == "Beam(7, start=['a'])"


def local():
    class Here(GaussianNB):
        pass

    return Here()


@pytest.mark.parametrize("value", [np.arange(3), object(), np.random.default_rng(0), local()], ids=type)
def test_values_without_an_expression_are_refused(value):
    with pytest.raises(NoExpressionError):
        to_expression(value)


def test_a_call_that_is_too_long_has_an_argument_a_line():
    assert format_call("f", ["1", "a=2"]) == "f(1, a=2)"
    inner = format_call("g", ["x" * 60, "y" * 60])
    assert format_call("f", [inner, "1"]) == f"f(\n    g(\n        {'x' * 60},\n        {'y' * 60},\n    ),\n    1,\n)"
