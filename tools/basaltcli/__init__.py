"""The developer tool behind ./basalt: provisioning, building, private servers, tests."""
