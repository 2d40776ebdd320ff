"""The command line, as `flashd` or `python -m flashd`."""

import signal
import sys

from ._flashd import main as run


def main():
    """Runs the process's arguments and ends with the program's exit code."""
    # The program handles Ctrl-C and termination itself; Python's handler would wait for it to return.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run(["flashd", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
