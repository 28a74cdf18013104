"""The selector of the set of columns with the highest merit that a search finds."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Masks
from tamiz.criteria.base import Merit, MultiOutputMerit
from tamiz.exceptions import DataError
from tamiz.models.estimators import check_metadata
from tamiz.models.multioutput import read_multioutput
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.registry import method_label
from tamiz.runtime.user_warnings import captures_warnings, warn, warn_user
from tamiz.runtime.verdicts import Verdict
from tamiz.search import registry as searches
from tamiz.search.archive import Archive, Certificate
from tamiz.search.base import Candidates, Evaluator, HasSubsetNotes, HasSubsetWarnings, Problem, Search, SetSize
from tamiz.search.greedy import RecursiveElimination
from tamiz.search.journal import Journal
from tamiz.search.runner import SearchJob, SearchPlan
from tamiz.search.stopping import StoppingRule
from tamiz.selection.defaults import (
    choose_merit_and_search,
    default_merit_and_search,
    resolve_merit,
    resolve_search,
)
from tamiz.selection.equivalent_columns import (
    describe_duplicate_columns,
    leave_out_equivalents,
    selected_copies_warnings,
    unsearched_duplicates,
)
from tamiz.selection.permutation_null import search_null
from tamiz.selection.selector import Selector, estimator_readers
from tamiz.selection.subset_record import PermutationNull
from tamiz.storage.invariants import (
    BoolArray,
    InstanceOf,
    Integer,
    Invariants,
    Nullable,
    Number,
)
from tamiz.table.base import Table
from tamiz.table.date_parts import expand_dates
from tamiz.table.factory import as_table, record_features
from tamiz.table.schema import Schema
from tamiz.table.views import has_all_rows, with_metadata


def _with_date_parts(search: Search, schema: Schema) -> Search:
    """Return the search with the parts of dates in place of the dates in its column parameters."""
    if not schema.split_dates:
        return search
    # An exhaustive search has no start.
    parameters = search.get_params(deep=False)
    roles = {
        role: expand_dates(schema, parameters[role]) for role in ("start", "fixed", "excluded") if role in parameters
    }
    groups = None if search.column_groups is None else [expand_dates(schema, group) for group in search.column_groups]
    return clone(search).set_params(column_groups=groups, **roles)


class SubsetSelector(Selector):
    """Keep the set of columns with the highest merit that a search finds.

    Parameters
    ----------
    merit : Merit or str, default=None
        The merit of a set, such as `CFS()`, or its name on the command line: "cfs", or "wrapper:" and a model, such as
        "wrapper:gaussian-nb". None is CFS; for a numeric target it is cross-validated ridge regression, unless that would need too
        much time or memory.
    search : Search or str, default=None
        The search, such as `BestFirst()`, or its name on the command line, such as "best-first:backward" or "beam:20". Columns to
        fix, exclude, group or start with are parameters of the search. None is `BestFirst()`, and `Forward()` with the default
        ridge regression.
    n_features : int, float or (smallest, largest), default=None
        Number of columns of the set, or its range; a float in (0, 1] is a share of the columns that can be chosen, rounded down, at
        least one. None lets the merit decide. Greedy searches visit every size of a range.
    stop : StoppingRule, default=None
        Ends the search early, such as `Evaluations(1000) | Seconds(60)`.
    journal : path, default=None
        A file to which every evaluated set is written; an existing journal is continued.
    random_state : int, Generator or RandomState, default=None
        Seed of the folds of the merit, of estimators without a seed of their own, and of a random search. With None the search
        differs between fits, but folds and estimators always use seed 0.
    n_jobs : int, default=None
        Number of threads; None uses the cores available to this process. The result does not depend on it. Many short refits of an
        estimator run in this process and `n_jobs - 1` worker processes; 1 starts none.
    allow_duplicates : bool, default=False
        Whether exact duplicates of a column are searched, too, and may be selected together. By default only the first of them is
        searched, or those that the search fixes or starts with; column groups are not checked.

    Attributes
    ----------
    support_ : ndarray of shape (n_columns,), bool
    criterion_ : Merit
        The merit as it was used.
    search_ : Search
        The search as it was used.
    merit_ : float
    merit_name_, merit_method_ : str
        Name of the merit, and how it was computed.
    merit_cost_ : float
        Approximate cost of an evaluation in microseconds.
    archive_ : Archive
        Every evaluated set with its merit, in order; of an exact search over millions of sets, only those that were better than all
        before.
    cv_results_ : dict of str to ndarray
        The fold scores of every evaluated set, in order of evaluation, where the merit is cross-validated: "n_features",
        "support" of shape (n_sets, n_columns), "split0_test_score" and so on for each fold, "mean_test_score" (the merit),
        "std_test_score" and "rank_test_score" (1 is the best). A set without a score has minus infinity in each fold and a
        standard deviation of NaN. The attribute does not exist for other merits, for a selector from `tamiz.load`, and for a search
        that was continued from a journal, because these files contain merits only.
    n_evaluations_ : int
        Number of evaluated sets, including those that are not in the archive.
    certificate_ : None or Certificate
        The proven bound and the optimality gap, where the search proves a bound.
    duplicates_ : dict of str to str
        Columns that were not searched, each with the column that it duplicates exactly.
    schema_ : Schema
        Names and kinds of the columns as they were used.

    Notes
    -----
    After Ctrl-C the selector is fitted with the best set found so far, and KeyboardInterrupt is raised.

    A warning states that the selection may be chance, unless a selected column has a p-value of a rank test of at most 0.025
    divided by the number of searched columns, or the merit is above the 99.9 % prediction bound of its permutation null
    distribution. For the latter the search is repeated on at most 19 shuffled targets, or 5 where it takes more than about 0.1
    seconds, until one reaches the merit. This costs milliseconds where a column is significant, and mostly one to three more
    searches in noise. It is left out for targets of several columns, searches of more than about 10 seconds, and parts of a table.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Forward
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = SubsetSelector(CFS(), Forward(), n_features=3).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['worst perimeter', 'worst area', 'worst concave points']

    A cross-validated merit has a score in each fold for every set that the search evaluated, here for the first four:

    >>> from sklearn.naive_bayes import GaussianNB
    >>> from tamiz.criteria import CrossValidated
    >>> wrapper = SubsetSelector(CrossValidated(GaussianNB(), cv=3), Forward(), n_features=2).fit(X, y)
    >>> results = wrapper.cv_results_
    >>> results["n_features"][:4]
    array([0, 1, 1, 1], dtype=int32)
    >>> results["split0_test_score"][:4].round(3)
    array([0.626, 0.9  , 0.716, 0.9  ])
    >>> results["mean_test_score"][:4].round(3)
    array([0.627, 0.88 , 0.705, 0.886])
    """

    invariants: ClassVar[Invariants] = {
        "merit": Nullable(InstanceOf(Merit, str)),
        "criterion_": InstanceOf(Merit),
        "search_": InstanceOf(Search),
        "archive_": InstanceOf(Archive),
        "archive_.n_columns": Integer(size="p"),
        "support_": BoolArray("p"),
        "merit_": Number(),
        "merit_name_": InstanceOf(str),
        "merit_method_": InstanceOf(str),
        "merit_cost_": Number(0.0),
        "n_evaluations_": Integer(),
        "duplicates_": InstanceOf(dict),
        "certificate_": Nullable(InstanceOf(Certificate)),
    }
    _needs_target: ClassVar[bool] = True

    def __init__(
        self,
        merit: Merit | str | None = None,
        search: Search | str | None = None,
        *,
        n_features: SetSize | None = None,
        stop: StoppingRule | None = None,
        journal: str | os.PathLike[str] | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        allow_duplicates: bool = False,
    ) -> None:
        self.merit = merit
        self.search = search
        self.n_features = n_features
        self.stop = stop
        self.journal = journal
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.allow_duplicates = allow_duplicates

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        merit = self._criterion()
        tags.target_tags.multi_output = isinstance(merit, MultiOutputMerit) and merit.supports_multioutput
        return tags

    def _criterion(self) -> Merit | None:
        return resolve_merit(self.merit)

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None, **params: Any) -> Self:
        """Search.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
        y : array or frame of shape (n_samples,) or (n_samples, n_outputs), default=None
            Ignored by a merit that needs no target, such as the score of a clusterer. Several columns are allowed for
            `CrossValidated` with a model that predicts all of them at once, and for merits of the information family, such as
            `JMI`, which are computed from the means over the columns of y.
        sample_weight : array of shape (n_samples,), default=None
            A row with whole weight 2 counts as two equal rows; of weights that are no whole numbers only the ratios matter.
        groups : array of shape (n_samples,), default=None
            A merit with folds keeps all rows of a group in the same fold. For a merit that is computed from counts, such as CFS,
            each group counts as one row where the target is constant in every group.
        **params
            Further values of the rows, which the merit's estimator requests by `set_fit_request` or its scorer by
            `set_score_request`; metadata routing of scikit-learn must be enabled.
        """
        with parallel.thread_session(self.n_jobs):
            job, merit = self._make_job(X, y, sample_weight, groups, self.random_state, params)
            journal = None
            if self.journal is not None:
                journal = Journal(self.journal, _journal_identity(job, merit), job.problem.n_columns)
            archive = job.run(self.stop, journal)
        evaluator, best, schema = job.evaluator, _best_set(archive, job.evaluator), job.table.schema
        # In a part of a table, such as a fold, columns may be equal by chance: no warning then.
        whole = has_all_rows(job.table)
        duplicates = describe_duplicate_columns(job.duplicates, schema.names) if whole else []
        set_warnings = self._set_warnings(job, best) if whole else []
        found = [*schema.fit_notes, *duplicates, *evaluator.notes(), *set_warnings]
        notes = evaluator.subset_notes(best) if isinstance(evaluator, HasSubsetNotes) else []
        record_features(self, X)
        self.criterion_, self.search_, self.schema_ = merit, job.search, schema
        self.duplicates_ = {schema.names[j]: schema.names[kept] for j, kept in job.duplicates.items()}
        self.merit_name_, self.merit_cost_ = evaluator.info.name, evaluator.info.cost
        self.merit_method_ = " ".join([evaluator.info.method, *notes]).strip()
        self.archive_, self.n_evaluations_, self.merit_ = archive, archive.n_evaluations, archive.best_merit
        self.support_ = self._support = best
        self.certificate_ = None if archive.bound is None else Certificate(archive.best_merit, archive.bound)
        warn_user(found)
        if archive.interrupted:
            raise KeyboardInterrupt
        if not best.any():
            name = self.merit_name_[:1].upper() + self.merit_name_[1:]
            warn(
                "TZ305", f"{name} finds no column worth keeping: the best set is the empty one ({archive.stop_reason})."
            )
        if whole and not captures_warnings():
            with parallel.thread_session(self.n_jobs):
                null = search_null(job, merit, archive, self.stop)
            warn_user(self.chance_warnings(null))
        return self

    def _set_warnings(self, job: SearchJob, best: Masks) -> list[Verdict]:
        """Return warnings on the columns of the best set, by the merit, and where some are copies of each other."""
        found: list[Verdict] = []
        if isinstance(job.evaluator, HasSubsetWarnings):
            free = np.isin(np.arange(len(best)), [j for unit in job.problem.units for j in unit.tolist()])
            found = job.evaluator.subset_warnings(best, free)
        if self.allow_duplicates:
            return found
        return [*found, *selected_copies_warnings(job.table, job.problem, np.flatnonzero(best).tolist())]

    def permutation_null(self, table: Table) -> PermutationNull | None:
        """Return the permutation null distribution of the merit on the table of `fit` if the merit may be chance, else None.

        Parameters
        ----------
        table : Table
        """
        check_is_fitted(self)
        with parallel.thread_session(self.n_jobs):
            job, _ = self._make_job(table, None, None, None, copy.deepcopy(self.random_state), {})
            return search_null(job, self.criterion_, self.archive_, self.stop)

    def chance_warnings(self, null: PermutationNull | None) -> list[Verdict]:
        """Return a warning that the selection may be chance, none without a null distribution that shows it.

        Parameters
        ----------
        null : PermutationNull or None
            As `permutation_null` returns it.
        """
        check_is_fitted(self)
        if null is None:
            return []
        n = int(self.support_.sum())
        columns = f"The {n:,} columns selected" if n > 1 else "The column selected"
        sentence = (
            f"{columns} by {self.merit_name_} may be chance. {null.sentence} Do not rely on the merit: assess the selection by "
            "selection_report (--assess), or collect more rows."
        )
        return [Verdict("TZ302", sentence, [self.schema_.names[j] for j in np.flatnonzero(self.support_).tolist()])]

    def without_equivalents(self, table: Table) -> tuple[Table, dict[int, int]]:
        """Return the table with one column of each set of equivalent ones, and the others with the one that is kept.

        All columns are kept if duplicates are allowed, or if too few columns for `n_features` would be left.

        Parameters
        ----------
        table : Table
        """
        if self.allow_duplicates:
            return table, {}
        schema = table.schema
        search = _with_date_parts(choose_merit_and_search(self.merit, self.search, schema)[1], schema)
        kept, same = leave_out_equivalents(table, search.make_problem(schema.names, schema.used, self.n_features))
        try:
            search.make_problem(schema.names, kept.schema.used, self.n_features)
        except ValueError:
            return table, {}
        return kept, same

    def _metadata_readers(self) -> list[tuple[Any, str]]:
        return estimator_readers(self._criterion())

    def _supports_by_size(self, table: Table, sizes: Sequence[int] | None) -> dict[int, Masks]:
        """Return the best evaluated set of each size; sizes of which no set was evaluated are not in the dict."""
        sized = self._of_sizes(sizes)
        if self._visits_one_path:
            job, _ = sized._make_job(table, None, None, None, self.random_state, {})
            sets = job.visited_by_size()
        else:
            archive = sized.fit(table).archive_
            sets = {size: archive.mask(number) for size, number in archive.best_per_size().items()}
        return {size: sets[size] for size in (sizes or sorted(sets)) if size in sets}

    def _of_sizes(self, sizes: Sequence[int] | None) -> Self:
        size = (1, 1.0) if sizes is None else (min(sizes), max(sizes))
        return clone(self).set_params(n_features=size, journal=None)

    @property
    def _visits_one_path(self) -> bool:
        """Whether the sets that are visited do not depend on merits."""
        search = resolve_search(self.search)
        return search is not None and search.ignores_merits and self.stop is None

    def _path_problem(self, table: Table, sizes: Sequence[int] | None) -> tuple[RecursiveElimination, Problem] | None:
        """Return the search and its problem for a model that has importances of its own, None for other searches."""
        search = resolve_search(self.search)
        if not self._visits_one_path or not isinstance(search, RecursiveElimination):
            return None
        return search, self._of_sizes(sizes)._make_problem(table, search)[0]

    @property
    def cv_results_(self) -> dict[str, NDArray[Any]]:
        """The fold scores of every evaluated set."""
        check_is_fitted(self)
        results = self.archive_.cv_results()
        if results is None:
            raise AttributeError(
                "cv_results_ exists only after fit with a merit that has folds, such as CrossValidated(GaussianNB()): a journal or "
                "a file that the selector was loaded from contains merits only. Fit without the journal to compute the scores."
            )
        return results

    def merits(
        self, masks: Masks, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None, **params: Any
    ) -> Floats:
        """Return the merits of sets of columns, from the archive or evaluated now.

        Parameters
        ----------
        masks : ndarray of shape (n_sets, n_columns), bool
            The sets. Size limits, fixed and excluded columns of the search do not apply; unused columns must be in no set.
        X, y, sample_weight, groups
            The arguments of `fit`.
        **params
            As for `fit`.

        Returns
        -------
        ndarray of shape (n_sets,)
            The random draws of the merit, such as folds, are those of `fit` where `random_state` is an integer or None.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tamiz import SubsetSelector
        >>> from tamiz.criteria import CFS
        >>> from tamiz.search import Forward
        >>> X, y = load_iris(return_X_y=True)
        >>> selector = SubsetSelector(CFS(), Forward()).fit(X, y)
        >>> selector.merits([[False, False, True, True], [True, False, True, True]], X, y).round(4)
        array([0.8874, 0.8298])
        """
        check_is_fitted(self)
        candidates = Candidates.from_masks(self._check_masks(masks))
        with parallel.thread_session(self.n_jobs):
            merits = self.archive_.known_merits(candidates)
            missing = np.flatnonzero(np.isnan(merits))
            if len(missing):
                job, _ = self._make_job(X, y, sample_weight, groups, copy.deepcopy(self.random_state), params)
                merits[missing] = job.evaluator.evaluate(candidates[missing])
        return merits

    def _check_masks(self, masks: Any) -> Masks:
        """Return the masks as an array of shape (n_sets, n_columns)."""
        checked = np.atleast_2d(np.asarray(masks))
        n_columns = self.schema_.n_columns
        if checked.dtype != bool or checked.shape[1:] != (n_columns,):
            raise ValueError(
                f"masks must be True and False for each of the {n_columns} columns, of shape (n_sets, {n_columns}), got "
                f"{checked.dtype} of shape {checked.shape}."
            )
        unused = np.setdiff1d(np.arange(n_columns), self.schema_.used)
        if (selected := np.flatnonzero(checked[:, unused].any(axis=0))).size:
            column = self.schema_.columns[int(unused[selected[0]])]
            raise ValueError(
                f"Column {column.name!r} is excluded from this table ({column.exclusion_reason}): no set may contain it."
            )
        return checked

    def plan(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None, **params: Any
    ) -> SearchPlan:
        """Return the largest cost of `fit`, estimated from the first evaluations of the search; no file is written.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
        y : array of shape (n_samples,), default=None
        sample_weight : array of shape (n_samples,), default=None
        groups : array of shape (n_samples,), default=None
        **params
            As for `fit`.

        Returns
        -------
        SearchPlan
            Evaluations, seconds and bytes; `str()` of it is a sentence.
        """
        with parallel.thread_session(self.n_jobs):
            # A copy of the random state: `fit` makes the same random draws afterwards.
            job, _ = self._make_job(X, y, sample_weight, groups, copy.deepcopy(self.random_state), params)
            return job.plan(self.stop)

    def _make_job(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        random_state: Seed,
        metadata: Mapping[str, Any],
    ) -> tuple[SearchJob, Merit]:
        """Return the search prepared for a table, and its merit."""
        merit, search = resolve_merit(self.merit), resolve_search(self.search)
        if metadata:
            check_metadata("SubsetSelector", estimator_readers(merit), metadata)
        if self.stop is not None and not isinstance(self.stop, StoppingRule):
            raise TypeError(f"stop must be a stopping rule such as Evaluations(1000), got {self.stop!r}.")
        rng = make_rng(random_state)
        outputs = read_multioutput(y) if isinstance(merit, MultiOutputMerit) and merit.supports_multioutput else None
        reads_target = merit is None or merit.reads_target or isinstance(X, Table)
        target = y if outputs is None and reads_target else None
        infinite = merit is not None and merit.allow_infinite
        table = with_metadata(as_table(X, target, sample_weight, groups=groups, allow_infinite=infinite), metadata)
        merit, search = default_merit_and_search(merit, search, table.schema)
        problem, duplicates = self._make_problem(table, search)
        # Without a seed the merit draws the same folds in every fit: merits are reproducible, and a journal can be continued.
        merit_rng = make_rng(0) if random_state is None else rng
        bound = (
            merit.bind(table, merit_rng, outputs)
            if isinstance(merit, MultiOutputMerit)
            else merit.bind(table, merit_rng)
        )
        return SearchJob(search, table, problem, bound, rng, duplicates), merit

    def _make_problem(self, table: Table, search: Search) -> tuple[Problem, dict[int, int]]:
        """Return the problem of the search, and the duplicate columns that it leaves out."""
        names, used = table.schema.names, table.schema.used
        search = _with_date_parts(search, table.schema)
        problem = search.make_problem(names, used, self.n_features)
        # The comparison does not distinguish infinite values from missing ones, so such a table is not checked.
        duplicates = {} if self.allow_duplicates or table.infinite_digest else unsearched_duplicates(table, problem)
        if not duplicates:
            return problem, duplicates
        try:
            return search.make_problem(names, np.setdiff1d(used, list(duplicates)), self.n_features), duplicates
        except ValueError as error:
            # Only without the duplicates there are fewer columns than requested: the message names them.
            raise ValueError(" ".join([str(error), *describe_duplicate_columns(duplicates, names)])) from error

    def describe(self) -> list[str]:
        """Return sentences on the fitted selector: the merit and the search, how the merit was computed, and the certificate."""
        check_is_fitted(self)
        search = method_label(searches, self.search_)["label"].lower()
        sentences = [
            f"{self.merit_name_} {self.merit_:.4g} by {search}, {self.n_evaluations_:,} evaluations: {self.archive_.stop_reason}.",
            self.merit_method_,
            "" if self.certificate_ is None else f"Certificate: {self.certificate_}.",
        ]
        return list(filter(None, sentences))

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the fitted selector for JSON: the merit, the evaluations, and the bound, if there is one."""
        check_is_fitted(self)
        certificate = self.certificate_
        return {
            "merit": self.merit_,
            "merit_name": self.merit_name_,
            "n_evaluations": self.n_evaluations_,
            "stopped": self.archive_.stop_reason,
            **({} if certificate is None else {"bound": certificate.bound, "proven": certificate.is_optimal}),
        }


def _best_set(archive: Archive, evaluator: Evaluator) -> Masks:
    """Return the best set of a search; raise an error where no set of an allowed size has a merit."""
    if archive.best is not None:
        return archive.mask(archive.best)
    if archive.interrupted:
        raise KeyboardInterrupt
    warn_user(evaluator.notes())
    if len(archive) and np.isneginf(archive.merits).all():
        raise DataError(f"No evaluated set has a score. {' '.join(evaluator.notes())}".strip())
    raise ValueError(
        f"No set of an allowed size was evaluated before the search stopped ({archive.stop_reason}). "
        "Start the search nearer to that size, or relax the stopping rule."
    )


def _journal_identity(job: SearchJob, merit: Merit) -> dict[str, Any]:
    """Return what must be equal when a search continues a journal."""
    table = job.table
    return {
        "columns": table.schema.names,
        # The memory address of a function is not part of the merit.
        "merit": re.sub(r" at 0x[0-9a-fA-F]+", "", repr(merit)),
        "data": table.fingerprint(),
        **job.evaluator.identity_fields(),
    }
