"""The program ./basalt: its commands and the steps of the tests, above all other packages."""
