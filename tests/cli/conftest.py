from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sklearn.datasets import load_iris

from tamiz.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that commands run in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TAMIZ_DEBUG", raising=False)
    return tmp_path


@pytest.fixture
def tamiz(folder: Path) -> Callable[..., Result]:
    """Run a command line in the folder; a study searches once, and prints all notes, where a test does not ask for more."""

    def run(*arguments: object) -> Result:
        if arguments[:1] == ("study",) and not {"--assess", "--no-assess", "-h"} & set(arguments):
            arguments = (*arguments, "--no-assess")
        if arguments[:1] in (("study",), ("demo",)) and not {"--brief", "-h"} & set(arguments):
            arguments = (*arguments, "--verbose")
        arguments = tuple(argument for argument in arguments if argument != "--brief")
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return run


@pytest.fixture(scope="session")
def iris(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """150 flowers: four numbers and the class."""
    data = load_iris(as_frame=True)
    table = data.data.rename(columns=lambda name: name.removesuffix(" (cm)").replace(" ", "_"))
    path = tmp_path_factory.mktemp("tables") / "iris.csv"
    table.assign(species=data.target_names[data.target]).to_csv(path, index=False)
    return path


@pytest.fixture
def write(folder: Path) -> Callable[..., Path]:
    """Write a small file."""

    def write_file(text: str | bytes, name: str = "data.csv") -> Path:
        path = folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write_file
