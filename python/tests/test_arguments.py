"""What arguments may be: arrays of any layout, and nothing that would be cut, cast or ignored without a word."""

import unittest
import warnings

import numpy as np

from common import SEED

import flashd


class Layouts(unittest.TestCase):
    """The same numbers in any order of bytes and axes give the same bits."""

    def setUp(self):
        rng = np.random.default_rng(SEED)
        self.core = flashd.Core("flash-d", d=8, masks=True, bias=True)
        self.q, self.k, self.v = (rng.normal(size=(2, n, 8)).astype(np.float32) for n in (3, 7, 7))

    def layouts(self, x):
        wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        wide[..., ::2] = x
        yield "Fortran", np.asfortranarray(x)
        yield "big endian", x.astype(x.dtype.newbyteorder(">"))
        yield "every second", wide[..., ::2]
        yield "backwards", x[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1]
        yield "read only", np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape)
        yield "list", x.tolist()

    def test_numbers(self):
        expected = self.core.attention(self.q, self.k, self.v)
        for (name, q), (_, k), (_, v) in zip(*map(self.layouts, (self.q, self.k, self.v))):
            np.testing.assert_array_equal(np.asarray(self.core.attention(q, k, v), np.float32), expected, name)

    def test_encodings_masks_and_biases(self):
        q, k, v = (self.core.encode(name, x[0]) for name, x in zip("qkv", (self.q, self.k, self.v)))
        rng = np.random.default_rng(SEED)
        mask, bias = rng.random((3, 7)) < 0.7, self.core.encode("q", rng.normal(size=(21, 8)))[:, 0].reshape(3, 7)
        expected, _ = self.core.attention_raw(q, k, v, mask=mask, bias=bias, lengths=[3, 7, 6])
        for dtype in (np.uint16, np.uint32, np.int64, ">u2", ">i8"):
            for make in (np.asarray, np.asfortranarray, lambda x: np.repeat(x, 2, -1)[:, ::2], lambda x: x.tolist()):
                arrays = [make(x.astype(dtype)) for x in (q, k, v)]
                o, _ = self.core.attention_raw(*arrays, mask=make(mask), bias=make(bias.astype(dtype)), lengths=np.array([3, 7, 6], ">i4"))
                np.testing.assert_array_equal(o, expected)
        np.testing.assert_array_equal(self.core.decode("k", k.astype(">i8")), self.core.decode("k", k))
        seen = np.asfortranarray(np.stack([mask, ~mask]))
        np.testing.assert_array_equal(self.core.attention(self.q, self.k, self.v, mask=seen),
                                      self.core.attention(self.q, self.k, self.v, mask=np.ascontiguousarray(seen)))


