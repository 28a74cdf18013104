"""`python -m tamiz.kernels` compiles every kernel, so that nothing later waits for it."""

from importlib import import_module
from pkgutil import iter_modules

from tamiz import kernels

for module in iter_modules(kernels.__path__):
    if not module.name.startswith("_"):
        import_module(f"{kernels.__name__}.{module.name}")
