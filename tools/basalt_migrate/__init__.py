"""basalt-migrate: takes tables over into the engine ROCKSDB, and proves that nothing was lost.

Self-contained: Python's own library and PyMySQL. Packaged as the program basalt-migrate, in a
checkout `./basalt migrate`.
"""
