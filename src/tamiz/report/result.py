"""The result of a study: reading and writing it as JSON, rendering it as HTML, and its summary in a few lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamiz.exceptions import DataError
from tamiz.report.recommendation import column_reasons, initial_selection, recommendation_cost, recommendation_text
from tamiz.report.records import FORMAT, StudyRecord
from tamiz.report.score_text import assessment_verdict, collect_error_rates
from tamiz.report.table import table_text
from tamiz.report.text import count_with_noun, edges_text, format_number, join_column_names, join_names, shorten
from tamiz.runtime.codec import FormatError, from_json, to_json
from tamiz.runtime.result_tables import frame_page, make_frame
from tamiz.runtime.user_warnings import quote_name
from tamiz.storage.atomic_write import WrittenResult

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from tamiz.assessment.findings import FoldScores
    from tamiz.report.records import RankingRecord, StepTiming
    from tamiz.runtime.verdicts import Verdict
    from tamiz.selection.subset_record import SubsetRecord


class Result(WrittenResult):
    """Result of a study.

    Parameters
    ----------
    record : StudyRecord
        The names and numbers, one record per section. It contains no row of the table except the points of the maps.
    timings : sequence of StepTiming, default=()
        The step, its seconds and their estimate, for every step of the study. Files do not contain them, because they differ from
        run to run: the same table, seed and settings give the same file, byte for byte.

    Examples
    --------
    >>> from tamiz import study
    >>> result = study("penguins.csv", target="species")  # doctest: +SKIP
    >>> result.to_html("penguins.html")  # doctest: +SKIP
    """

    def __init__(self, record: StudyRecord, timings: Sequence[StepTiming] = ()) -> None:
        self.record = record
        self.timings = tuple(timings)
        # The file that it was read from, for error messages.
        self._path: str | os.PathLike[str] | None = None

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Result:
        """Return the result that `to_json` wrote.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Result
            The result, equal to the one written.

        Raises
        ------
        OSError
            If the file cannot be read.
        DataError
            If it is not a result of this version; the message states what is missing or where the JSON is invalid.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise type(error)(f"{path} cannot be read: {error.strerror}.") from error
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path} is not a tamiz result: it is not JSON in UTF-8 ({error}).") from error
        if not isinstance(data, dict) or "format" not in data:
            raise DataError(f"{path} is not a tamiz result; `tamiz study --json` writes one.")
        if data["format"] != FORMAT:
            raise DataError(
                f"{path} is a {data['format']!r:.60}; this version reads {FORMAT!r}, so run the study again."
            )
        try:
            result = cls(from_json(StudyRecord, data))
        except FormatError as error:
            raise DataError(f"{path} is not a whole tamiz result: {error}; run the study again.") from error
        result._path = path
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return the names and numbers as JSON types: dictionaries, lists, text and numbers."""
        return to_json(self.record)

    def page(self) -> str:
        """Return the report as HTML.

        Raises
        ------
        DataError
            If the result was read from a file and its parts are inconsistent.
        """
        # Imported late: everything else works without jinja2 and matplotlib.
        from tamiz.report.html import render

        try:
            return render(self.record)
        except Exception as error:
            if self._path is None:
                raise
            where = " ".join(getattr(error, "__notes__", []))
            raise DataError(
                f"{self._path} is not a whole tamiz result: its parts do not fit each other{where} ({error!r}); "
                "run the study again."
            ) from error

    def figure(self, name: str) -> Figure:
        """Draw a chart or a map of the report.

        Parameters
        ----------
        name : str
            The name of the figure, which its menu in the report copies with the code that draws it, such as "map-1-points".

        Returns
        -------
        matplotlib Figure

        Raises
        ------
        DataError
            If the report has no figure of this name; the message lists the names.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tamiz import study
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> result = study(X, y, maps=["pca"], assess=False)
        >>> result.figure("map-1-points").axes[0].get_xlabel()
        'PC 1'
        """
        # Imported late: everything else works without jinja2 and matplotlib.
        from tamiz.report.html import collect_charts

        found = collect_charts(self.record)
        if name not in found:
            raise DataError(f"The report has no figure {name!r}; it has {', '.join(found)}.")
        return found[name].figure("white")

    def summary_lines(self) -> list[tuple[str, str]]:
        """Return the summary: a term and a text for each line, without the warnings."""
        record = self.record
        lines = [("Table", table_text(record))]
        if record.ranking is not None:
            lines += [(one.label, _best_columns_text(record.ranking, one.id)) for one in record.ranking.criteria]
            if record.ranking.at_chance:
                lines.append(("Not above chance", join_column_names([one.name for one in record.ranking.at_chance])))
        if record.subset is not None:
            lines.append(("Subset", _subset_text(record.subset)))
        if record.recommendation is not None:
            lines.append(("Recommended", recommendation_text(record.recommendation, record.table)))
            costs = recommendation_cost(record.recommendation)
            lines += [("Effect on models", costs)] if costs else []
        if (reliability := record.reliability) is not None:
            lines.append(("Reliability", assessment_verdict(reliability)))
            if (rates := collect_error_rates(record)) is not None:
                lines.append(("Error rates", f"{rates['finding']} {rates['design']}"))
        if record.graph is not None:
            lines.append(("Graph", edges_text(record.graph)))
        if record.maps:
            lines.append(("Maps", join_names([one.label for one in record.maps])))
        return lines + ([("Interrupted", record.interruption)] if record.interruption else [])

    @property
    def recommended(self) -> list[str]:
        """The recommended columns; those of a search that was not evaluated if there are none; empty if they may be chance."""
        return list(initial_selection(self.record))

    @property
    def dropped(self) -> dict[str, str]:
        """In a few words why each of the other columns is not recommended, by name."""
        kept, reasons = set(self.recommended), column_reasons(self.record)
        names = (column.name for column in self.record.table.columns if column.name not in kept)
        return {name: reasons[name][1] if name in reasons else "not selected" for name in names}

    @property
    def ranking(self) -> Any:
        """A frame with a row for each column, best first: its mean rank with the interval, and the score by each criterion.

        It is a frame of pandas, or an Arrow table where pandas is not installed; None without a ranking.
        """
        found = self.record.ranking
        if found is None or not found.criteria:
            return None
        order, _ = found.best_first()
        columns: dict[str, list[Any]] = {"column": [found.columns[j] for j in order]}
        if (rank := found.mean_rank) is not None:
            columns["mean_rank"] = [rank.ranks[j] for j in order]
            ends = [rank.intervals[j] or (None, None) for j in order]
            columns |= {"rank_low": [low for low, _ in ends], "rank_high": [high for _, high in ends]}
        columns |= {one.id: [found.scores[one.id][j] for j in order] for one in found.criteria}
        return make_frame(columns)

    @property
    def maps(self) -> dict[str, Any]:
        """A frame for each map with points: the number of each row in the table, from 0, and its coordinates."""
        return {
            one.id: make_frame(
                {"row": list(one.rows)}
                | {axis: [point[k] for point in one.points] for k, axis in enumerate(one.axes[:2])}
            )
            for one in self.record.maps
            if one.points is not None
        }

    @property
    def leaks(self) -> list[str]:
        """The columns of possible target leakage that were set aside."""
        return [] if self.record.leakage_exclusion is None else list(self.record.leakage_exclusion.columns)

    @property
    def score(self) -> FoldScores | None:
        """The nested CV score of the recommended columns, with its interval and folds; None if it was not computed."""
        return None if self.record.recommendation is None else self.record.recommendation.score

    @property
    def warnings(self) -> tuple[Verdict, ...]:
        """The warnings and notes, the most severe first."""
        return self.record.warnings

    def __repr__(self) -> str:
        # Imported late: it loads matplotlib and NumPy.
        from tamiz.report.verdict import verdict_lines

        return "\n".join(verdict_lines(self.record))

    def _repr_html_(self) -> str:
        # Imported late: everything else works without jinja2.
        from tamiz.report.html import render_verdict

        return frame_page(render_verdict(self.record), f"Verdict on {self.record.title}")


def _best_columns_text(ranking: RankingRecord, criterion: str) -> str:
    """Return the three columns with the largest scores by a criterion, with their scores."""
    scores = zip(ranking.columns, ranking.scores[criterion], strict=True)
    best = sorted((-score, j, name) for j, (name, score) in enumerate(scores) if score is not None)[:3]
    return ", ".join(f"{shorten(quote_name(name), 30)} {format_number(-score)}" for score, _, name in best)


def _subset_text(subset: SubsetRecord) -> str:
    """Return the selected columns, their merit, the search and its evaluations."""
    kept = join_column_names(subset.columns, limit=10) or "no column"
    merit, n = format_number(subset.value), count_with_noun(subset.n_evaluations, "evaluation")
    return f"{kept} ({subset.merit.label} {merit} by {subset.search.label}, {n})"
