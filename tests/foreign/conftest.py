"""What is here are programs, which need PyTorch, checkouts or a GPU: no tests of portadnn's own suite."""

collect_ignore_glob = ["*.py"]
