"""The Debian package, in a Debian root of its own."""
