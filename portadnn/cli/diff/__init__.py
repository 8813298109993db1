"""``portadnn diff``, one file for each subcommand."""
