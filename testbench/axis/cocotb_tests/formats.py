"""Codes of the element formats, for NumPy."""

import numpy as np

# Exponent and fraction bits.
FORMATS = {"bf16": (8, 7), "fp16": (5, 10), "fp32": (8, 23), "fp8-e4m3": (4, 3), "fp8-e5m2": (5, 2)}


def fixed_point(name):
    """Width and fraction bits of intWqF; None for floats."""
    parts = name.removeprefix("int").split("q")
    return tuple(map(int, parts)) if name.startswith("int") and len(parts) == 2 else None


def encode(values, name):
    """Codes of numbers, rounded to nearest with ties to even. What rounds beyond the largest exponent or integer is an error."""
    if fixed := fixed_point(name):
        width, fraction = fixed
        code = np.rint(np.ldexp(np.asarray(values, dtype=np.float64), fraction)).astype(np.int64)
        if (np.abs(code) >> width - 1).any():
            raise ValueError(f"an operand is too large for {name}")
        return code & (1 << width) - 1
    exponent_bits, fraction_bits = FORMATS[name]
    bias = (1 << exponent_bits - 1) - 1
    x = np.asarray(values, dtype=np.float64)
    if not np.isfinite(x).all():
        raise ValueError("an operand is not finite")
    magnitude = np.abs(x)
    _, exponent = np.frexp(magnitude)
    exponent = np.maximum(exponent - 1, 1 - bias)
    steps = np.rint(np.ldexp(magnitude, fraction_bits - exponent)).astype(np.int64)
    # A step count of 2^(fraction_bits + 1) carries into the exponent by itself; below 2^fraction_bits it is subnormal.
    code = steps + (np.where(magnitude == 0, 0, exponent + bias - 1).astype(np.int64) << fraction_bits)
    code = np.where(magnitude == 0, 0, code)
    if (code >> fraction_bits >= 1 << exponent_bits).any():
        raise ValueError(f"an operand is too large for {name}")
    return np.where(np.signbit(x), 1, 0) << (exponent_bits + fraction_bits) | code


def vector_bytes(codes, name):
    """A vector as the bytes of its beats, element 0 first."""
    width = (fixed[0] if (fixed := fixed_point(name)) else 1 + sum(FORMATS[name])) // 8
    return b"".join(int(code).to_bytes(width, "little") for code in codes)
