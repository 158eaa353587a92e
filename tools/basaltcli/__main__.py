"""Entry point of `python3 -m basaltcli`."""

from basaltcli.cli import main

main()
