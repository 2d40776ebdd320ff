"""Errors of the installed package."""

import unittest

import numpy as np

import flashd


class Errors(unittest.TestCase):
    """Wrong arguments raise ValueError, with the command line's text in Python's words."""

    def test_cores(self):
        for options, text in [
            ({"d": 1}, "d: 1 is outside 2 to 576"),
            ({"d": 8, "format": "fp5"}, "format: unknown format 'fp5'"),
            ({"d": 8, "bogus": 1}, "unknown option 'bogus'"),
            ({"d": 8, "fa2": "log-reference"}, "fa2: "),
            ({"d": 8, "masks": "perhaps"}, "masks: 'perhaps' is neither true nor false"),
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
            ((x[:, :2], x, x), {}, "q: has d = 2, the core has d = 4"),
            ((x[None], x, x), {}, "k: has shape"),
            ((x[None], np.stack([x, x]), np.stack([x, x])), {}, "k: 2 heads, but q has 1"),
            ((x, x, x), {"window": 2}, "window: takes a core with masks; add masks=True"),
            ((x, x, x), {"lengths": 2}, "lengths: takes a core with masks; add masks=True"),
            ((x, x, x), {"mask": x[:, :3] > 0}, "mask: takes a core with masks; add masks=True"),
            ((x, x, x), {"mask": x[:, :3]}, "mask: adds 1 to the score of query 0 and key 0, which takes a core that adds a bias; add bias=True"),
            ((x, x, x), {"mask": x.astype(int)}, "mask: elements of type int64; booleans"),
            ((x, x, x), {"scale": 0}, "scale: score scale 0 is not a positive finite number"),
            ((x, x, x), {"scale": "much"}, "scale: neither auto nor none nor a number"),
            ((x, x, x), {"causal_align": "top-left"}, "causal_align: says where"),
            ((x[:0], x, x), {}, "q, k and v: at least one head"),
            ((x > 0, x, x), {}, "q: elements of type bool"),
            ((x * 1e30, x.astype(np.float64) * 1e300, x), {}, "k: row 0, column 0 is inf"),
        ]:
            with self.assertRaisesRegex(ValueError, f"^{text}"):
                core.attention(*arrays, **settings)

    def test_a_core_that_shifts_by_itself(self):
        core, x = flashd.Core("fa2", d=4, score_shift=-1), np.ones((3, 4), dtype=np.float32)
        with self.assertRaisesRegex(ValueError, "^score_shift: simulate derives it"):
            core.attention(x, x, x)


if __name__ == "__main__":
    unittest.main()
