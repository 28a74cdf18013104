"""Every command line of the catalogue ends with its status and one sentence that names the culprit, and leaves no file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from .commands import COMMANDS, FILES


@pytest.mark.parametrize(("line", "status", "sentence"), COMMANDS, ids=[line for line, *_ in COMMANDS])
def test_a_command_ends_in_one_sentence(
    folder: Path, tamiz: Callable[..., Result], line: str, status: int, sentence: str
) -> None:
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    done = tamiz(*shlex.split(line))
    assert (done.exit_code, done.stdout) == (status, ""), done.output
    (said,) = (one for one in done.stderr.splitlines() if one.startswith("tamiz: "))
    assert re.search(sentence, said), said
    assert "Traceback" not in done.stderr
    assert {path.name for path in folder.iterdir()} == set(FILES)
    assert {name: (folder / name).read_text(encoding="utf-8") for name in FILES} == FILES
