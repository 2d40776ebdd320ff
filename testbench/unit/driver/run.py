#!/usr/bin/env python3
"""Runs the driver of an attention unit against the verilated unit.

    run.py --flashd FLASHD --manifest NAME.json --head PREFIX --work DIR [--tokens N]
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from head import header, parser  # noqa: E402


def main():
    options = parser(__doc__.split("\n\n")[0]).parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    unit = options.manifest.resolve()
    manifest = json.loads(unit.read_text())
    header(options, manifest)
    work, registers = options.work.resolve(), f"FLASHD_UNIT_REGS='\"{unit.stem}_regs.h\"'"

    def run(command):
        subprocess.run(command, check=True, cwd=work, shell=isinstance(command, str))

    run(f"cc -std=c99 -Wall -Wextra -Wpedantic -Werror -O1 -D{registers} -c {unit.parent}/flashd_unit.c -o flashd_unit.o")
    verilate = "--cc --exe --build -O3 --x-initial unique --x-assign unique -Wno-fatal --prefix Vunit "
    verilate += "-MAKEFLAGS OPT_FAST=-O0 -MAKEFLAGS VM_PARALLEL_BUILDS=0"
    flags = f"-std=c++17 -Wall -Wextra -I{unit.parent} -I{work} -D{registers}"
    run(
        ["verilator", *verilate.split(), "-CFLAGS", flags, "--top-module", unit.stem, "--Mdir", "obj"]
        + [unit.with_suffix(".v"), HERE / "main.cpp", work / "flashd_unit.o"]
    )
    run(["obj/Vunit", "+verilator+seed+1", "+verilator+rand+reset+2"])


if __name__ == "__main__":
    main()