class Refused(unittest.TestCase):
    """Errors say the argument and speak of Python's."""

    def setUp(self):
        self.core = flashd.Core("flash-d", d=4, masks=True, bias=True)
        self.x = np.ones((3, 4), np.float32)
        self.words = self.core.encode("q", self.x)

    def refused(self, text, call, *arrays, **settings):
        with self.assertRaises((ValueError, TypeError)) as caught:
            call(*arrays, **settings)
        said = str(caught.exception)
        self.assertRegex(said, f"^{text}")
        self.assertNotIn("--", said)
        self.assertNotIn("_operands", said)

    def test_numbers(self):
        x, ragged = self.x, [[1.0, 2.0, 3.0, 4.0], [1.0]]
        masked = np.ma.masked_array(x, x > 2)
        for bad in (x.astype(complex), x.astype(object), x > 0, x.astype(int), x.astype(str), ragged, masked, None, "text", {1: 2},
                    [[True] * 4], [[None] * 4], x.astype("datetime64[s]"), np.zeros((3, 4), "V2"), 1.5, np.float32(1), x[0, 0], [], [[]],
                    x[:, :0], x[:0], x[..., None], np.zeros((0, 3, 4), np.float32)):
            for place in range(3):
                arrays = [x, x, x]
                arrays[place] = bad
                self.refused("[qkv]\\b", self.core.attention, *arrays)
                self.refused("[qkv]\\b", self.core.run, *arrays)
        for bad in (x.astype(complex), x.astype(object), x > 0, x.astype(int), ragged, masked, None, 1.5, x[:, :3], [["1"] * 4]):
            self.refused("k\\b", self.core.encode, "k", bad)

    def test_encodings(self):
        words = self.words
        for bad in (self.x, words.astype(float), words.astype(bool), words.astype(complex), words.astype(object), -words.astype(int),
                    words.astype(np.int16) - 20000, words + (1 << 40), words[:, :3], words[0], words[None], words[:0], [[1, 2, 3, 4], [5]],
                    [[-1] * 4], [["1"] * 4], None, 7, [[1.0] * 4], [[True] * 4], [[1 << 70] * 4], np.ma.masked_array(words, words > 2)):
            for place in range(3):
                arrays = [words, words, words]
                arrays[place] = bad
                self.refused("[qkv]\\b", self.core.attention_raw, *arrays)
        for bad in (self.x, words.astype(bool), words.astype(object), -words.astype(int), words[:, :3], [[1, 2, 3, 4], [5]], None, 7, words + (1 << 40)):
            self.refused("k\\b", self.core.decode, "k", bad)
        for name, bad in (("lengths", [1.0, 2, 3]), ("lengths", [-1, 2, 3]), ("lengths", [4, 1, 1]), ("lengths", [1, 2]), ("lengths", "3"),
                          ("mask", np.ones((3, 3))), ("mask", np.ones((3, 3), int)), ("mask", np.ones((2, 3), bool)),
                          ("bias", np.ones((3, 3))), ("bias", -np.ones((3, 3), int)), ("bias", np.full((3, 3), 1 << 16)),
                          ("v_exponent", -1), ("v_exponent", 1.5), ("v_exponent", True), ("v_exponent", 1 << 70), ("v_exponent", 256)):
            self.refused(f"{name}\\b", self.core.attention_raw, words, words, words, **{name: bad})

    def test_settings(self):
        x = self.x
        for name, bad in (
                ("window", 0), ("window", -1), ("window", 1.5), ("window", True), ("window", "2"), ("window", 1 << 64), ("window", -(1 << 64)),
                ("window", np.float32(2)), ("lengths", 1.5), ("lengths", -1), ("lengths", 4), ("lengths", [1, 2]), ("lengths", True),
                ("lengths", [[1, 2], [3]]), ("lengths", 1 << 70), ("lengths", np.uint64(1 << 63)), ("causal", 1), ("causal", "yes"),
                ("causal", x > 0), ("smooth_k", 0.0), ("scale", 0), ("scale", -1.0), ("scale", float("nan")), ("scale", float("inf")),
                ("scale", True), ("scale", "much"), ("scale", 10**400), ("scale", [1.0]), ("scale", 1j), ("tensor_scale", "some"),
                ("tensor_scale", 1), ("causal_align", "left"), ("causal_align", 3), ("progress", 3), ("mask", x[:, :3].astype(int)),
                ("mask", x[:, :3].astype(complex)), ("mask", x[:, :3].astype(object)), ("mask", "text"), ("mask", x), ("mask", [[True], [True, False]]),
                ("mask", np.full((3, 3), np.nan)), ("mask", np.full((3, 3), np.inf)), ("mask", np.ma.masked_array(x[:, :3], x[:, :3] > 0))):
            for call in (self.core.attention, self.core.run):
                self.refused(f"{name}\\b", call, x, x, x, **{name: bad})
        # Unknown arguments are named with the called method.
        with self.assertRaisesRegex(TypeError, r"attention\(\) got an unexpected keyword argument 'windows'"):
            self.core.attention(x, x, x, windows=3)
        plain = flashd.Core("flash-d", d=4)
        for name, given in (("window", 2), ("lengths", 2), ("mask", x[:, :3] > 2), ("mask", np.where(x[:, :3] > 2, 0, -np.inf))):
            self.refused(f"{name}: .*masks=True", plain.attention, x, x, x, **{name: given})
        self.refused("mask: .*bias=True", plain.attention, x, x, x, mask=x[:, :3])
        self.refused("d: is given twice|score_shift: is given twice", flashd.Core, "fa2", d=4, **{"score_shift": 1, "score-shift": 2})
        for options in ({"d": -1}, {"d": 1 << 70}, {"d": 4.5}, {"d": True}, {"d": 4, "softcap": []}, {"d": 4, "masks": 1.5}, {"d": b"4"}):
            self.refused("", flashd.Core, "fa2", **options)
        for wrong in ('{"design": "fa2", "d": 4, "d": 8}', '{"design": "fa2", "d": 4, "nothing": 1}', "[]", "", '{"design": "fa2", "d": "4"}'):
            self.refused("", flashd.Core.from_json, wrong)

    def test_good_ones(self):
        x = self.x
        for given in ({"window": np.int64(2)}, {"lengths": np.uint8(2)}, {"lengths": [0, 1, 3]}, {"causal": np.True_}, {"scale": np.float16(0.5)},
                      {"scale": 1}, {"scale": "none"}, {"tensor_scale": "none"}, {"window": 1 << 40}, {"mask": True}, {"mask": [True, False, True]},
                      {"causal": True, "causal_align": "top-left"}):
            self.core.attention(x, x, x, **given)

    def test_steps(self):
        steps, q = self.core.steps(), self.words[0].tolist()
        steps.query(q)
        for call, arguments in ((steps.query, (self.x[0],)), (steps.query, ([-1] * 4,)), (steps.query, ([1 << 70] * 4,)), (steps.query, ([True] * 4,)),
                                (steps.query, (q, -1)), (steps.query, (q, 1.5)), (steps.query, (7,)), (steps.key, ([1.0] * 4,)),
                                (steps.key, (q, False, -1)), (steps.value, ([-1] * 4,))):
            self.refused("", call, *arguments)
        steps.key(np.array(q, np.uint16))
        steps.value(self.words[0])


