"""The rules of the checker: data in TOML files, and code for what data cannot say (docs/check-rules.md)."""
