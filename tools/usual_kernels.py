"""Write src/tamiz/kernels/usual.txt: the kernels that a study with default parameters calls, by the kind of the target.

Run `python -m tamiz.kernels` first: a kernel that is loaded from the cache does not load the kernels that it calls, so the list has
only those that Python code calls.
"""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import tamiz

HEAD = """\
# The kernels that a study with default parameters calls, each with its kinds of targets. They are compiled before the study.
# Written by tools/usual_kernels.py.
"""
PROGRAM = """
import json, sys, warnings
from sklearn.datasets import load_diabetes
from tamiz import study
from tamiz.kernels import find_kernels

warnings.simplefilter("ignore")
table, target = sys.argv[1:]
if target == "number":
    data = load_diabetes(as_frame=True)
    study(data.data, data.target)
else:
    study(table, "species" if target == "classes" else None)
called = [
    f"{name.rpartition('.')[2]}.{key}"
    for name, module in sorted(sys.modules.items()) if name.startswith("tamiz.kernels.")
    for key, kernel in find_kernels(module).items() if kernel.is_loaded
]
print(json.dumps(called))
"""


def kernels_of_study(target: str) -> list[str]:
    """Return the kernels that a study of a small table calls."""
    table = files("tamiz.datasets") / "penguins.csv"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(table), target], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    path = Path(tamiz.__file__).parent / "kernels" / "usual.txt"
    # The study reads the list, and an old list may name kernels that no longer exist.
    path.write_text(HEAD, encoding="utf-8")
    targets = ("classes", "number", "none")
    called = {target: set(kernels_of_study(target)) for target in targets}
    lines = [
        " ".join([name, *(target for target in targets if name in called[target])])
        for name in sorted(set().union(*called.values()))
    ]
    path.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
