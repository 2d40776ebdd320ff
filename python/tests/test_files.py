"""Files and studies of the installed package, its runs from other threads, and interrupts."""

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

from common import SEED, program

import flashd


class Files(unittest.TestCase):
    """Verilog, manifests and the command line."""

    @mock.patch.dict(os.environ, FLASHD_REPRODUCIBLE="1")
    def test_files_agree_with_generate(self):
        core = flashd.Core("fa2", d=4, format="fp16", masks=True)
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            self.assertEqual(program("generate", *core.flags.split(), "--out", folder / "a").returncode, 0)
            core.write(folder / "b")
            names = sorted(file.name for file in (folder / "a").iterdir())
            self.assertEqual(names, sorted(core.files()))
            for name in names:
                self.assertEqual((folder / "a" / name).read_text(), (folder / "b" / name).read_text())
            self.assertIn(f"module {core.name}", core.verilog())
            manifest = folder / "a" / f"{core.name}.json"
            self.assertEqual(core.manifest, json.loads(manifest.read_text()))
            again = flashd.Core.from_json(core.manifest["configuration"])
            self.assertEqual((again.flags, pickle.loads(pickle.dumps(core)).flags), (core.flags, core.flags))

    def test_studies(self):
        rows = flashd.accuracy(core=["--design flash-d", "--design fa2"], format="bf16", every=16, check=0)
        rows = rows if isinstance(rows, list) else rows.to_dict("records")
        self.assertEqual({row["core"] for row in rows}, {"flash_d", "fa2"})
        self.assertTrue(all(0 < row["mean"] < 0.01 for row in rows))
        with self.assertRaisesRegex(ValueError, "^--data: nowhere: "):
            flashd.accuracy("nowhere")
        with tempfile.TemporaryDirectory() as folder:
            grid = Path(folder) / "grid.json"
            grid.write_text('[{"design": "flash-d", "update": ["fixed", "rounded"]}, {"design": "fa2"}]')
            rows = flashd.explore(errors_only=True, grid=grid, format="fp8-e4m3", every=64)
        rows = rows if isinstance(rows, list) else rows.to_dict("records")
        self.assertEqual({row["variant"] for row in rows}, {"flash_d_fixed", "flash_d_rounded", "fa2"})
        self.assertTrue(all(row["format"] == "fp8-e4m3" and 0 < row["errors.mean"] < 0.02 for row in rows))

    def interrupted(self, before, signalled):
        """What Python says that an interrupt ends while it explores; `before` is code that runs first, `signalled` gets the process."""
        # Where tests run in the background of a shell, interrupts are ignored unless Python's handler is set.
        code = f"import signal, flashd\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n{before}\nflashd.explore(errors_only=True)"
        # Without cached results the grid takes longer than the wait here, so the signal ends it.
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "XDG_CACHE_HOME": cache}
            # Its own group: the signal is for Python alone, as in a notebook.
            python = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment)
            with python:
                try:
                    signalled(python)
                    _, said = python.communicate(timeout=60)
                finally:
                    if python.poll() is None:
                        os.killpg(python.pid, signal.SIGKILL)
        return said

    def test_a_command_ends_with_its_caller(self):
        def signalled(python):
            time.sleep(2)
            python.send_signal(signal.SIGINT)

        self.assertIn("KeyboardInterrupt", self.interrupted("", signalled))

    def test_an_interrupt_while_the_listener_starts_ends_the_command(self):
        before = """
import os, threading, time
start = threading.Thread.start
def interrupted(thread):
    start(thread)
    # Late enough that the program has begun its work.
    time.sleep(2)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)
threading.Thread.start = interrupted
"""
        self.assertIn("KeyboardInterrupt", self.interrupted(before, lambda python: None))


class Behaviour(unittest.TestCase):
    """Other threads, progress, Ctrl-C."""

    def setUp(self):
        self.core = flashd.Core("flash-d", d=64)
        self.x = np.random.default_rng(SEED).normal(size=(4, 1024, 64)).astype(np.float32)

    def test_progress(self):
        seen = []
        o = self.core.attention(self.x, self.x, self.x, progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(o.shape, self.x.shape)
        self.assertTrue(all(done <= total == 4 * 1024 * 1024 for done, total in seen))
        self.assertEqual(seen, sorted(seen))

        def ends(*_):
            raise RuntimeError("enough")

        with self.assertRaisesRegex(RuntimeError, "enough"):
            while True:
                self.core.attention(self.x, self.x, self.x, progress=ends)

    def test_ctrl_c(self):
        # A shell's background jobs ignore the signal.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            while True:
                self.core.attention(self.x, self.x, self.x)
        timer.join()

    def test_the_interpreter_goes_on(self):
        ticks, done = [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        began = time.monotonic()
        self.core.attention(self.x, self.x, self.x)
        ended = time.monotonic()
        done.set()
        thread.join()
        # With the lock held there would be none at all.
        self.assertGreater(sum(began < t < ended for t in ticks), 5)


if __name__ == "__main__":
    unittest.main()
