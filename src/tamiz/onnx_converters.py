"""Conversion of fitted estimators to ONNX by skl2onnx."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz import error_control, registry
from tamiz.exceptions import DataError
from tamiz.reduction.ica import ICA
from tamiz.reduction.pca import PCA, standard_deviations
from tamiz.runtime.optional_imports import import_optional


def register_onnx_converters() -> list[type]:
    """Register converters of selectors, `PCA` and `ICA`, so that skl2onnx converts them, also within pipelines.

    A selector becomes a gather of columns, all of one type. `PCA` and `ICA` of numbers become a matrix product, of float64 inputs
    in float64 and of others in float32. Missing values are replaced by the mean of the column, as by `transform`; for
    PCA(missing="pairwise") and "iterative" they yield NaN.

    Returns
    -------
    list of type
        The classes that skl2onnx converts from now on.

    Raises
    ------
    ImportError
        When skl2onnx is not installed.

    Notes
    -----
    Call it once in a process, before `skl2onnx.to_onnx`. The conversion raises DataError for a selection of columns of several
    types, for a selection of no column, and for a map of categories, dates or text.

    Examples
    --------
    >>> import tamiz
    >>> classes = tamiz.register_onnx_converters()  # doctest: +SKIP
    >>> skl2onnx.to_onnx(pipeline, X)  # doctest: +SKIP
    """
    optional = {"feature": "register_onnx_converters", "package": "skl2onnx", "min_version": "1.17", "extra": "onnx"}
    skl2onnx = import_optional("skl2onnx", **optional)
    types = import_optional("skl2onnx.common.data_types", **optional)

    def set_selector_type(operator: Any) -> None:
        selector, first = operator.raw_operator, operator.inputs[0]
        found = sorted({type(one.type).__name__.removesuffix("TensorType").lower() for one in operator.inputs})
        if len(found) > 1:
            raise DataError(
                f"{type(selector).__name__} cannot be converted to ONNX for columns of the types {', '.join(found)}, because a "
                "tensor has one type. Convert the selected columns only, or pass columns of one type."
            )
        n_features = int(selector.get_support().sum())
        if not n_features:
            raise DataError(f"{type(selector).__name__} selects no column, and cannot be converted to ONNX.")
        operator.outputs[0].type = type(first.type)([first.get_first_dimension(), n_features])

    def convert_selector(scope: Any, operator: Any, container: Any) -> None:
        columns = operator.raw_operator.get_support(indices=True)
        _gather_columns(
            scope, container, _joined_inputs(scope, operator, container), columns, operator.outputs[0].full_name
        )

    def set_map_type(operator: Any) -> None:
        first, n_components = operator.inputs[0], len(operator.raw_operator.components_)
        _numeric_columns(operator.raw_operator)
        double = all(isinstance(one.type, types.DoubleTensorType) for one in operator.inputs)
        output_type = types.DoubleTensorType if double else types.FloatTensorType
        operator.outputs[0].type = output_type([first.get_first_dimension(), n_components])

    def convert_map(scope: Any, operator: Any, container: Any) -> None:
        proto_type = types.guess_proto_type(operator.outputs[0].type)
        rows = _joined_inputs(scope, operator, container, proto_type)
        _add_linear_map(scope, container, operator.raw_operator, rows, operator.outputs[0].full_name, proto_type)

    selectors = [entry.load() for each in (registry, error_control.registry) for entry in each.of_kind("selector")]
    for estimator in selectors:
        skl2onnx.update_registered_converter(
            estimator, f"Tamiz{estimator.__name__}", set_selector_type, convert_selector
        )
    for estimator in (PCA, ICA):
        skl2onnx.update_registered_converter(estimator, f"Tamiz{estimator.__name__}", set_map_type, convert_map)
    return [*selectors, PCA, ICA]


def _add_node(
    scope: Any, container: Any, kind: str, inputs: list[str], output: str | None = None, **options: Any
) -> str:
    """Add a node to the ONNX graph, and return the name of its output."""
    name = output or scope.get_unique_variable_name(kind.lower())
    container.add_node(kind, inputs, name, name=scope.get_unique_operator_name(kind), **options)
    return name


def _joined_inputs(scope: Any, operator: Any, container: Any, proto_type: int | None = None) -> str:
    """Return the name of the tensor of all columns, cast to a type if it is given."""
    names = [one.full_name for one in operator.inputs]
    if proto_type is not None:
        names = [_add_node(scope, container, "Cast", [name], op_version=13, to=proto_type) for name in names]
    return names[0] if len(names) == 1 else _add_node(scope, container, "Concat", names, op_version=13, axis=1)


def _gather_columns(scope: Any, container: Any, rows: str, columns: Any, output: str | None = None) -> str:
    at = scope.get_unique_variable_name("columns")
    # 7 is ONNX's number of the type int64.
    container.add_initializer(at, 7, [len(columns)], [int(j) for j in columns])
    return _add_node(scope, container, "Gather", [rows, at], output, op_version=13, axis=1)


def _add_linear_map(scope: Any, container: Any, model: PCA | ICA, rows: str, output: str, proto_type: int) -> None:
    """Add (x - mean) W, with 0 for a missing x - mean where transform imputes the mean."""
    directions = model.components_.astype(np.float64).T / model.scale_[:, None]
    if isinstance(model, PCA) and model.whiten:
        directions /= standard_deviations(model.explained_variance_, model.components_.shape[1])

    def constant(values: Any) -> str:
        name = scope.get_unique_variable_name("constant")
        container.add_initializer(name, proto_type, list(np.shape(values)), np.ravel(values).tolist())
        return name

    x = _gather_columns(scope, container, rows, _numeric_columns(model))
    centred = _add_node(scope, container, "Sub", [x, constant(model.mean_)], op_version=14)
    if getattr(model, "missing", "mean") == "mean":
        missing = _add_node(scope, container, "IsNaN", [centred], op_version=13)
        centred = _add_node(scope, container, "Where", [missing, constant([0.0]), centred], op_version=9)
    _add_node(scope, container, "MatMul", [centred, constant(directions)], output, op_version=13)


def _numeric_columns(model: PCA | ICA) -> list[int]:
    """Return the columns that the map reads; raise DataError unless each of them is one number."""
    schema = model.schema_
    assert schema is not None
    columns = schema.used.tolist()
    for j in columns:
        if schema.columns[j].kind != "numeric":
            raise DataError(
                f"{type(model).__name__} cannot be converted to ONNX: column {schema.columns[j].name!r} is "
                f"{schema.columns[j].kind}. Encode it as numbers in an earlier step that skl2onnx converts."
            )
    return columns
