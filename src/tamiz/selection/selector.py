"""The base class of selectors: tags, the target, and the selected columns of a table."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRouter, get_routing_for_object
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Masks
from tamiz.criteria.base import Relevance
from tamiz.criteria.cross_validated import CrossValidated, PermutationImportance
from tamiz.runtime.notebook import PictureMixin
from tamiz.runtime.user_warnings import warn
from tamiz.storage.invariants import (
    BoolArray,
    InstanceOf,
    Integer,
    Invariants,
    Nullable,
    Strings,
)
from tamiz.table.base import Table, frame_columns_at
from tamiz.table.factory import as_table, check_features, mixed_table_tags
from tamiz.table.in_memory import eager_frame, from_array_api, is_frame
from tamiz.table.schema import Schema


class Selector(SelectorMixin, MetaEstimatorMixin, PictureMixin):
    """Base class of selectors: tags, and a `transform` that preserves data frames and their dtypes."""

    invariants: ClassVar[Invariants] = {
        "n_features_in_": Nullable(Integer(low=1)),
        "feature_names_in_": Nullable(Strings()),
        "schema_": InstanceOf(Schema),
        "schema_.n_columns": Integer(low=1, size="p"),
        "_support": BoolArray("p"),
    }
    schema_: Schema
    # Groups that are passed to a cross-validation are not routed to the selector, unless set_fit_request asks for it.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": False}

    def __sklearn_tags__(self) -> Tags:
        tags = mixed_table_tags(super().__sklearn_tags__())
        criterion = self._criterion()
        tags.target_tags.required = self._needs_target if criterion is None else criterion.reads_target
        tags.input_tags.allow_nan = criterion is None or criterion.allow_missing
        return tags

    # Whether a target is required where the criterion is chosen by the table.
    _needs_target: ClassVar[bool]
    # The relevance where none is set, for selectors that do not leave it to the table.
    default_relevance: ClassVar[type[Relevance] | None] = None

    @abstractmethod
    def _criterion(self) -> Any:
        """Return the criterion, None where the table decides."""

    def _metadata_readers(self) -> list[tuple[Any, str]]:
        """Return the estimators and scorers that read metadata of the rows, each with the method that reads them."""
        return []

    def get_metadata_routing(self) -> Any:
        """Return what fit requests: its own parameters, and the metadata that its estimator and its scorer request."""
        request = super().get_metadata_routing()
        for reader, method in self._metadata_readers():
            for name in _requested_names(get_routing_for_object(reader), method) - {"sample_weight", "groups"}:
                request.fit.add_request(param=name, alias=True)
        return request

    @property
    def _reads_target(self) -> bool:
        """Whether y is read: yes, unless a criterion is set that needs no target."""
        criterion = self._criterion()
        return criterion is None or criterion.reads_target

    def _open_table(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Table:
        """Return the table as a table, with its target where that is read."""
        reads_target = self._reads_target or isinstance(X, Table)
        return as_table(X, y if reads_target else None, sample_weight, groups=groups)

    def describe(self) -> list[str]:
        """Describe what the fit found beyond the selected columns, such as a bound on the number of false ones.

        Returns
        -------
        list of str
            Sentences, none for a ranking.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tamiz import RedundancyFilter
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> for sentence in RedundancyFilter().fit(X, y).describe():
        ...     print(sentence)
        Redundancy filter with measure kinds, threshold 0.9: 3 of 4 columns are kept.
        Dropped: petal length (cm) (determined by petal width (cm), association 0.9629).
        """
        check_is_fitted(self)
        return []

    def _column_records(self, **values: NDArray[Any]) -> list[dict[str, Any]]:
        """Return the values of every used column, for JSON."""
        return [
            {"column": self.schema_.names[j], **{name: array[j].item() for name, array in values.items()}}
            for j in self.schema_.used.tolist()
        ]

    def _get_support_mask(self) -> Masks:
        check_is_fitted(self)
        return self._support

    def transform(self, X: Any) -> Any:
        """Return the selected columns; of a data frame, as a frame of the same library with its dtypes."""
        check_is_fitted(self)
        selected = np.flatnonzero(self._support).tolist()
        if not isinstance(X, Table) and not is_frame(X):
            return super().transform(from_array_api(X))
        check_features(self, X)
        if not selected:
            # scikit-learn warns likewise for arrays.
            warn("TZ305", "No features were selected: the returned table has no columns.")
        if isinstance(X, Table):
            return self._to_output_container(X.frame(selected))
        return self._to_output_container(frame_columns_at(eager_frame(X).to_native(), selected))

    def _to_output_container(self, table: Any) -> Any:
        """Convert a data frame to the library that `set_output` requests; scikit-learn's own conversion loses dtypes."""
        library = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        if library == "default" or not is_frame(table):
            return table
        frame = eager_frame(table)
        if frame.implementation.name.lower() == library:
            return table
        return frame.to_pandas() if library == "pandas" else frame.to_polars()


def estimator_readers(criterion: Any) -> list[tuple[Any, str]]:
    """Return the estimator and the scorer of a criterion, each with the method that reads metadata of the rows."""
    has_estimator = isinstance(criterion, CrossValidated | PermutationImportance)
    return [(criterion.estimator, "fit"), (criterion.scoring, "score")] if has_estimator else []


def _requested_names(routing: Any, method: str) -> set[str]:
    """Return the names of the metadata that a method of an estimator or scorer requests, also for its parts."""
    if isinstance(routing, MetadataRouter):
        called = ((pair.router, step.callee) for _, pair in routing for step in pair.mapping if step.caller == method)
        return {name for part, callee in called for name in _requested_names(part, callee)}
    aliases = getattr(routing, method).requests.items()
    return {name if alias is True else alias for name, alias in aliases if alias is True or isinstance(alias, str)}
