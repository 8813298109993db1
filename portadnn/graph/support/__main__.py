"""Print the support table."""

import sys

from .table import table

sys.stdout.write(table())
