"""Progress of long work: on a terminal, in a log, and to a function."""

import io
import re
import sys
import time

import numpy as np
import pytest

from tamiz import SubsetSelector, show_progress
from tamiz.criteria import CrossValidated
from tamiz.runtime import progress
from tamiz.search import Forward


class Terminal(io.StringIO):
    def isatty(self):
        return True


def work():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 4))
    SubsetSelector(CrossValidated("naive_bayes", cv=2), Forward()).fit(table, table[:, 0] > 0)


def test_a_callback_receives_the_progress_of_every_task():
    reports = []
    with show_progress(lambda *report: reports.append(report)):
        work()
    searching = [(done, total) for label, done, total in reports if label.startswith("Searching")]
    assert searching == sorted(searching)
    assert searching[-1][0] > 0
    n_reports = len(reports)
    work()
    assert len(reports) == n_reports


def test_nested_work_may_hide_its_progress():
    reports = []
    with progress.use_listener(lambda *report: reports.append(report)):
        with progress.use_listener(None):
            progress.report_progress("inside", 1, 2)
        progress.report_progress("outside", 1, 2)
    assert reports == [("outside", 1, 2)]


def test_an_exception_in_the_callback_ends_the_work():
    def stop(label, done, total):
        if label.startswith("Searching"):
            raise StopAsyncIteration("enough")

    with pytest.raises(StopAsyncIteration, match=r"^enough$"), show_progress(stop):
        work()
    work()


def test_a_log_receives_a_line_at_intervals(monkeypatch, capsys):
    clock = iter([0.0, 1.0, 6.0, 6.0, 7.0, 12.0, 12.0])
    monkeypatch.setattr("tamiz.runtime.progress.time.monotonic", lambda: next(clock))
    with show_progress():
        for label, done, total in (
            ("read", 0, None),
            ("Step: graph, about 6 s", 0, None),
            ("rows", 1, 3),
            ("rows", 2, 3),
        ):
            progress.report_progress(label, done, total)
    assert capsys.readouterr().err.splitlines() == ["Step: graph, about 6 s", "rows: 2 of 3"]


def test_without_a_callback_no_progress_is_reported(capsys):
    work()
    assert capsys.readouterr() == ("", "")


def test_progress_shows_merit_columns_stage_and_remaining_time(
    monkeypatch,
):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_format_time_left", lambda seconds: "about 0:00:07 left")
    with show_progress():
        progress.report_progress("Reading rows", 40, 50)
        progress.report_progress("Searching, best merit 0.31 of 4 columns", 1200, None)
        time.sleep(0.25)
        progress.report_progress("Searching, best merit 0.32 of 5 columns", 1300, 5000)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert re.search(r"Searching, best merit 0\.31 of 4 columns \S* *1,200 ", shown)
    assert re.search(r"best merit 0\.32 of 5 columns .* 1,300 of 5,000 .* about 0:00:07 left", shown)


@pytest.mark.parametrize(
    ("done", "total", "text"),
    [(1234, None, "1,234"), (10, 2000, "10 of 2,000"), (10**9, 2**100, "1,000,000,000 of 1.3e+30")],
)
def test_progress_is_reported_in_numbers(done, total, text):
    assert progress._format_count(done, total) == text


def test_the_remaining_time_is_shown_where_it_is_known():
    assert (progress._format_time_left(None), progress._format_time_left(0.0), progress._format_time_left(3725.4)) == (
        "",
        "",
        "about 1:02:05 left",
    )
