"""The laboratory's instrument: measures any engine in a server of its own, as a black box."""
