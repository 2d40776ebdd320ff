"""What NumPy writes, the program reads, or says why not."""

import io
import re
import resource
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile
from pathlib import Path

import numpy as np

from common import SEED, program

RUN = ["simulate", "--design", "flash-d", "--engine", "model", "--json"]


def npy(x, version=None):
    """The bytes of a .npy file."""
    file = io.BytesIO()
    np.lib.format.write_array(file, x, version=version)
    return file.getvalue()


class Unseekable(io.RawIOBase):
    """A pipe as zipfile sees it: sizes follow the data."""

    def __init__(self, file):
        self.file = file

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)


class Reading(unittest.TestCase):
    """Files of NumPy in every form."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) if hasattr(self, "enterContext") else Path(tempfile.mkdtemp())
        rng = np.random.default_rng(SEED)
        # Exact in every type.
        self.heads = [np.round(4 * rng.normal(size=(n, 8))) / 4 for n in (3, 5, 5)]
        self.expected = self.o(*self.triple([x.astype(np.float32) for x in self.heads]))

    def o(self, *files):
        out = self.folder / "o.npy"
        ran = program(*RUN, *files, "--o", out)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return np.load(out)

    def refused(self, *files):
        ran = program(*RUN, *files)
        self.assertEqual(ran.returncode, 2, ran.stdout)
        self.assertNotIn("panicked", ran.stderr)
        return ran.stderr

    def triple(self, arrays, version=None):
        for name, x in zip("qkv", arrays):
            (self.folder / f"{name}.npy").write_bytes(npy(x, version) if isinstance(x, np.ndarray) else x)
        return [word for name in "qkv" for word in (f"--{name}", self.folder / f"{name}.npy")]

    def test_arrays(self):
        import ml_dtypes

        for dtype in ("<f2", ">f2", ">f4", "<f8", ">f8", ml_dtypes.bfloat16, ml_dtypes.float8_e5m2):
            for order in "CF":
                arrays = [np.asarray(x.astype(dtype), order=order) for x in self.heads]
                if dtype is ml_dtypes.float8_e5m2:
                    # It has two bits of fraction.
                    self.o(*self.triple(arrays))
                    continue
                np.testing.assert_array_equal(self.o(*self.triple(arrays)), self.expected, str(dtype))
        for version in ((1, 0), (2, 0), (3, 0)):
            np.testing.assert_array_equal(self.o(*self.triple([x.astype("f4") for x in self.heads], version)), self.expected)
        # Files written by a memory map.
        files = self.triple(self.heads)
        for name, x in zip("qkv", self.heads):
            mapped = np.lib.format.open_memmap(self.folder / f"{name}.npy", "w+", np.float32, x.shape)
            mapped[:] = x
            del mapped
        np.testing.assert_array_equal(self.o(*files), self.expected)

    def test_refused_arrays(self):
        x = self.heads[0]
        with_names = np.zeros((3, 8), [("a", "f4"), ("b", "f4")])
        for bad in (x.astype(int), x.astype(np.uint8), x > 0, x.astype(complex), x.astype("S4"), x.astype("U4"), with_names,
                    x.astype("datetime64[s]"), x.astype(np.longdouble)):
            self.assertRegex(self.refused(*self.triple([bad, *self.heads[1:]])), r"q\.npy: holds elements of type .*; these are read: float32")
        pickled = io.BytesIO()
        np.save(pickled, x.astype(object), allow_pickle=True)
        self.assertRegex(self.refused(*self.triple([pickled.getvalue(), *self.heads[1:]])), r"q\.npy: holds elements of type '\|O'")
        for bad in (np.float32(1), np.zeros((0, 8), "f4"), np.zeros((3, 0), "f4"), np.zeros((2, 2, 3, 8), "f4"), np.zeros((1, 1, 1, 3, 8), "f4")):
            self.assertRegex(self.refused(*self.triple([np.asarray(bad), *self.heads[1:]])), r"q\.npy: has shape \[")
        self.assertIn("one array alone is needed", self.refused(*self.triple([npy(x) + npy(x), *self.heads[1:]])))

    def archive(self, names="qkv", ending=".npy", method=zipfile.ZIP_DEFLATED, zip64=False, comment=b"", before=b"", stream=False, extra=()):
        path = self.folder / "head.npz"
        with open(path, "wb") as file:
            file.write(before)
            target = Unseekable(file) if stream else file
            with zipfile.ZipFile(target, "w", method) as archive:
                archive.comment = comment
                for name, x in [*zip(names, self.heads), *extra]:
                    with archive.open(name + ending, "w", force_zip64=zip64) as entry:
                        entry.write(npy(x.astype("f4")))
        return ["--q", path]

    def test_archives(self):
        path = self.folder / "head.npz"
        for save in (np.savez, np.savez_compressed):
            save(path, **dict(zip("qkv", self.heads)), other=np.arange(3), text=np.array("words"))
            np.testing.assert_array_equal(self.o("--q", path), self.expected)
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            for form in ({}, {"ending": ""}, {"zip64": True}, {"comment": b"a comment"}, {"stream": True}, {"stream": True, "zip64": True},
                         {"names": "QKV"}, {"before": b"#!/bin/sh\n"}):
                with self.subTest(method=method, **form):
                    np.testing.assert_array_equal(self.o(*self.archive(method=method, **form)), self.expected)

    def test_refused_archives(self):
        import warnings

        for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            self.assertRegex(self.refused(*self.archive(method=method)), "head.npz, entry 'q': is not a readable .npz file: .*ompression")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertIn("it holds entries of one name", self.refused(*self.archive(extra=[("q", self.heads[0])])))
        self.assertIn("more than one entry 'q'", self.refused(*self.archive(extra=[("Q", self.heads[0])])))

    def test_only_requested_arrays_are_read(self):
        """An archive of zeros that is a thousand times as large as its file."""
        path = self.folder / "zeros.npz"
        rows = 1 << 20
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in "qkv":
                header = npy(np.zeros((1, 64), "f4"))[:128].replace(b"'shape': (1, 64), }", f"'shape': ({rows}, 64), }}".encode())
                text = header[10:].rstrip()
                text = text + b" " * (128 - 10 - 1 - len(text)) + b"\n"
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    entry.write(header[:10] + text)
                    for _ in range(rows >> 14):
                        entry.write(bytes(1 << 22))
        self.assertLess(path.stat().st_size, 1 << 20)
        began = time.monotonic()
        limited = subprocess.run(
            [sys.executable, "-m", "flashd", *RUN, "--q", str(path), "--first-keys", "1", "--first-queries", "1"], capture_output=True, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (600 << 20, 600 << 20)))
        self.assertEqual(limited.returncode, 0, limited.stderr)
        print(f"one of {rows} keys: {time.monotonic() - began:.2f} s, {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10} MB")
        self.assertLess(time.monotonic() - began, 20)
        # It does not fit into memory: refused before it is read.
        whole = subprocess.run([sys.executable, "-m", "flashd", *RUN, "--q", str(path)], capture_output=True, text=True,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (600 << 20, 600 << 20)))
        self.assertEqual(whole.returncode, 2)
        self.assertRegex(whole.stderr, re.escape(f"takes {rows * 64 * 4} bytes of memory"))


if __name__ == "__main__":
    unittest.main()
