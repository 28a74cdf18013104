"""The journal: exact, without times, and a search that resumes from any byte of it."""

import json
import re
import zlib

import numpy as np
import pytest

from tamiz import SubsetSelector
from tamiz.criteria import CFS
from tamiz.exceptions import DataError
from tamiz.search import Backward, BestFirst, Evaluations, Forward
from tamiz.search.journal import Journal

from ..statistics.mixed_tables import make_mixed
from .merits import Quadratic, search_in, sets_of

FACTS = {"columns": [f"x{j}" for j in range(8)], "merit": "Quadratic", "data": "0"}


def searched(path, search=None, p=8, **parameters):
    evaluator = Quadratic(3, p)
    archive = search_in(
        search or BestFirst(),
        evaluator,
        p,
        journal=lambda archive: Journal(path, FACTS, archive.n_columns),
        **parameters,
    )
    return archive, evaluator


def assert_same(ours, theirs):
    assert sets_of(ours) == sets_of(theirs)
    np.testing.assert_array_equal(ours.merits, theirs.merits)
    assert (ours.best, ours.improvements, ours.stop_reason) == (theirs.best, theirs.improvements, theirs.stop_reason)


@pytest.mark.parametrize("search", [Forward(), Backward(), BestFirst()], ids=repr)
def test_two_runs_write_the_same_bytes(tmp_path, search):
    searched(tmp_path / "a", search)
    searched(tmp_path / "b", search)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_journal_contains_every_set_once_with_its_exact_merit(tmp_path):
    archive, _ = searched(tmp_path / "journal")
    head, *lines = (tmp_path / "journal").read_text().splitlines()
    assert json.loads(head) == {"format": "tamiz journal 2", **FACTS}
    parent, found = set(), []
    for line in [line.partition(" #")[0] for line in lines]:
        if line.startswith("="):
            parent = {int(word) for word in line[1:].split()}
        else:
            *flips, merit = line.split()
            flipped = set() if flips == ["-"] else {int(word) for word in flips}
            found.append((tuple(sorted(parent ^ flipped)), float.fromhex(merit)))
    assert found == list(zip(sets_of(archive), archive.merits.tolist(), strict=True))


def test_a_journal_changes_nothing_about_the_search(tmp_path):
    archive, _ = searched(tmp_path / "journal")
    assert_same(archive, search_in(BestFirst(), Quadratic(3, 8), 8))


@pytest.mark.parametrize(
    "search", [Forward(), pytest.param(Backward(), marks=pytest.mark.slow), BestFirst(patience=2)], ids=repr
)
def test_a_search_goes_on_from_any_byte_at_which_it_was_cut_off(tmp_path, search):
    whole, _ = searched(tmp_path / "whole", search, p=5)
    written = (tmp_path / "whole").read_bytes()
    path = tmp_path / "cut"
    for length in range(0, len(written) + 1, 3):
        path.write_bytes(written[:length])
        archive, _ = searched(path, search, p=5)
        assert_same(archive, whole)
        assert path.read_bytes() == written, length


def test_a_search_with_groups_goes_on_from_any_byte(tmp_path):
    search = BestFirst(column_groups=[[0, 3], [1, 2]], fixed=[4])
    whole, _ = searched(tmp_path / "whole", search)
    written = (tmp_path / "whole").read_bytes()
    path = tmp_path / "cut"
    for length in range(0, len(written), 7):
        path.write_bytes(written[:length])
        assert_same(searched(path, search)[0], whole)
        assert path.read_bytes() == written, length


def test_recorded_sets_are_not_evaluated_again(tmp_path):
    whole, first = searched(tmp_path / "journal")
    lines = (tmp_path / "journal").read_bytes().splitlines(keepends=True)
    assert searched(tmp_path / "journal")[1].asked == []
    for kept in (1, 5, 20, len(lines) - 1):
        (tmp_path / "journal").write_bytes(b"".join(lines[:kept]))
        n_known = sum(not line.startswith(b"=") for line in lines[1:kept])
        archive, again = searched(tmp_path / "journal")
        assert again.asked == first.asked[n_known:]
        assert_same(archive, whole)


