"""What was found, for terminals, machines and browsers."""
