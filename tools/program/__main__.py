"""Entry point of `python3 -m program`."""

from program.cli import main

main()
