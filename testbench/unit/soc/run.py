#!/usr/bin/env python3
"""Runs the driver of an attention unit on the processor of a SoC that LiteX builds, in Verilator.

    run.py --flashd FLASHD --manifest NAME.json --head PREFIX --work DIR [--tokens N]

Takes riscv64-unknown-elf-gcc.
"""

import json
import subprocess
import sys
from pathlib import Path

import litex.soc

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from head import header, parser  # noqa: E402
from soc import BAUD, CLOCK, SoC  # noqa: E402

LITEX = Path(litex.soc.__file__).resolve().parent
CROSS = "riscv64-unknown-elf-"


def firmware(soc, unit, work):
    """Compiles the firmware and the driver. Returns the contents of ROM."""
    processor = LITEX / "cores" / "cpu" / "vexriscv"
    soc.headers(work / "generated")
    flags = "-std=gnu99 -O2 -Wall -Wextra -ffreestanding -fno-builtin -nostdlib -nostartfiles".split()
    # Newer compilers count CSR instructions to the extension zicsr.
    flags += ["-march=rv32im_zicsr", "-mabi=ilp32", "-D__vexriscv__", f'-DFLASHD_UNIT_REGS="{unit.stem}_regs.h"']
    flags += [f"-I{folder}" for folder in (work, unit.parent, processor, LITEX / "software" / "include")]
    sources = [processor / "crt0.S", HERE / "firmware.c", unit.parent / "flashd_unit.c"]
    linking = [f"-L{work}", "-T", HERE / "firmware.ld", "-lgcc", "-o", "firmware.elf"]
    subprocess.run([f"{CROSS}gcc", *flags, *sources, *linking], check=True, cwd=work)
    subprocess.run([f"{CROSS}objcopy", "-O", "binary", "firmware.elf", "firmware.bin"], check=True, cwd=work)
    return (work / "firmware.bin").read_bytes()


def main():
    options = parser(__doc__.split("\n\n")[0]).parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    unit, work = options.manifest.resolve(), options.work.resolve()
    header(options, json.loads(unit.read_text()))
    soc = SoC(unit.with_name(f"{unit.stem}_litex.py"))
    sources = soc.verilog(work, firmware(soc, unit, work))
    verilate = "--cc --exe --build -O3 -Wno-fatal --top-module soc -MAKEFLAGS OPT_FAST=-O1 -MAKEFLAGS VM_PARALLEL_BUILDS=0"
    flags = ["-CFLAGS", f"-std=c++17 -DCLOCK={CLOCK} -DBAUD={BAUD}"]
    subprocess.run(["verilator", *verilate.split(), *flags, "--Mdir", "obj", *sources, HERE / "main.cpp"], check=True, cwd=work)
    subprocess.run(["obj/Vsoc"], check=True, cwd=work)


if __name__ == "__main__":
    main()
