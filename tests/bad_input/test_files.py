"""Every file of the catalogue: what is read, what is noted, and the sentence about what cannot be read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tamiz import open_table

from .files import NOTED, READ, REFUSED

KINDS = {"n": "numeric", "c": "categorical", "i": "id", "d": "date"}


def write(folder: Path, name: str, content: bytes | str) -> str:
    path = folder / name.partition("::")[0]
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return name


@pytest.mark.parametrize("case", READ)
def test_a_file_is_read(folder: Path, case: str) -> None:
    name, content, kinds = READ[case]
    schema = open_table(write(folder, name, content)).schema
    found = "".join(
        "-"
        if column.exclusion_reason == "no value is present"
        else next(k for k, v in KINDS.items() if v == column.kind)
        for column in schema.columns
    )
    assert (found, schema.n_rows, schema.notes) == (kinds, 24, ())


@pytest.mark.parametrize("case", NOTED)
def test_a_file_is_read_with_a_note(folder: Path, case: str) -> None:
    name, content, sentence = NOTED[case]
    schema = open_table(write(folder, name, content)).schema
    assert any(re.search(sentence, note) for note in schema.notes), schema.notes
    assert schema.n_rows >= 24


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_is_refused_in_one_sentence(folder: Path, tamiz: Callable[..., Result], case: str) -> None:
    name, content, sentence = REFUSED[case]
    done = tamiz("rank", write(folder, name, content), "--target", "y")
    assert done.exit_code == 1, done.output
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("tamiz: ")
    assert line.endswith(".")
    assert re.search(sentence, line), line
    assert [path.name for path in folder.iterdir()] == [name.partition("::")[0]]


def test_a_command_prints_the_notes(folder: Path, tamiz: Callable[..., Result]) -> None:
    name, content, sentence = NOTED["a row of totals"]
    done = tamiz("rank", write(folder, name, content), "--target", "y")
    assert done.exit_code == 0, done.output
    assert re.search(sentence, done.stderr)
