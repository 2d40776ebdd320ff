#!/usr/bin/env bash
# Synthesises one generated core to generic gates with Yosys and prints its statistics, module by module.
#
#   scripts/synth-yosys.sh CORE.v [TOP] [NETLIST.v]
#
# TOP is the file's stem by default. The hierarchy is kept; cells are $_AND_, $_XOR_, $_DFF_P_ and the like,
# so the counts compare cores, not areas. It takes seconds, for d = 256 too. For cells of a
# library, add `dfflibmap -liberty LIB; abc -liberty LIB; stat -liberty LIB` after synth.
set -euo pipefail
if [ $# -lt 1 ] || [ $# -gt 3 ] || [ ! -f "$1" ]; then
    sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
file=$1
top=${2:-$(basename "$file" .v)}
write=
[ $# -lt 3 ] || write="write_verilog -noattr $3"
yosys -q -p "
    read_verilog -noautowire $file
    hierarchy -check -top $top
    synth -top $top
    check -assert
    tee -a /dev/stdout stat -top $top
    $write"
