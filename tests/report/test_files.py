from __future__ import annotations

from pathlib import Path

import pytest

from tamiz.storage.atomic_write import write_text_atomically


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    assert write_text_atomically(path, "neu: ü") == path
    assert path.read_text(encoding="utf-8") == "neu: ü"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_has_the_rights_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    path = write_text_atomically(tmp_path / "report.html", "")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"There is no folder .*absent; create it, or write report\.html elsewhere\.$"
    ):
        write_text_atomically(tmp_path / "absent" / "report.html", "")


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=r"is a folder; name a file in it\.$"):
        write_text_atomically(tmp_path, "")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder in which nobody can write, such as /proc")
def test_a_folder_that_cannot_be_written_in_is_named() -> None:
    with pytest.raises(OSError, match=r"^/proc/report.html cannot be written: .+\.$"):
        write_text_atomically("/proc/report.html", "")


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_text_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_half_a_surrogate_pair_does_not_stop_a_write(tmp_path: Path) -> None:
    assert write_text_atomically(tmp_path / "a", "x\ud800y").read_text() == "x?y"
