"""Parses and elaborates a design with slang as Verilog-2005, all warnings on: slang.py TOP FILE ...

Fails if slang says anything.
"""

import sys

from pyslang.driver import Driver


def main(top, *files):
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
    return 0 if done and engine.numErrors + engine.numWarnings == 0 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
