#!/usr/bin/env bash
# Compares the simulation for the power figures with Icarus Verilog, on one mapped core and one stream.
#
#   scripts/ppa-crosscheck.sh CONFIG.json LIBRARY.lib [MHZ [CYCLES]]
#
# Maps the core for the clock (100 MHz by default) and runs one stream of it. Without delays every cell output must
# toggle as often in both (50 cycles by default), or the script fails. With delays (Icarus: computed by OpenSTA from the
# library; here: our own from the same tables; no wires, a clock slow enough for every path), every output must
# end at the same value in both, and toggles and power with glitches must be within 5 % of each other, or the script
# fails. Both swallow a pulse only if it is over before the cell's delay is, and count every toggle in full.
# d = 16 takes some minutes.
# Needs yosys, opensta, iverilog. DATA=FOLDER takes other heads than the sample, WORK=FOLDER keeps the files,
# CARGO_PROFILE=NAME builds the helper otherwise than for release.
set -euo pipefail
if [ $# -lt 2 ] || [ $# -gt 4 ] || [ ! -f "$1" ] || [ ! -f "$2" ]; then
    sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
config=$(realpath "$1") library=$(realpath "$2") mhz=${3:-100} cycles=${4:-50}
[ -z "${DATA:-}" ] || DATA=$(realpath "$DATA")
[ -z "${WORK:-}" ] || { mkdir -p "$WORK" && WORK=$(realpath "$WORK"); }
cd "$(dirname "$0")/.."
if [ -n "${WORK:-}" ]; then
    work=$WORK
else
    work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
fi
for tool in yosys:yosys iverilog:iverilog sta:opensta; do
    command -v "${tool%:*}" > /dev/null || { echo "${tool%:*} is missing (Debian package ${tool#*:})" >&2; exit 1; }
done
helper() {
    cargo run -q --profile "${CARGO_PROFILE:-release}" -p flashd-ppa --example crosscheck -- \
        "$1" "$config" "$library" "$mhz" "$cycles" "${DATA:-testbench/data}" "$work"
}
helper bench
top=$(sed -n 's/^ *\([a-z0-9_]*\) core (.*/\1/p' "$work/bench.v")

# Cell models from the library's functions, with a path from each input (of flip-flops: the clock) to each output.
yosys -q -p "read_liberty -ignore_miss_func -ignore_miss_dir -ignore_miss_data_latch $library
    write_verilog -noattr $work/cells.raw.v"
awk '
    /^module /    { split("", from); split("", to); inputs = outputs = edge = 0 }
    /^  input /   { name = $2; sub(";", "", name); from[++inputs] = name }
    /^  output /  { name = $2; sub(";", "", name); to[++outputs] = name }
    /always @\(posedge/ { edge = $0; sub(/.*posedge /, "", edge); sub(/[ ,)].*/, "", edge) }
    /^endmodule/ && inputs && outputs {
        print "  specify"
        for (o = 1; o <= outputs; o++) for (i = 1; i <= inputs; i++)
            if (!edge || from[i] == edge) print "    (" from[i] " => " to[o] ") = (0, 0);"
        print "  endspecify"
    }
    { print }
    BEGIN { print "`timescale 1ns/1ps" }
' "$work/cells.raw.v" > "$work/cells.v"

simulate() { # NAME INPUT_DELAY OPTIONS...
    iverilog -g2005 -o "$work/$1.vvp" -DROWS="\"$work/rows.hex\"" -DVCD="\"$work/$1.vcd\"" -DINPUT_DELAY="$2" \
        "${@:3}" -s bench "$work/bench.v" "$work/core.v" "$work/cells.v"
    vvp -n "$work/$1.vvp" > "$work/$1.log"
}
simulate zero 0

cat > "$work/sdf.tcl" << EOF
read_liberty $library
read_verilog $work/core.v
link_design $top
create_clock -name clk -period 1000 [get_ports clk]
write_sdf -digits 6 -no_timestamp $work/core.sdf
EOF
sta -no_splash -exit "$work/sdf.tcl" > "$work/sta.log" 2>&1
! grep -q '^Error' "$work/sta.log" && [ -s "$work/core.sdf" ] || { cat "$work/sta.log" >&2; exit 1; }
# Icarus takes numbers as ns whatever the file says.
if grep -q 'TIMESCALE 1ps' "$work/core.sdf"; then
    sed -E 's/TIMESCALE 1ps/TIMESCALE 1ns/; s/\((-?[0-9.]+)::(-?[0-9.]+)\)/(\1e-3::\2e-3)/g' "$work/core.sdf" |
        awk '{ while (match($0, /-?[0-9.]+e-3/)) $0 = substr($0, 1, RSTART - 1) sprintf("%.6f",
               substr($0, RSTART, RLENGTH) + 0) substr($0, RSTART + RLENGTH); print }' > "$work/ns.sdf"
else
    cp "$work/core.sdf" "$work/ns.sdf"
fi
simulate timed "$(cat "$work/input_delay")" -gspecify -Tmax -DSDF="\"$work/ns.sdf\""
helper compare
