"""Compares encodings of operands and their scales with PyPI's gfloat and ml_dtypes.

Reads lines of standard input, as crates/workload/tests/all/references.rs writes them:

    value FORMAT BITS HEXFLOAT                        what an encoding stands for
    block FORMAT SCALE RULE SCALEBITS X,.. BITS,..    numbers of a block, its scale and its elements

Every element is rounded by gfloat from x over the scale, and by ml_dtypes too where that is a float32, whose casts round once. Scales of the
rule floor are those of gfloat; the others are found here from integers. Prints how much was compared, or the first difference.
"""

import sys
from fractions import Fraction

import gfloat
import ml_dtypes
import numpy as np
from gfloat import formats

INFO = {
    "fp8-e4m3": formats.format_info_ocp_e4m3,
    "fp8-e5m2": formats.format_info_ocp_e5m2,
    "fp6-e3m2": formats.format_info_ocp_e3m2,
    "fp6-e2m3": formats.format_info_ocp_e2m3,
    "fp4-e2m1": formats.format_info_ocp_e2m1,
    "int8": formats.format_info_ocp_int8,
    "e8m0": formats.format_info_ocp_e8m0,
    "bf16": formats.format_info_bfloat16,
}
DTYPE = {
    "fp8-e4m3": ml_dtypes.float8_e4m3fn,
    "fp8-e5m2": ml_dtypes.float8_e5m2,
    "fp6-e3m2": ml_dtypes.float6_e3m2fn,
    "fp6-e2m3": ml_dtypes.float6_e2m3fn,
    "fp4-e2m1": ml_dtypes.float4_e2m1fn,
    "e8m0": ml_dtypes.float8_e8m0fnu,
    "bf16": ml_dtypes.bfloat16,
}
FRACTION = {"fp8-e4m3": 3, "fp8-e5m2": 2, "fp6-e3m2": 2, "fp6-e2m3": 3, "fp4-e2m1": 1, "int8": 6}


def value_of(name, bits):
    """The value of an encoding by both libraries."""
    value = gfloat.decode_float(INFO[name], bits).fval
    if name in DTYPE:
        word = np.array([bits], np.uint16 if name == "bf16" else np.uint8)
        other = float(word.view(DTYPE[name])[0])
        assert value == other or (np.isnan(value) and np.isnan(other)), f"gfloat and ml_dtypes differ: {name} {bits:#x}"
    return value


def rounded(name, x):
    """The encoding next to a number, saturating."""
    info = INFO[name]
    bits = gfloat.encode_float(info, gfloat.round_float(info, x, gfloat.RoundMode.TiesToEven, True))
    # OCP leaves it open whether -2 is used; the cores do not.
    bits = 0x81 if name == "int8" and bits == 0x80 else bits
    if name in DTYPE and float(np.float32(x)) == x and abs(x) <= info.max:
        other = np.array([x], np.float32).astype(DTYPE[name]).view(np.uint8)[0]
        assert bits == other, f"gfloat and ml_dtypes differ: {name} {x.hex()}"
    return bits


def floor_log2(x):
    x = Fraction(x)
    power = x.numerator.bit_length() - x.denominator.bit_length()
    return power if Fraction(2) ** power <= x else power - 1


def exponent(name, rule, m):
    """Of an E8M0 scale of a block whose largest magnitude is m, from integers."""
    # gfloat's largest int8 is -128.
    most = Fraction(127, 64) if name == "int8" else Fraction(INFO[name].max)
    m, emax = Fraction(m), floor_log2(most)
    floor = floor_log2(m)
    if rule == "floor":
        power = floor - emax
    elif rule == "ceil":
        power = floor + (m != Fraction(2) ** floor) - emax
    elif rule == "rceil":
        power = floor_log2(m / most)
        power += m / most != Fraction(2) ** power
    else:
        # To the fraction of the elements, half up.
        places = Fraction(2) ** (FRACTION[name] - floor)
        steps = (m * places + Fraction(1, 2)).__floor__()
        power = floor_log2(Fraction(steps) / places) - emax
    return min(max(power, -127), 127)


def scale_of(name, scale, rule, xs):
    """The encoding of a block's scale."""
    m = max(abs(x) for x in xs)
    if scale == "nvfp4":
        if m == 0:
            return 0x38
        return max(rounded("fp8-e4m3", m / 6), 1)
    if m == 0:
        return 0
    power = exponent(name, rule, m)
    if rule == "floor":
        info = INFO[name]
        theirs = gfloat.compute_scale_amax(info.emax, np.array(xs))
        assert theirs == 2.0**power, f"gfloat's scale {theirs}, {2.0**power} here"
    bits = gfloat.encode_float(INFO["e8m0"], 2.0**power)
    assert bits == power + 127
    return bits


counts = {"value": 0, "block": 0, "element": 0}
for line in sys.stdin:
    kind, *words = line.split()
    counts[kind] += 1
    if kind == "value":
        name, bits, text = words
        mine, theirs = float.fromhex(text) if text != "nan" else float("nan"), value_of(name, int(bits))
        # A core computes with +0 for Inf and NaN.
        special = not np.isfinite(theirs)
        assert np.isnan(mine) if special else mine == theirs, f"{line.strip()}: {theirs}"
        continue
    name, scale, rule, scale_bits, xs, elements = words
    xs = [float.fromhex(x) for x in xs.split(",")]
    elements = [int(bits) for bits in elements.split(",")]
    scale_bits = int(scale_bits)
    expected = scale_of(name, scale, rule, xs)
    assert scale_bits == expected, f"{line.strip()}: scale {expected}"
    by = value_of("fp8-e4m3" if scale == "nvfp4" else "e8m0", scale_bits)
    for x, bits in zip(xs, elements, strict=True):
        theirs = rounded(name, x / by)
        # A zero of two's complement has no sign.
        assert bits == theirs, f"{name} {scale} {rule}: {x.hex()} over {by}: {bits:#x}, not {theirs:#x}"
        counts["element"] += 1
assert all(counts.values()), counts
print(" ".join(f"{count} {kind}s" for kind, count in counts.items()))
