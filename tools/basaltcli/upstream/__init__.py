"""The server's own test suites, run on our engine.

The server's suites name engines: in CREATE TABLE, in combinations, in expected results. They are
copied with our engine's name in the place of theirs (rewrite), run by the server's driver in a view
of their own (runner), observed whether they made tables in our engine (observer), and judged by the
checked-in lists of tests/upstream (results). docs/upstream-tests.md is the page about it.
"""
