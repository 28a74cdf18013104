"""The notes of a study on missing values: what replaces them, and which columns get a level for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sklearn.base import BaseEstimator

from tamiz.criteria.cfs import CFS
from tamiz.criteria.entropies import Entropy, EntropyRelevance
from tamiz.criteria.information_merits import InformationMerit
from tamiz.criteria.model_relevance import ModelRelevance
from tamiz.models.design_matrix import CROSS_VALIDATED_MODELS
from tamiz.reduction.base import Reducer
from tamiz.report.text import count_with_noun, join_names
from tamiz.runtime.user_warnings import ImputationNote
from tamiz.runtime.verdicts import Verdict
from tamiz.table.schema import Schema
from tamiz.table.views import one_level_columns

# Names in a sentence are never cut.
_FULL_WIDTH = 200
_ENTROPY_RULES = {
    "distribute": "Entropy-based scores divide each missing value among the observed values, in proportion to their frequencies.",
    "category": "Entropy-based scores treat missing as a category of its own.",
}
_PCA_RULES = {
    "pairwise": "PCA excludes missing values pairwise: each covariance uses the rows with both values.",
    "iterative": "PCA imputes missing values by the components, by least squares.",
}
_INDICATOR_RULE = "Criteria that fit a model replace missing values by the mean and add an indicator of them."
_PAIR_RULE = "Two columns are compared for redundancy on the rows with both values."
_GOWER_RULE = "Gower's dissimilarity compares two rows in the columns in which both have a value."


def missing_level_notes(schema: Schema) -> list[Verdict]:
    """Return a note on the columns of one value, for which missing is a level (`add_missing_level`)."""
    names = [schema.names[j] for j in one_level_columns(schema)]
    if not names:
        return []
    contains = "contains" if len(names) == 1 else "contain"
    sentence = f"{count_with_noun(len(names), 'column')} {contains} one value and missing values, so missing is read as a level."
    return [Verdict("TZ207", sentence, names)]


def missing_value_notes(
    schema: Schema, imputed: Sequence[ImputationNote], methods: Iterable[BaseEstimator], *, has_pairs: bool
) -> list[Verdict]:
    """Return one note on what happens to the missing values of a table; none if it has none, or nothing reads them.

    Parameters
    ----------
    schema : Schema
    imputed : sequence of ImputationNote
        The notes of the methods that replace missing values. Their numbers may be those of samples; the note has that of the table.
    methods : iterable of estimators
        The criteria, the merit, the maps and the graph builder of the study.
    has_pairs : bool
        Whether pairs of columns were compared.
    """
    incomplete = [schema.columns[j] for j in schema.used.tolist() if schema.columns[j].n_missing]
    if not incomplete:
        return []
    n = sum(column.n_missing for column in incomplete)
    mean, shares = "the mean of its column", "each indicator gets the share of its level"
    kinds = {column.is_number for column in incomplete}
    if len(kinds) > 1:
        replacement = f"{mean} (in a categorical column {shares})"
    else:
        replacement = mean if True in kinds else f"indicators: {shares}"
    readers = list(dict.fromkeys(note.reader for note in imputed))
    sentences = [
        f"For {join_names(names, width=_FULL_WIDTH)}, {'it' if n == 1 else 'each'} is replaced by {replacement}{where}."
        for names, where in (
            ([name for name in readers if name != CROSS_VALIDATED_MODELS], ""),
            ([name for name in readers if name == CROSS_VALIDATED_MODELS], ", of the training rows of a fold"),
        )
        if names
    ]
    sentences += dict.fromkeys(rule for method in methods for rule in _rules_of(method))
    sentences += [_PAIR_RULE] * has_pairs
    if not sentences:
        return []
    values, columns = count_with_noun(n, "missing value"), count_with_noun(len(incomplete), "column")
    text = " ".join([f"The table has {values} in {columns}.", *sentences])
    return [Verdict("TZ207", text, [column.name for column in incomplete])]


def _rules_of(method: BaseEstimator) -> Iterator[str]:
    """Yield what a method does with missing values in place of replacing them by the mean."""
    parameters = method.get_params(deep=False)
    missing = parameters.get("missing")
    if isinstance(method, EntropyRelevance | Entropy) or (isinstance(method, InformationMerit) and method.uses_counts):
        yield _ENTROPY_RULES[missing]
    elif isinstance(method, CFS):
        yield from [_ENTROPY_RULES[missing]] if method.association is None else _rules_of(method.association)
    elif isinstance(method, ModelRelevance) and missing == "category":
        yield _INDICATOR_RULE
    elif isinstance(method, Reducer) and missing in _PCA_RULES:
        yield _PCA_RULES[missing]
    if "gower" in (parameters.get("metric"), parameters.get("dissimilarity")):
        yield _GOWER_RULE
