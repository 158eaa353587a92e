// Intentionally empty: link checks link a library whole and need a source of their own.
