"""`python -m tamiz.kernels` compiles every kernel, a file on each core at a time, so that nothing later waits for it."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tamiz import kernels

if __name__ == "__main__":
    files = [path for path in Path(kernels.__file__).parent.glob("*.py") if not path.stem.startswith("_")]
    # The longest first: no core then waits long for another at the end.
    names = [path.stem for path in sorted(files, key=lambda path: -path.stat().st_size)]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        list(pool.map(kernels.compile_file, names))
