"""`python -m tamiz.kernels` compiles every kernel on all cores, for instance while a container is built."""

import sys

from tamiz.compilation import all_kernels, compile_ahead, serve

if __name__ == "__main__":
    if sys.argv[1:] == ["-"]:
        serve()
    else:
        compile_ahead(all_kernels())
