"""The installed package: `python -m unittest discover -s python/tests`.

FLASHD_CALLS: random calls that are compared with `flashd simulate` (default: 100; a release check takes 1000). FLASHD_SEED: their seed.
"""

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
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import flashd

CALLS = int(os.environ.get("FLASHD_CALLS", "100"))
SEED = int(os.environ.get("FLASHD_SEED", "20261123"))
FORMATS = ("bf16", "fp16", "fp8-e4m3", "fp8-e5m2", "fp32", "int8", "int4")
SCALES = ("none", "row", "row-e8m0", "mx", "nvfp4")
DATAPATHS = [("flash-d", {"update": u}) for u in ("fixed", "ranged", "fused", "rounded")] + [("flash-d", {"weight": "paper"})]
DATAPATHS += [("fa2", {"fa2": name}) for name in (
    "shared-scale", "separate-scale", "fixed", "log-reference", "shared-log-reference", "lazy-reference", "literal")]


def program(*words, **options):
    """The command line of the wheel."""
    return subprocess.run([sys.executable, "-m", "flashd", *map(str, words)], capture_output=True, text=True, **options)


def flags_of(options):
    """Options of a core as the command line has them."""
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        words += [flag] if value is True else [] if value is False else [flag, value]
    return words


def bits(x):
    return np.ascontiguousarray(x, dtype=np.float32).view(np.uint32)


