"""Helpers of the package's tests.

FLASHD_CALLS: random calls that are compared with `flashd simulate` (default: 100; a release check takes 1000). FLASHD_SEED: their seed.
"""

import os
import subprocess
import sys

CALLS = int(os.environ.get("FLASHD_CALLS", "100"))
SEED = int(os.environ.get("FLASHD_SEED", "20261123"))


def program(*words, **options):
    """The command line of the wheel."""
    return subprocess.run([sys.executable, "-m", "flashd", *map(str, words)], capture_output=True, text=True, **options)
