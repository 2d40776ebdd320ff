"""The installed package against the command line, and what arrays it takes: `python -m unittest discover -s python/tests`."""

import json
import tempfile
import unittest
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from common import CALLS, SEED, program

import flashd

FORMATS = ("bf16", "fp16", "fp8-e4m3", "fp8-e5m2", "fp32", "int8", "int4", "int16", "int16q8", "int8q4")
SCALES = ("none", "row", "row-e8m0", "row-q16", "mx", "nvfp4")
DATAPATHS = [("flash-d", {"update": u}) for u in ("fixed", "ranged", "rounded")] + [("flash-d", {"weight": "paper"})]
DATAPATHS += [("fa2", {"fa2": name}) for name in (
    "shared-scale", "separate-scale", "log-reference", "shared-log-reference", "ranged", "literal")]


def flags_of(options):
    """Options of a core as the command line has them."""
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        words += [flag] if value is True else [] if value is False else [flag, value]
    return words


def plain(text):
    """A message without the ways in which the command line and Python write names of options."""
    return text.replace("--", "").replace("=True", "").replace("-", "_")


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
                    self.assertEqual(plain(refused.stderr.strip()), plain(f"error: {e}"))
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
                    self.assertEqual(plain(json.loads(ran.stderr)["error"]), plain(str(said[0].message)))
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
        # Lanes with separate exponents: values that are not seen do not matter.
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
        # The largest value among keys that some query sees.
        seen = np.where(mask.any(-2)[..., None], v, 0)
        error = np.abs(run.o - exact).reshape(2, 4, -1) / np.abs(seen).max((-1, -2))[..., None]
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
        for wrong, text in ((0.5, "which takes a core that adds a bias; add bias=True"), (-1e4, "which takes"), (np.nan, "finite"), (np.inf, "finite")):
            with self.assertRaisesRegex(ValueError, f"(?i)^mask: adds {wrong:g} to the score.*{text}"):
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

    def test_products_that_cancel(self):
        q = np.array([[40, 40, 0, 0]], "f4")
        k = np.array([[40, -39, 0, 0], [40, -40, 0, 0]], "f4")
        v = np.array([[1, 1, 1, 1], [0, 0, 0, 0]], "f4")
        for design in ("flash-d", "fa2"):
            for more in ({}, {"score_integer_bits": 9}, {"score_integer_bits": 18}, {"format": "fp32"}):
                run = flashd.Core(design, d=4, **more).run(q, k, v)
                np.testing.assert_allclose(run.o, [[1, 1, 1, 1]], atol=1e-6)
                self.assertIsNone(run.saturated)
                self.assertEqual(run.saturated_queries.tolist(), 0)

    def test_saturated_scores(self):
        q, v = np.full((2, 4), 64, "f4"), np.eye(4, dtype="f4")
        # Scores of 8,192, 8,448, 8,704 and 8,960 in natural units.
        k = np.array([[64 + 2 * key] * 4 for key in range(4)], "f4")
        for design in ("flash-d", "fa2"):
            core = flashd.Core(design, d=4, score_integer_bits=9)
            with self.assertWarnsRegex(RuntimeWarning, "2 queries have scores beyond.*score_integer_bits 14 holds them.*smooth_k"):
                run = core.run(q, k, v)
            self.assertIn("o_saturated", run.saturated)
            self.assertEqual(run.saturated_queries.tolist(), 2)
            run = flashd.Core(design, d=4, score_integer_bits=14).run(q, k, v)
            self.assertIsNone(run.saturated)
            np.testing.assert_allclose(run.o, [[0, 0, 0, 1]] * 2, atol=1e-6)

    def test_queries_longer_than_the_core_is_built_for(self):
        q, k, v = (np.ones((n, 4), "f4") for n in (2, 33, 33))
        for design in ("flash-d", "fa2"):
            core = flashd.Core(design, d=4, max_keys=32)
            with self.assertWarnsRegex(RuntimeWarning, "33 keys.*built for 32.*max_keys 64"):
                run = core.run(q, k, v)
            self.assertIn("built for 32", run.too_long)
            self.assertEqual(run.longest_query.tolist(), 33)
            with self.assertWarnsRegex(RuntimeWarning, "built for 32"):
                core.attention(q, k, v)
            self.assertIsNone(core.run(q, k[:32], v[:32]).too_long)

    def test_lengths_of_keys_and_values(self):
        core = flashd.Core("fa2", dk=8, dv=5, format="fp8-e4m3", o_format="bf16", masks=True)
        self.assertEqual((core.d, core.dv, core.formats["v"], core.formats["o"]), (8, 5, "fp8-e4m3", "bf16"))
        o = core.attention(self.q, self.k, self.v[..., :5], causal=True)
        self.assertEqual(o.shape, (2, 4, 3, 5))
        self.assertEqual(core.attention(self.q[0, 0, 0], self.k[0, 0], self.v[0, 0, :, :5]).shape, (5,))
        with self.assertRaisesRegex(ValueError, "^v: has dv = 8, the core has dv = 5"):
            core.attention(self.q, self.k, self.v)

    def test_integers_with_scales(self):
        core = flashd.Core("flash-d", d=8, format="int8")
        run = core.run(self.q, self.k, self.v)
        self.assertTrue((run.mean_error < 0.01).all())
        # By hand: the largest magnitude of a row is 127 times its scale, a bf16 number at most 1/128 above the exact scale.
        words = core.encode("k", self.k)
        self.assertEqual(words.shape, (2, 2, 7, 10))
        scale = (words[..., 8] | words[..., 9] << 8).astype(np.uint32) << 16
        scale = scale.view(np.float32).astype(float)
        ratio = np.abs(self.k).max(-1) / 127
        self.assertTrue(((scale >= ratio) & (scale <= ratio * (1 + 2**-7))).all())
        integers = words[..., :8].astype(np.uint8).view(np.int8)
        np.testing.assert_array_equal(integers, np.rint(self.k / scale[..., None]))
        np.testing.assert_array_equal(core.decode("k", words), integers * scale[..., None])
        # The encodings' numbers, in f64, with no rounding between product and score; values are rounded to integers.
        core = flashd.Core("flash-d", d=8, format="int8", score_shift=0)
        encodings = [core.encode(name, x[0, 0]) for name, x in (("q", self.q), ("k", self.k), ("v", self.v * 50))]
        q, k, v = (core.decode(name, x) for name, x in zip("qkv", encodings))
        w = np.exp(q @ k.T)
        exact = w / w.sum(-1, keepdims=True) @ v
        o, _ = core.attention_raw(*encodings)
        np.testing.assert_allclose(core.decode("o", o), exact, atol=0.005 * np.abs(v).max())

    def test_fixed_point(self):
        core = flashd.Core("flash-d", d=8, format="int16q8")
        self.assertEqual(set(core.formats.values()), {"int16q8"})
        words = core.encode("k", self.k)
        units = np.rint(self.k * 256.0)
        np.testing.assert_array_equal(words.astype(np.uint16).view(np.int16), units)
        np.testing.assert_array_equal(core.decode("k", words), units / 256)
        # Half a unit of the operands and of the result, and less for the weights.
        run = core.run(self.q, self.k, self.v)
        self.assertTrue((run.mean_error * np.abs(self.v).max() < 1 / 256).all())

    def test_encodings_agree_with_ml_dtypes(self):
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

    def test_steps_from_a_state(self):
        for design, options in (("flash-d", {}), ("flash-d", {"update": "fixed"}), ("flash-d", {"format": "int8"}), ("fa2", {}),
                                ("fa2", {"fa2": "shared-log-reference"}), ("fa2", {"dk": 8, "dv": 5, "d": None})):
            core = flashd.Core(design, **{"d": 8, "masks": True, "partial": True, **options})
            q, k, v = (core.encode(name, x).tolist() for name, x in (("q", self.q[0, 0, 0]), ("k", self.k[0, 0]), ("v", self.v[0, 0, :, : core.dv])))
            with self.subTest(core=core.flags):
                whole = self.meet(core, q, k, v)
                scalars, o = whole.state()
                accumulator, *others = core.state_widths.values()
                self.assertEqual((len(scalars), len(o)), (2, core.dv))
                self.assertTrue(all(word < 1 << accumulator for word in o))
                self.assertTrue(all(word < 1 << bits for word, bits in zip(scalars, others)))
                for cut in range(1, 7):
                    first = self.meet(core, q, k[:cut], v[:cut])
                    second = self.meet(core, q, k[cut:], v[cut:], first.state())
                    self.assertEqual(second.state(), (scalars, o))
                    self.assertEqual(second.result(), whole.result())
                # A state alone is a query that has seen a key.
                self.assertEqual(self.meet(core, q, [], [], whole.state()).result(), whole.result())
        self.assertEqual(list(flashd.Core("flash-d", d=8).state_widths), ["accumulator", "lse", "room"])
        self.assertEqual(list(core.state_widths), ["accumulator", "m", "l"])

    def test_steps_refuse_bad_states(self):
        core = flashd.Core("flash-d", d=8, masks=True, partial=True)
        q, k, v = (core.encode(name, x).tolist() for name, x in (("q", self.q[0, 0, 0]), ("k", self.k[0, 0, :2]), ("v", self.v[0, 0, :2])))
        steps = self.meet(core, q, k, v)
        scalars, o = steps.state()
        late = "^a partial result: takes a core with partial results, and comes before a query's first key"
        for wrong, made, state in ((late, steps, (scalars, o)), ("^there is no query", core.steps(), (scalars, o)),
                                   (late, self.meet(flashd.Core("flash-d", d=8), q, [], []), (scalars, o)),
                                   ("^o has 7 elements, the core takes 8", self.meet(core, q, [], []), (scalars, o[1:])),
                                   ("^o: .* has more than", self.meet(core, q, [], []), (scalars, [1 << core.state_widths["accumulator"]] * 8)),
                                   ("^state: .* has more than", self.meet(core, q, [], []), ([1 << core.state_widths["lse"], 0], o))):
            with self.assertRaisesRegex(ValueError, wrong):
                made.restore(*state)

    def meet(self, core, q, k, v, state=None):
        """The steps of a query over keys, from a state if there is one."""
        steps = core.steps()
        # In bf16 that of numbers below 8, in all calls of a query: fixed-point lanes do not realign.
        steps.query(q, 127 + 2 if core._core.has_v_exponent else 0)
        if state is not None:
            steps.restore(*state)
        for key, value in zip(k, v):
            if steps.key(key)[-1]:
                steps.value(value)
        return steps


if __name__ == "__main__":
    unittest.main()
