"""What ./basalt is made of: provisioning, building, private servers, the demo."""
