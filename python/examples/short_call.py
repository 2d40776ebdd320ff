#!/usr/bin/env python3
"""The time of a short call from Python: one query, 16 keys.

    short_call.py [--calls N] [--rounds N]

Needs the package `flashd`. Prints the best round's mean of `Core.attention`, in microseconds. What narrow formats take beside bf16 is the
choice of powers of two for Q, K and V, which tensor_scale="none" leaves out.
"""

import argparse
import time

import numpy as np

import flashd


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1000, help="calls of a round (default: 1000)")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of which the best counts (default: 10)")
    given = parser.parse_args()
    print(f"{'core':28} {'us a call':>9}")
    for design, format, settings in (
        ("flash-d", "bf16", {}), ("fa2", "bf16", {}),
        ("flash-d", "fp8-e4m3", {"tensor_scale": "none"}), ("flash-d", "fp8-e4m3", {}),
    ):
        for d in (16, 64, 256):
            core, random = flashd.Core(design, d=d, format=format), np.random.default_rng(1)
            q, k, v = (random.standard_normal(shape, dtype=np.float32) for shape in ((1, d), (16, d), (16, d)))
            best = float("inf")
            for _ in range(given.rounds):
                start = time.perf_counter()
                for _ in range(given.calls):
                    core.attention(q, k, v, **settings)
                best = min(best, time.perf_counter() - start)
            scaled = " unscaled" if settings else ""
            print(f"{design + ' ' + format + ' ' + str(d) + scaled:28} {best / given.calls * 1e6:9.1f}", flush=True)


if __name__ == "__main__":
    main()
