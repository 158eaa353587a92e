"""./basalt demo: the engine at work on the machine's own Debian package index, beside InnoDB.

command   the command line
run       the steps in their order
packages  reading the package index from apt
tables    the schema and the multi-row inserts, the same for both engines
engines   the two engines under comparison, and sessions on them
queries   what is asked and changed
compare   running everything on both engines, timing, comparing
disk      space, after both engines have settled
crash     SIGKILL under writers, and what must be true afterwards
report    the table at the end
"""
