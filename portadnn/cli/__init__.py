"""The ``portadnn`` command, one file for each subcommand."""