def test_a_search_that_was_stopped_goes_on_without_the_rule(tmp_path):
    whole, _ = searched(tmp_path / "whole")
    for most in (1, 2, 9, 13, 30):
        path = tmp_path / f"stopped {most}"
        searched(path, stop=Evaluations(most))
        assert_same(searched(path)[0], whole)
        assert path.read_bytes() == (tmp_path / "whole").read_bytes()


def test_control_c_leaves_a_journal_to_go_on_from(tmp_path):
    class Interrupted(Quadratic):
        def evaluate(self, candidates):
            if len(self.asked) > 20:
                raise KeyboardInterrupt
            return super().evaluate(candidates)

    whole, _ = searched(tmp_path / "whole")
    path = tmp_path / "cut"
    archive = search_in(
        BestFirst(), Interrupted(3, 8), 8, journal=lambda archive: Journal(path, FACTS, archive.n_columns)
    )
    assert archive.interrupted
    assert_same(searched(path)[0], whole)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()


def select(path, table, merit=None, search=None, **fit):
    return SubsetSelector(merit or CFS(), search or BestFirst(), journal=path).fit(table.frame(), table.target(), **fit)


@pytest.mark.slow
def test_a_search_of_a_table_goes_on_from_any_byte(tmp_path):
    table = make_mixed(4, n=60, n_numbers=6, n_codes=6)
    whole = select(tmp_path / "whole", table)
    written = (tmp_path / "whole").read_bytes()
    lengths = np.random.default_rng(0).integers(0, len(written), 60)
    for length in lengths.tolist():
        path = tmp_path / "cut"
        path.write_bytes(written[:length])
        again = select(path, table)
        assert_same(again.archive_, whole.archive_)
        np.testing.assert_array_equal(again.support_, whole.support_)
        assert path.read_bytes() == written, length


REFUSED = {
    "data": lambda path, table: select(path, make_mixed(5, n=60)),
    "columns, data": lambda path, table: SubsetSelector(CFS(), BestFirst(), journal=path).fit(
        table.frame().rename(columns={"number 0": "other"}), table.target()
    ),
    "merit": lambda path, table: select(path, table, CFS(convention="weka")),
    "data ": lambda path, table: select(path, table, sample_weight=table.weight),
}


@pytest.mark.parametrize("differs", REFUSED)
def test_the_journal_of_another_search_is_refused_and_left_as_it_was(tmp_path, differs):
    table, path = make_mixed(4, n=60), tmp_path / "journal"
    select(path, table)
    written = path.read_bytes()
    sentence = (
        rf"^{re.escape(str(path))} is the journal of another search, table or merit \(it differs in {differs.strip()}\)\. "
        r"Use another file name, or delete this file\.$"
    )
    with pytest.raises(DataError, match=sentence):
        REFUSED[differs](path, table)
    assert path.read_bytes() == written


