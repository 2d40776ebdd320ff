"""Parses and elaborates designs with slang as Verilog-2005, all warnings on: slang.py FOLDER < DESIGNS

A line for each design: the name of its top module and its files, with tabs between. What slang says of a design goes to the file of that
name in the folder, which is empty if it says nothing. All in one process: importing slang takes ten times as long as a design.
"""

import os
import sys

from pyslang.driver import Driver


def clean(top, *files):
    driver = Driver()
    driver.addStandardArgs()
    arguments = ["slang", "--std", "1364-2005", "-Weverything", "--top", top, *files]
    done = (
        driver.parseCommandLine(" ".join(f'"{argument}"' for argument in arguments))
        and driver.processOptions()
        and driver.parseAllSources()
        and driver.runFullCompilation(True)
    )
    engine = driver.diagEngine
    return done and engine.numErrors + engine.numWarnings == 0


def main(folder):
    for line in sys.stdin:
        top, *files = line.rstrip("\n").split("\t")
        # Descriptors, not Python's streams: slang writes to them directly.
        with open(os.path.join(folder, top), "w+b", 0) as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            if not clean(top, *files) and not said.tell():
                said.write(b"slang fails without a word\n")


if __name__ == "__main__":
    main(sys.argv[1])