class SameBits(unittest.TestCase):
    """What `attention` gives is what `simulate --o` writes."""

    def test_random_calls(self):
        print(f"seed {SEED}, {CALLS} calls")
        rng = np.random.default_rng(SEED)
        compared, forms = set(), Counter()
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            for call in range(CALLS):
                # Every datapath in every format before any comes again.
                design, words = DATAPATHS[call % len(DATAPATHS)]
                fmt = FORMATS[call // len(DATAPATHS) % len(FORMATS)]
                masks = bool(rng.integers(2))
                options = {"format": fmt, "masks": masks, **words}
                form = "plain"
                if rng.integers(4) == 0:
                    form = "lengths"
                    options |= {"dk": int(rng.integers(2, 40)), "dv": int(rng.integers(2, 40))}
                else:
                    options["d"] = int(rng.integers(2, 40))
                if fmt.startswith("int"):
                    form = "no scales" if rng.integers(3) == 0 else "scales"
                    options |= {"scales": "none"} if form == "no scales" else {}
                elif rng.integers(3) == 0:
                    form = "formats"
                    options |= {f"{operand}_format": str(rng.choice(FORMATS)) for operand in rng.choice(["q", "k", "v", "o"], 2, False)}
                if not fmt.startswith("int") and rng.integers(4) == 0:
                    form = "operand scales"
                    options |= {f"{operand}_scales": str(rng.choice(SCALES)) for operand in rng.choice(["q", "k", "v"], 2, False)}
                if rng.integers(4) == 0:
                    form = "bias"
                    options["bias"] = True
                try:
                    core = flashd.Core(design, **options)
                except ValueError as e:
                    refused = program("generate", "--design", design, *flags_of(options), "--out", folder)
                    self.assertEqual(refused.returncode, 2, str(e))
                    self.assertEqual(refused.stderr.strip(), f"error: {e}")
                    continue
                forms[form] += 1
                d, dv = core.d, core.dv
                key_heads, served = int(rng.integers(1, 3)), int(rng.integers(1, 3))
                n, m = int(rng.integers(1, 20)), int(rng.integers(1, 60))
                size = 10.0 ** rng.integers(-2, 3)
                q = rng.normal(size=(key_heads * served, n, d)) * size
                k, v = rng.normal(size=(key_heads, m, d)), rng.normal(size=(key_heads, m, dv))
                q, k, v = (x.astype(np.float32) for x in (q, k, v * 10.0 ** rng.integers(-3, 3)))
                settings, flags = {}, []
                if rng.integers(2):
                    settings["causal"] = True
                    flags += ["--causal"]
                if masks and rng.integers(2):
                    settings["window"] = int(rng.integers(1, m + 2))
                    flags += ["--window", settings["window"]]
                if masks and rng.integers(2):
                    settings["lengths"] = rng.integers(0, m + 1, size=n).tolist()
                    flags += ["--lengths", ",".join(map(str, settings["lengths"]))]
                if rng.integers(3) == 0:
                    settings["scale"] = float(rng.uniform(0.01, 1.0))
                    flags += ["--scale", repr(settings["scale"])]
                if rng.integers(4) == 0:
                    settings["tensor_scale"] = "none"
                    flags += ["--tensor-scale", "none"]
                if form == "bias":
                    settings["mask"] = rng.normal(size=(n, m)).astype(np.float32)
                    np.save(folder / "bias.npy", settings["mask"])
                    flags += ["--key-bias", folder / "bias.npy"]
                if rng.integers(5) == 0:
                    settings["smooth_k"] = True
                    flags += ["--smooth-k"]
                for name, x in (("q", q), ("k", k), ("v", v)):
                    np.save(folder / f"{name}.npy", x)
                ran = program("simulate", *core.flags.split(), "--engine", "model", "--q", folder / "q.npy", "--k", folder / "k.npy",
                              "--v", folder / "v.npy", *flags, "--o", folder / "o.npy", "--json")
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    run = core.run(q, k, v, **settings)
                # 1 is a result beyond the lanes' range, which is written all the same.
                self.assertEqual(ran.returncode, 1 if said else 0, f"call {call}, {core}: {ran.stderr}")
                if said:
                    self.assertEqual(json.loads(ran.stderr)["error"], str(said[0].message))
                where = f"call {call}, {core}, {flags}"
                np.testing.assert_array_equal(bits(run.o), bits(np.load(folder / "o.npy")), where)
                reports = json.loads(ran.stdout)
                for report, head in zip(reports if isinstance(reports, list) else [reports], run.heads):
                    counters = {name: report["counters"][name] for name in ("cycles", "keys")}
                    self.assertEqual(counters, {name: head[name] for name in counters}, where)
                    self.assertEqual(report["counters"]["skips"], head["held"], where)
                    self.assertEqual(report["accuracy"]["mean"], head["mean_error"], where)
                compared.add((design, *words.values(), fmt))
        # Some datapaths are not in every format.
        self.assertGreaterEqual(len(compared), min(CALLS, len(DATAPATHS) * len(FORMATS)) * 0.6)
        if CALLS >= 100:
            self.assertEqual(set(forms), {"plain", "lengths", "scales", "no scales", "formats", "operand scales", "bias"})
        print(f"{sum(forms.values())} compared, {dict(forms)}, the others refused as by the command line")

    def test_caps_and_sinks(self):
        """A cap is an option of the core; a sink is a first key of zeros that adds it, as docs/guide/bindings.md says."""
        rng = np.random.default_rng(SEED)
        n, d, sink = 11, 16, 1.5
        q, k, v = (3 * rng.normal(size=(n, d)).astype(np.float32) for _ in range(3))
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            for name, x in (("q", q), ("k", k), ("v", v)):
                np.save(folder / f"{name}.npy", x)

            def simulated(core, *flags):
                ran = program("simulate", *core.flags.split(), "--engine", "model", "--causal", *flags, "--o", folder / "o.npy",
                              *(word for name in "qkv" for word in (f"--{name}", folder / f"{name}.npy")))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                return bits(np.load(folder / "o.npy"))

            for design in ("flash-d", "fa2"):
                plain = flashd.Core(design, d=d).attention(q, k, v, causal=True)
                core = flashd.Core(design, d=d, softcap=2)
                capped = core.attention(q, k, v, causal=True)
                np.testing.assert_array_equal(bits(capped), simulated(core))
                self.assertFalse(np.array_equal(plain, capped))

                core = flashd.Core(design, d=d, bias=True)
                front = np.zeros((1, d), np.float32)
                added = np.zeros((n, n + 1), np.float32)
                added[:, 0] = sink
                sunk = core.attention(q, np.concatenate([front, k]), np.concatenate([front, v]), mask=added, causal=True)
                np.testing.assert_array_equal(bits(sunk), simulated(core, "--sink", sink))
                self.assertFalse(np.array_equal(plain, sunk))


class Arrays(unittest.TestCase):
    """Shapes and types."""

    def setUp(self):
        # Lanes with exponents of their own: values that are not seen do not matter.
        self.core = flashd.Core("flash-d", d=8, masks=True, update="ranged")
        rng = np.random.default_rng(SEED)
        self.q, self.k, self.v = (rng.normal(size=(2, h, n, 8)).astype(np.float32) for h, n in ((4, 3), (2, 7), (2, 7)))

    def test_heads_and_batches(self):
        o = self.core.attention(self.q, self.k, self.v, causal=True)
        self.assertEqual((o.shape, o.dtype), ((2, 4, 3, 8), np.float32))
        for batch in range(2):
            for head in range(4):
                one = self.core.attention(self.q[batch, head], self.k[batch, head // 2], self.v[batch, head // 2], causal=True)
                np.testing.assert_array_equal(one, o[batch, head])
        np.testing.assert_array_equal(self.core.attention(self.q[0, 0, 0], self.k[0, 0], self.v[0, 0]).shape, (8,))
        # Not contiguous.
        strided = self.core.attention(np.asfortranarray(self.q), self.k[..., ::-1][..., ::-1], self.v, causal=True)
        np.testing.assert_array_equal(strided, o)

    def test_against_attention_in_f64(self):
        mask = np.random.default_rng(1).random((2, 4, 3, 7)) < 0.7
        mask[..., 0] = True
        run = self.core.run(self.q, self.k, self.v, mask=mask, steps=True)
        k, v = (np.repeat(x.astype(float), 2, axis=1) for x in (self.k, self.v))
        s = np.where(mask, self.q.astype(float) @ k.swapaxes(-1, -2) / np.sqrt(8), -np.inf)
        w = np.exp(s - s.max(-1, keepdims=True))
        exact = w / w.sum(-1, keepdims=True) @ v
        np.testing.assert_allclose(run.o, exact, atol=0.03)
        error = np.abs(run.o - exact).reshape(2, 4, -1) / np.abs(v).max((-1, -2))[..., None]
        np.testing.assert_allclose(run.mean_error, error.mean(-1), rtol=1e-5)
        # Scores in base 2 of the rounded operands.
        np.testing.assert_allclose(np.where(mask, run.scores, 0), np.where(mask, s * np.log2(np.e), 0), atol=0.05)
        np.testing.assert_array_equal(run.actions == 3, ~mask)
        np.testing.assert_array_equal(run.skipped.sum((-1, -2)), run.held)
        self.assertEqual(int(run.cycles[0, 0]), 3 * 7 + self.core.latency)

    def test_masks_lengths_and_causal_say_the_same(self):
        causal = self.core.attention(self.q, self.k, self.v, causal=True)
        sees = np.tril(np.ones((3, 7), dtype=bool), 4)
        np.testing.assert_array_equal(self.core.attention(self.q, self.k, self.v, mask=sees), causal)
        np.testing.assert_array_equal(self.core.attention(self.q, self.k, self.v, mask=sees[None, None]), causal)
        np.testing.assert_array_equal(self.core.attention(self.q, self.k, self.v, lengths=[5, 6, 7]), causal)
        lengths = np.array([3, 7])[:, None, None]
        by_batch = self.core.attention(self.q, self.k, self.v, lengths=lengths)
        np.testing.assert_array_equal(by_batch[0], self.core.attention(self.q[0], self.k[0, :, :3], self.v[0, :, :3]))
        np.testing.assert_array_equal(by_batch[1], self.core.attention(self.q[1], self.k[1], self.v[1]))

    def test_masks_of_floats(self):
        sees = np.tril(np.ones((3, 7), dtype=bool), 4)
        expected = self.core.attention(self.q, self.k, self.v, mask=sees)
        for dtype in (np.float16, np.float32, np.float64):
            for hidden in (-np.inf, np.finfo(np.float16 if dtype == np.float16 else np.float32).min):
                added = np.where(sees, 0.0, hidden).astype(dtype)
                np.testing.assert_array_equal(self.core.attention(self.q, self.k, self.v, mask=added), expected)
        for wrong, text in ((0.5, "which takes a core that adds a bias; add --bias"), (-1e4, "which takes"), (np.nan, "finite"), (np.inf, "finite")):
            with self.assertRaisesRegex(ValueError, f"^mask: adds {wrong:g} to a score.*{text}"):
                self.core.attention(self.q, self.k, self.v, mask=np.where(sees, 0.0, wrong).astype(np.float32))

    def test_biases(self):
        core = flashd.Core("flash-d", d=8, masks=True, bias=True)
        bias = (np.random.default_rng(2).normal(size=(2, 4, 3, 7)) * 2).astype(np.float32)
        bias[..., 6] = -np.inf
        run = core.run(self.q, self.k, self.v, mask=bias)
        k, v = (np.repeat(x.astype(float), 2, axis=1) for x in (self.k, self.v))
        s = self.q.astype(float) @ k.swapaxes(-1, -2) / np.sqrt(8) + bias
        w = np.exp(s - s.max(-1, keepdims=True))
        np.testing.assert_allclose(run.o, w / w.sum(-1, keepdims=True) @ v, atol=0.03)
        self.assertTrue((run.mean_error < 0.01).all())
        # The same in encodings, of a head, and without masks where every key is seen.
        core = flashd.Core("flash-d", d=8, bias=True, score_shift=0)
        encodings = [core.encode(name, x[0, 0]) for name, x in (("q", self.q), ("k", self.k[:, :, :6]), ("v", self.v[:, :, :6]))]
        words = flashd.Core("fa2", d=6, format="bf16").encode("k", bias[0, 0, :, :6])
        o, _ = core.attention_raw(*encodings, bias=words)
        q, k, v = (core.decode(name, x) for name, x in zip("qkv", encodings))
        w = np.exp(q @ k.T + bias[0, 0, :, :6])
        np.testing.assert_allclose(core.decode("o", o), w / w.sum(-1, keepdims=True) @ v, atol=0.03)
        steps = core.steps()
        steps.query(encodings[0][1].tolist())
        for key in range(6):
            if steps.key(encodings[1][key].tolist(), bias=int(words[1, key]))[-1]:
                steps.value(encodings[2][key].tolist())
        np.testing.assert_array_equal(steps.result()[0], o[1])

    def test_lengths_of_keys_and_values(self):
        core = flashd.Core("fa2", dk=8, dv=5, format="fp8-e4m3", o_format="bf16", masks=True)
        self.assertEqual((core.d, core.dv, core.formats["v"], core.formats["o"]), (8, 5, "fp8-e4m3", "bf16"))
        o = core.attention(self.q, self.k, self.v[..., :5], causal=True)
        self.assertEqual(o.shape, (2, 4, 3, 5))
        self.assertEqual(core.attention(self.q[0, 0, 0], self.k[0, 0], self.v[0, 0, :, :5]).shape, (5,))
        with self.assertRaisesRegex(ValueError, "^--dv: the core has dv = 5, v has dv = 8"):
            core.attention(self.q, self.k, self.v)

    def test_integers_with_scales(self):
        core = flashd.Core("flash-d", d=8, format="int8")
        run = core.run(self.q, self.k, self.v)
        self.assertTrue((run.mean_error < 0.01).all())
        # By hand: the largest magnitude of a row is 127 of its scale, a bf16 number, at most 1/128 above what it would be.
        words = core.encode("k", self.k)
        self.assertEqual(words.shape, (2, 2, 7, 10))
        scale = (words[..., 8] | words[..., 9] << 8).astype(np.uint32) << 16
        scale = scale.view(np.float32).astype(float)
        ratio = np.abs(self.k).max(-1) / 127
        self.assertTrue(((scale >= ratio) & (scale <= ratio * (1 + 2**-7))).all())
        integers = words[..., :8].astype(np.uint8).view(np.int8)
        np.testing.assert_array_equal(integers, np.rint(self.k / scale[..., None]))
        np.testing.assert_array_equal(core.decode("k", words), integers * scale[..., None])
        # What the encodings stand for, in f64, with nothing between product and score; values are rounded to integers.
        core = flashd.Core("flash-d", d=8, format="int8", score_shift=0)
        encodings = [core.encode(name, x[0, 0]) for name, x in (("q", self.q), ("k", self.k), ("v", self.v * 50))]
        q, k, v = (core.decode(name, x) for name, x in zip("qkv", encodings))
        w = np.exp(q @ k.T)
        exact = w / w.sum(-1, keepdims=True) @ v
        o, _ = core.attention_raw(*encodings)
        np.testing.assert_allclose(core.decode("o", o), exact, atol=0.005 * np.abs(v).max())

    def test_encodings_are_those_of_ml_dtypes(self):
        import ml_dtypes

        x = (np.random.default_rng(3).normal(size=(50, 8)) * 10.0 ** np.arange(-3, 5)).astype(np.float32)
        for name, dtype, word in (("bf16", ml_dtypes.bfloat16, np.uint16), ("fp16", np.float16, np.uint16),
                                  ("fp8-e4m3", ml_dtypes.float8_e4m3fn, np.uint8), ("fp8-e5m2", ml_dtypes.float8_e5m2, np.uint8)):
            core, numbers = flashd.Core("fa2", d=8, format=name), x.astype(dtype)
            fits = np.isfinite(numbers.astype(float))
            np.testing.assert_array_equal(core.encode("v", x)[fits], numbers.view(word)[fits], name)
            np.testing.assert_array_equal(core.decode("v", core.encode("v", x))[fits], numbers.astype(float)[fits], name)

    def test_types(self):
        import ml_dtypes

        for dtype in (np.float16, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
            q, k, v = (x.astype(dtype) for x in (self.q, self.k, self.v))
            o = self.core.attention(q, k, v)
            self.assertEqual(o.dtype, np.dtype(dtype))
            wide = self.core.attention(*(x.astype(np.float32) for x in (q, k, v)))
            np.testing.assert_array_equal(o.astype(np.float32), wide.astype(dtype).astype(np.float32))

        class Capsule:
            """An array of a library that has DLPack alone."""

            def __dlpack__(self, **options):
                return self.x.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.x.__dlpack_device__()

            def __init__(self, x):
                self.x = x

        wide = self.core.attention(self.q, self.k, self.v)
        np.testing.assert_array_equal(self.core.attention(*map(Capsule, (self.q, self.k, self.v))), wide)

    def test_encodings_and_steps(self):
        import ml_dtypes

        q, k, v = (x[0, 0].astype(ml_dtypes.bfloat16) for x in (self.q, self.k, self.v))
        raw = [x.view(np.uint16) for x in (q, k, v)]
        o, told = self.core.attention_raw(*raw, lengths=[5, 6, 7])
        steps, held = self.core.steps(), 0
        exponent = int((raw[2].astype(int) >> 7 & 0xFF).max())
        for query in range(3):
            steps.query(raw[0][query].tolist(), exponent)
            for key in range(5 + query):
                *_, action, due = steps.key(raw[1][key].tolist())
                held += action == 2
                if due:
                    steps.value(raw[2][key].tolist())
            np.testing.assert_array_equal(steps.result()[0], o[query])
        self.assertEqual(held, told["held"])
        with self.assertRaisesRegex(ValueError, "the step before reads no value"):
            flashd.Core("fa2", d=2).steps().value([0, 0])


class Files(unittest.TestCase):
    """Verilog, manifests and the command line."""

    def test_files_are_those_of_generate(self):
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
        # Without what earlier runs have kept, the grid takes longer than is waited here: it ends because of the signal.
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


class Errors(unittest.TestCase):
    """What is wrong is a ValueError with the command line's text."""

    def test_cores(self):
        for options, text in [
            ({"d": 1}, "--d: 1 is outside 2 to 576"),
            ({"d": 8, "format": "fp4"}, "--format: unknown format 'fp4'"),
            ({"d": 8, "bogus": 1}, "unknown option 'bogus'"),
            ({"d": 8, "fa2": "fixed"}, "--fa2: "),
            ({"d": 8, "masks": "perhaps"}, "--masks: 'perhaps' is neither true nor false"),
        ]:
            with self.assertRaises(ValueError) as caught:
                flashd.Core("flash-d", **options)
            self.assertTrue(str(caught.exception).startswith(text), str(caught.exception))
        with self.assertRaisesRegex(ValueError, "unknown field `nothing`"):
            flashd.Core.from_json({"design": "fa2", "d": 4, "nothing": 1})

    def test_operands(self):
        core = flashd.Core("flash-d", d=4)
        x = np.ones((3, 4), dtype=np.float32)
        bad = x.copy()
        bad[1, 2] = np.nan
        for arrays, settings, text in [
            ((bad, x, x), {}, "q: row 1, column 2 is NaN; every element must be a finite float32"),
            ((x, x, x[:2]), {}, r"v: has shape \[2, 4\], but k has \[3, 4\]"),
            ((x[:, :2], x, x), {}, "--d: the core has d = 4, q has d = 2"),
            ((x[None], x, x), {}, "k: has shape"),
            ((x[None], np.stack([x, x]), np.stack([x, x])), {}, "k: 2 heads, but q has 1"),
            ((x, x, x), {"window": 2}, "--window: takes a core with masks; add --masks"),
            ((x, x, x), {"lengths": 2}, "--lengths: takes a core with masks; add --masks"),
            ((x, x, x), {"mask": x[:, :3] > 0}, "mask: takes a core with masks; add --masks"),
            ((x, x, x), {"mask": x}, "mask: adds 1 to a score, which takes a core that adds a bias"),
            ((x, x, x), {"mask": x.astype(int)}, "mask: elements of type int64; booleans"),
            ((x, x, x), {"scale": 0}, "--scale: score scale 0 is not a positive finite number"),
            ((x, x, x), {"scale": "much"}, "--scale: neither auto nor none nor a number"),
            ((x, x, x), {"causal_align": "top-left"}, "--causal-align: says where"),
            ((x[:0], x, x), {}, "q, k and v: at least one head"),
            ((x > 0, x, x), {}, "q: elements of type bool"),
            ((x * 1e30, x.astype(np.float64) * 1e300, x), {}, "k: row 0, column 0 is inf"),
        ]:
            with self.assertRaisesRegex(ValueError, f"^{text}"):
                core.attention(*arrays, **settings)

    def test_a_core_that_shifts_by_itself(self):
        core, x = flashd.Core("fa2", d=4, score_shift=-1), np.ones((3, 4), dtype=np.float32)
        with self.assertRaisesRegex(ValueError, "^--score-shift: simulate derives it"):
            core.attention(x, x, x)


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
        # What a shell starts in the background ignores the signal.
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