@pytest.mark.parametrize("content", [b"name,value\na,1\n", b"\xff\xfe\x00\x01", b"{}\n", b"[1]\n", b"no line", b"\n"])
def test_a_file_that_is_no_journal_is_refused_and_left_as_it_was(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(
        DataError, match=r"notes\.txt is the journal of another search, table or merit.* Use another file name"
    ):
        searched(path)
    assert path.read_bytes() == content


def with_checksums(head, *lines):
    """A journal of lines with correct checksums."""
    written, checksum = [head], zlib.crc32(head.encode())
    for line in lines:
        checksum = zlib.crc32(line.encode(), checksum)
        written.append(f"{line} #{checksum:08x}")
    return "\n".join(written) + "\n"


@pytest.mark.parametrize(
    "line",
    [
        "three 0x1p-1",
        "3 0x1p-1 what",
        "3",
        "= 1 two",
        "= 8",
        "8 0x1p-1",
        "-1 0x1p-1",
        "",
        "3 0,5",
        "3 4 - 0x1p-1",
        "3 nan",
        "3 inf",
        "3 0x1p+9999",
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path, line):
    path = tmp_path / "journal"
    searched(path)
    head, *lines = [line.partition(" #")[0] for line in path.read_text().splitlines()]
    path.write_text(with_checksums(head, *lines[:3], line, *lines[3:]))
    with pytest.raises(
        DataError, match=rf"journal, line 5: {re.escape(repr(line))} is not a line of a journal\. Delete the file"
    ):
        searched(path)


def test_a_merit_before_any_parent_is_named(tmp_path):
    path = tmp_path / "journal"
    searched(path)
    head, *_ = path.read_text().splitlines()
    path.write_text(with_checksums(head, "3 0x1p-1"))
    with pytest.raises(DataError, match="line 2: '3 0x1p-1' is not a line of a journal"):
        searched(path)


def another_merit(lines):
    lines[6] = re.sub("0x[^ ]+", "inf", lines[6])


def another_set(lines):
    lines[6] = "7" + lines[6][1:] if lines[6][0] != "7" else "6" + lines[6][1:]


def two_lines_exchanged(lines):
    lines[6], lines[7] = lines[7], lines[6]


EDITS = {
    "a merit": another_merit,
    "a set": another_set,
    "no checksum": lambda lines: lines.__setitem__(6, lines[6].partition(" #")[0]),
    "half a line": lambda lines: lines.__setitem__(6, lines[6][:5]),
    "two lines exchanged": two_lines_exchanged,
    "a line taken out": lambda lines: lines.pop(6),
    "a line twice": lambda lines: lines.insert(6, lines[5]),
    "an empty line": lambda lines: lines.insert(6, ""),
    "bytes that are no text": lambda lines: lines.__setitem__(6, "\udcff"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_journal_that_was_edited_is_refused_with_the_line_and_goes_on_from_the_line_before(tmp_path, edit):
    path = tmp_path / "journal"
    whole, _ = searched(path)
    written = path.read_bytes()
    lines = path.read_text().splitlines()
    EDITS[edit](lines)
    edited = ("\n".join(lines) + "\n").encode(errors="surrogateescape")
    path.write_bytes(edited)
    sentence = r"journal, line 7: the checksum of .* differs, .* Delete line 7 and all lines after it to continue"
    with pytest.raises(DataError, match=sentence) as caught:
        searched(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == edited
    path.write_text("\n".join(lines[:6]) + "\n")
    assert_same(searched(path)[0], whole)
    assert path.read_bytes() == written


def test_a_journal_of_an_earlier_version_is_refused(tmp_path):
    path = tmp_path / "journal"
    path.write_text(json.dumps({"format": "tamiz journal 1", **FACTS}) + "\n")
    with pytest.raises(DataError, match=r"journal is a 'tamiz journal 1', but .* 'tamiz journal 2'\. Use another"):
        searched(path)


def test_an_empty_file_is_begun(tmp_path):
    (tmp_path / "journal").touch()
    searched(tmp_path / "journal")
    searched(tmp_path / "other")
    assert (tmp_path / "journal").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_journal_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"^The journal .*nowhere.*cannot be written: No such file or directory\. Name"
    ):
        searched(tmp_path / "nowhere" / "journal")
    with pytest.raises(IsADirectoryError, match=r"cannot be written: Is a directory\. Name another file\.$"):
        searched(tmp_path)


def test_searches_of_one_table_and_merit_share_a_journal(tmp_path):
    path = tmp_path / "journal"
    first, _ = searched(path, Forward())
    alone = search_in(BestFirst(), Quadratic(3, 8), 8)
    second, evaluator = searched(path, BestFirst())
    assert_same(second, alone)
    assert set(evaluator.asked) == set(sets_of(alone)) - set(sets_of(first))
    assert searched(path, Backward())[1].asked
    for search in (Forward(), BestFirst(), Backward()):
        assert searched(path, search)[1].asked == []


@pytest.mark.parametrize("path", ["", 5])
def test_an_invalid_path_is_no_journal(path):
    with pytest.raises(TypeError, match=f"^journal must be a file name, got {path!r}"):
        searched(path)
