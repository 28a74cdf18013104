"""Writing files: names, replacement, and what remains after errors."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tamiz import load, save
from tamiz.storage.atomic_write import atomic_path

SAVE_FOR_LONG = """
import sys, time
import numpy as np
from tamiz import save
from tamiz.storage import records

write = records.npy.write_array
def slowly(*arguments, **options):
    write(*arguments, **options)
    time.sleep(60)
records.npy.write_array = slowly
save(list(np.random.default_rng(0).random((2, 10**6))), sys.argv[1])
"""


def test_the_name_is_taken_as_it_is_given_as_text_or_as_a_path(tmp_path):
    assert save(1, str(tmp_path / "name")) == tmp_path / "name"
    assert save(2, tmp_path / "a.b.c") == tmp_path / "a.b.c"
    assert load(str(tmp_path / "name")) == 1
    assert load(tmp_path / "a.b.c") == 2


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path):
    (tmp_path / "x").write_text("old")
    (tmp_path / "plain").write_text("")
    path = save([1, 2], tmp_path / "x")
    assert load(path) == [1, 2]
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert sorted(tmp_path.iterdir()) == [tmp_path / "plain", path]


def test_a_name_as_long_as_names_may_be_can_be_written(tmp_path):
    assert load(save(1, tmp_path / ("x" * 255))) == 1


@pytest.mark.slow
def test_the_old_file_stays_when_something_cannot_be_stored(tmp_path):
    path = save("old", tmp_path / "x")
    with pytest.raises(TypeError, match=r"^list\[1\] is of the type set"):
        save([np.arange(1e5), {1}], path)
    assert load(path) == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_stays_when_the_disk_is_full(tmp_path):
    resource = pytest.importorskip("resource")
    path = save("old", tmp_path / "x")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(OSError, match=r"x cannot be written: File too large\.$"):
            save([np.random.default_rng(0).random(100_000)], path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert load(path) == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_stays_when_the_write_is_interrupted(tmp_path, monkeypatch):
    path = save("old", tmp_path / "x")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save("new", path)
    assert load(path) == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_the_old_file_stays_when_the_process_is_killed(tmp_path):
    path = save("old", tmp_path / "x")
    process = subprocess.Popen([sys.executable, "-c", SAVE_FOR_LONG, str(path)])
    while process.poll() is None and not any(part.stat().st_size > 7e6 for part in tmp_path.glob("*.part")):
        time.sleep(0.01)
    process.kill()
    assert process.wait() < 0
    assert load(path) == "old"


def test_an_error_inside_the_context_leaves_no_file(tmp_path):
    with pytest.raises(UnicodeEncodeError), atomic_path(tmp_path / "x") as beside:
        beside.write_text("half a pair: \ud800")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", [lambda path: save(1, path), load], ids=["save", "load"])
def test_an_invalid_path_is_refused(call):
    with pytest.raises(TypeError, match=r"^path must be a str or a Path, got 3\.$"):
        call(3)


def test_places_that_cannot_be_written_to_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^There is no folder .*absent; create it, or write x elsewhere\.$"):
        save(1, tmp_path / "absent" / "x")
    with pytest.raises(IsADirectoryError, match=r"is a folder; name a file in it\.$"):
        save(1, tmp_path)


def test_places_that_cannot_be_read_from_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent cannot be read: No such file or directory\.$"):
        load(tmp_path / "absent")
    with pytest.raises(IsADirectoryError, match=r"cannot be read: Is a directory\.$"):
        load(tmp_path)
