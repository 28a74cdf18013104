"""`python -m tamiz` is the `tamiz` command."""

from tamiz.cli import main

main()
