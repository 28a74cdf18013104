import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tamiz.cli import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_a_table_from_standard_input_is_read_whole(folder: Path, iris: Path, temporary: Path) -> None:
    whole = CliRunner().invoke(main, ["rank", str(iris), "-t", "species"])
    piped = CliRunner().invoke(main, ["rank", "-", "-t", "species"], input=iris.read_bytes())
    assert (piped.exit_code, piped.stdout) == (0, whole.stdout)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("kind", ["csv", "parquet", "arff"])
def test_a_named_pipe_is_read_as_the_format_that_it_begins_as(
    tamiz: Callable[..., Result], folder: Path, temporary: Path, kind: str
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    if kind == "parquet":
        parquet.write_table(pa.table({"a": [1.5, 2.0, 3.0, 4.0], "b": list("xyxy")}), folder / "whole")
    else:
        rows = "".join(f"{a},{b}\n" for a, b in zip([1.5, 2.0, 3.0, 4.0], "xyxy", strict=True))
        head = "a,b\n" if kind == "csv" else "% made\n@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n"
        (folder / "whole").write_text(head + rows)
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=lambda: (folder / "pipe").write_bytes((folder / "whole").read_bytes()))
    writer.start()
    done = tamiz("rank", "pipe", "-t", "b", "--relevance", "fisher")
    writer.join()
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("column\tscore\na\t")
    assert list(temporary.iterdir()) == []


def test_a_report_of_standard_input_is_named_so(folder: Path, iris: Path) -> None:
    arguments = ["study", "-", "-t", "species", "--no-assess", "--reduce", "pca", "-r", "variance"]
    done = CliRunner().invoke(main, arguments, input=iris.read_bytes())
    assert done.stdout == "stdin-report.html\n", done.stderr


def test_links_in_a_circle_are_no_file(tamiz: Callable[..., Result], folder: Path) -> None:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    for command in (("rank", "a"), ("study", "a", "-o", "b")):
        done = tamiz(*command)
        assert done.exit_code == 1
        assert done.stderr.startswith("tamiz: ")
        assert len(done.stderr.splitlines()) == 1


def test_a_command_that_is_terminated_leaves_no_copy(folder: Path, temporary: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", "from tamiz.cli import main; main()", "rank", "-"]
    begun = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, cwd=folder)
    assert begun.stdin is not None
    begun.stdin.write(b"a,b\n" * 5000)
    begun.stdin.flush()
    for _ in range(200):
        if list(temporary.iterdir()):
            break
        time.sleep(0.05)
    assert list(temporary.iterdir())
    begun.send_signal(signal.SIGTERM)
    assert begun.wait(20) == 143
    begun.stdin.close()
    assert list(temporary.iterdir()) == []