class Unseen(unittest.TestCase):
    """Rows that no query sees are arbitrary; masks may hold minus infinity."""

    def test_rows(self):
        rng = np.random.default_rng(SEED)
        garbage = np.array([np.nan, np.inf, -np.inf, 3e38, -1e30], np.float32)
        for design, options in (("flash-d", {}), ("fa2", {}), ("flash-d", {"format": "fp8-e4m3"}), ("fa2", {"format": "fp16"}),
                                ("flash-d", {"format": "int8"}), ("fa2", {"update": None, "fa2": "log-reference"}), ("flash-d", {"update": "fixed"})):
            core = flashd.Core(design, d=8, masks=True, bias=True, **{name: x for name, x in options.items() if x})
            q, k, v = (rng.normal(size=(2, n, 8)).astype(np.float32) for n in (5, 9, 9))
            hidden = np.ones((5, 9), bool)
            hidden[:, [2, 7]] = False
            added = np.where(hidden, rng.normal(size=(5, 9)), -np.inf)
            loose = np.where(np.tri(5, 9, 4, dtype=bool), 0, np.nan)
            for settings, seen in (({"mask": hidden}, [0, 1, 3, 4, 5, 6, 8]), ({"mask": added}, [0, 1, 3, 4, 5, 6, 8]),
                                   ({"lengths": [4, 3, 0, 1, 2]}, [0, 1, 2, 3]), ({"window": 2, "causal": True}, [3, 4, 5, 6, 7, 8]),
                                   ({"causal": True, "causal_align": "top-left"}, [0, 1, 2, 3, 4]), ({"causal": True, "mask": loose}, range(9))):
                others = np.setdiff1d(np.arange(9), seen)
                clean, dirty = [k.copy(), v.copy()], [k.copy(), v.copy()]
                for x, y in zip(clean, dirty):
                    x[:, others] = 0
                    y[:, others] = garbage[np.arange(8 * len(others)) % 5].reshape(-1, 8)
                for smooth in (False, True):
                    runs = [core.run(q, *kv, smooth_k=smooth, **settings) for kv in (clean, dirty)]
                    with self.subTest(core=core.flags, **{name: str(x) for name, x in settings.items()}):
                        np.testing.assert_array_equal(runs[0].o, runs[1].o)
                        self.assertTrue(np.isfinite(runs[1].o).all() and np.isfinite(runs[1].max_error).all())
                        self.assertEqual(runs[0].heads, runs[1].heads)
                bad = k.copy()
                bad[1, seen[0], 3] = np.nan
                with self.assertRaisesRegex(ValueError, f"^k: head 1, row {seen[0]}, column 3 is NaN"):
                    core.run(q, bad, v, **settings)

    def test_nothing_is_seen(self):
        core = flashd.Core("fa2", d=4, masks=True, format="fp8-e4m3")
        bad = np.full((3, 4), np.nan, np.float32)
        run = core.run(bad, bad, bad, mask=np.full((3, 3), -np.inf))
        self.assertEqual((run.o.tolist(), run.empty_queries.tolist()), ([[0.0] * 4] * 3, 3))

    def test_encodings(self):
        rng = np.random.default_rng(SEED)
        for design, options in (("flash-d", {}), ("flash-d", {"update": "fixed"}), ("fa2", {"fa2": "log-reference"}), ("flash-d", {"format": "int8"})):
            core = flashd.Core(design, d=8, masks=True, bias=True, **options)
            q, k, v = (core.encode(name, rng.normal(size=(n, 8)).astype(np.float32)) for name, n in zip("qkv", (3, 6, 6)))
            mask = np.ones((3, 6), bool)
            mask[:, 4] = False
            expected, _ = core.attention_raw(q, k, v, mask=mask, lengths=[5, 5, 5])
            for x, bits in ((k, core._core.row("k")[0]), (v, core._core.row("v")[0])):
                x[4:] = rng.integers(0, 1 << bits, x[4:].shape)
                x[5, :2] = (1 << bits) - 1
            o, told = core.attention_raw(q, k, v, mask=mask, lengths=[5, 5, 5])
            np.testing.assert_array_equal(o, expected)
            self.assertFalse(any(told["invalid"]) or any(told["overflow"]))
            minus_infinity = np.where(np.arange(6) == 4, 0xFF80, 0) * np.ones((3, 1), int)
            o, _ = core.attention_raw(q, k, v, bias=minus_infinity, lengths=[5, 5, 5])
            np.testing.assert_array_equal(o, expected)


if __name__ == "__main__":
    warnings.simplefilter("error")
    unittest.main()
