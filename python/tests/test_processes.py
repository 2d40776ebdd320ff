"""Forks, new interpreters, threads and signals."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np

from common import SEED

import flashd


def operands(n=300, d=16):
    return np.random.default_rng(SEED).normal(size=(2, n, d)).astype(np.float32)


def run_one(seed):
    """The work of a pool's process."""
    x = operands() + np.float32(seed / 16)
    core = flashd.Core("flash-d", d=16, format="fp8-e4m3")
    return core.attention(x, x, x, causal=True).tobytes()


class Processes(unittest.TestCase):
    """A core that was used before works in every kind of process."""

    def test_forks_and_new_interpreters(self):
        x = operands()
        core = flashd.Core("flash-d", d=16)
        expected = core.attention(x, x, x).tobytes()
        for kind in ("fork", "spawn", "forkserver"):
            with self.subTest(kind=kind):
                context = multiprocessing.get_context(kind)
                with context.Pool(2) as pool:
                    got = pool.map_async(run_one, range(4)).get(timeout=120)
                self.assertEqual(got, [run_one(seed) for seed in range(4)])
        # The parent's own core, in a child and in a child of that.
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writer, b"1" if core.attention(x, x, x).tobytes() == expected else b"0")
                grandchild = os.fork()
                os.write(writer, b"1" if core.attention(x, x, x).tobytes() == expected else b"0")
                if grandchild:
                    os.waitpid(grandchild, 0)
            finally:
                os._exit(0)
        os.close(writer)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and os.waitpid(child, os.WNOHANG) == (0, 0):
            time.sleep(0.05)
        if time.monotonic() >= deadline:
            os.kill(child, signal.SIGKILL)
            self.fail("a forked process hangs")
        self.assertEqual(os.read(reader, 9), b"111")
        os.close(reader)

    def test_threads_share_a_core(self):
        core, x = flashd.Core("fa2", d=16, format="fp8-e4m3"), operands()
        expected = [core.attention(x + np.float32(i), x, x).tobytes() for i in range(4)]
        got = [[] for _ in range(4)]

        def work(i):
            for _ in range(3):
                got[i].append(core.attention(x + np.float32(i), x, x).tobytes())

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(got, [[one] * 3 for one in expected])

    def test_threads_share_steps(self):
        core = flashd.Core("flash-d", d=4)
        steps, words = core.steps(), core.encode("q", np.ones((1, 4), np.float32))[0].tolist()
        said = []

        def work():
            for _ in range(200):
                try:
                    steps.query(words)
                    if steps.key(words)[-1]:
                        steps.value(words)
                    steps.result()
                except ValueError as e:
                    said.append(str(e))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Calls out of turn raise errors; nothing panics and nothing hangs.
        self.assertTrue(all("the step before" in text or "query" in text for text in said), set(said))


class Signals(unittest.TestCase):
    """Ctrl-C ends a long run soon, whatever it is doing."""

    def test_every_part_of_a_run_ends(self):
        code = """
import signal, sys, threading, os, time
import numpy as np, flashd
signal.signal(signal.SIGINT, signal.default_int_handler)
core = flashd.Core(sys.argv[1], d=64, format=sys.argv[2])
x = np.random.default_rng(1).normal(size=(8, 4096, 64)).astype(np.float32)
threading.Timer(1.0, lambda: (print(time.monotonic(), flush=True), os.kill(os.getpid(), signal.SIGINT))).start()
try:
    core.run(x, x, x, errors=True)
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""
        for design, form in (("flash-d", "bf16"), ("fa2", "fp8-e4m3")):
            ran = subprocess.run([sys.executable, "-c", code, design, form], capture_output=True, text=True, timeout=120)
            sent, ended = map(float, ran.stdout.split())
            self.assertLess(ended - sent, 3, f"{design} {form}: {ran.stderr}")


if __name__ == "__main__":
    unittest.main()
