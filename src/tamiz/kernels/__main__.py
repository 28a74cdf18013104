"""`python -m tamiz.kernels` compiles every kernel on all cores, for example while a container image is built."""

import sys

from tamiz.kernels._compilation import all_kernels, compile_ahead, compile_from_stdin

if __name__ == "__main__":
    if sys.argv[1:] == ["-"]:
        compile_from_stdin()
    else:
        compile_ahead(all_kernels())
