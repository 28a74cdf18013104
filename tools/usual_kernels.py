"""Write src/tamiz/kernels/usual.txt: the kernels that a study calls with its defaults, by what is predicted.

Run it after `python -m tamiz.kernels`: of a kernel that is read from disk only the one that is called shows, and not those that it
calls itself.
"""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import tamiz

HEAD = """\
# The kernels that a study calls with its defaults, compiled before it where they are not on disk, and for which targets.
# Written by tools/usual_kernels.py.
"""
STUDIED = """
import json, sys, warnings
from sklearn.datasets import load_diabetes
from tamiz import compilation, study
from tamiz.kernels import kernels_in

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
    for key, kernel in kernels_in(module).items() if kernel.is_read
]
print(json.dumps(called))
"""


def called_by_a_study(target: str) -> list[str]:
    """Return the kernels that the study of a small table calls."""
    table = files("tamiz.datasets") / "penguins.csv"
    done = subprocess.run(
        [sys.executable, "-c", STUDIED, str(table), target], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    path = Path(tamiz.__file__).parent / "kernels" / "usual.txt"
    # A study reads the list: an old one may name what is gone.
    path.write_text(HEAD, encoding="utf-8")
    targets = ("classes", "number", "none")
    called = {target: set(called_by_a_study(target)) for target in targets}
    lines = [
        " ".join([name, *(target for target in targets if name in called[target])])
        for name in sorted(set().union(*called.values()))
    ]
    path.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
