"""``portadnn selftest``: whether a device computes right, and how fast, as one JSON file to send (docs/selftest.md)."""
