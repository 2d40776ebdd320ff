"""States of queries: the one of no key, merges, and the example of the documents."""

import re
import unittest
from pathlib import Path

import numpy as np

from common import SEED

import flashd

CORES = [("flash-d", {}), ("flash-d", {"update": "fixed"}), ("flash-d", {"format": "int8"}), ("fa2", {}), ("fa2", {"fa2": "log-reference"}),
         ("fa2", {"fa2": "shared-log-reference"})]


class States(unittest.TestCase):
    """For both designs."""

    def setUp(self):
        rng = np.random.default_rng(SEED)
        self.q, self.k, self.v = (rng.normal(size=(n, 8)).astype(np.float32) for n in (5, 40, 40))

    def cores(self):
        for design, options in CORES:
            core = flashd.Core(design, d=8, masks=True, partial=True, **options)
            with self.subTest(core=core.flags):
                yield core

    def steps(self, core, keys, state=None):
        q, k, v = (core.encode(name, x) for name, x in zip("qkv", (self.q[:1], self.k, self.v)))
        steps = core.steps()
        steps.query(q[0], 127 + 2 if core._core.has_v_exponent else 0)
        if state is not None:
            steps.restore(*state)
        for key in keys:
            if steps.key(k[key])[-1]:
                steps.value(v[key])
        return steps

    def test_no_key(self):
        for core in self.cores():
            self.assertEqual(core.log_sum_exp(core.no_key), -np.inf)
            self.assertEqual(self.steps(core, []).state(), core.no_key)
            some = self.steps(core, range(9))
            for state in (core.merge(core.no_key, some.state()), core.merge(some.state(), core.no_key), core.merge(some.state()),
                          self.steps(core, range(9), core.no_key).state()):
                self.assertEqual(tuple(map(list, state)), tuple(map(list, some.state())))
            self.assertEqual(core.merge(), core.no_key)
            self.assertEqual(core.merge(core.no_key, core.no_key), core.no_key)
            empty = self.steps(core, [], core.no_key).result()[3]
            self.assertTrue(empty)
            self.assertEqual(self.steps(core, range(9), core.no_key).result(), some.result())
            # Arrays do as well.
            scalars, o = core.no_key
            self.assertEqual(core.log_sum_exp((np.array(scalars, np.uint64), np.array(o, np.uint64))), -np.inf)
            for bad in (([1], o), (scalars, o[1:]), ([-1, 0], o), (scalars, [1.5] * 8)):
                with self.assertRaises(ValueError):
                    core.merge(bad)

    def test_merges(self):
        for core in self.cores():
            whole, parts = self.steps(core, range(40)), [self.steps(core, range(i, i + 10)) for i in (0, 10, 20, 30)]
            merged = core.merge(*(part.state() for part in parts))
            self.assertAlmostEqual(core.log_sum_exp(merged), core.log_sum_exp(whole.state()), delta=0.02)
            o = core.decode("o", np.array([self.steps(core, [], merged).result()[0], whole.result()[0]]))
            np.testing.assert_allclose(o[0], o[1], atol=0.05 * np.abs(self.v).max())

    def test_log_sum_exps(self):
        scores = self.q.astype(float) @ self.k.T.astype(float) / np.sqrt(8)
        exact = np.log2(np.exp(scores).sum(-1))
        for core in self.cores():
            run = core.run(self.q, self.k, self.v)
            np.testing.assert_allclose(run.log_sum_exp, exact, atol=0.05)
            run = core.run(self.q, self.k, self.v, lengths=[40, 0, 1, 0, 3])
            self.assertEqual(np.isneginf(run.log_sum_exp).tolist(), [False, True, False, True, False])

    def test_the_example(self):
        """The text of docs/reference/partial.md, on heads of this test."""
        page = Path(__file__).parents[2] / "docs/reference/partial.md"
        example, = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
        rng = np.random.default_rng(SEED)
        q, k, v = (rng.normal(size=(n, 64)).astype(np.float32) for n in (5, 100, 100))
        for design in ("flash-d", "fa2"):
            names = {"flashd": flashd, "np": np, "q": q, "k": k, "v": v}
            exec(example.replace('"flash-d"', f'"{design}"'), names)
            whole = names["core"].run(q, k, v)
            np.testing.assert_allclose(names["o"], whole.o, atol=0.02 * np.abs(v).max())
            np.testing.assert_allclose(names["log_sum_exp"], whole.log_sum_exp, atol=0.02)
            np.testing.assert_allclose(names["natural"], np.log(np.exp(q.astype(float) @ k.T.astype(float) / 8).sum(-1)), atol=0.05)
            # Parts that some queries see nothing of, and queries that see nothing at all.
            lengths = [100, 0, 3, 0, 60]
            part = lambda at: np.clip(np.array(lengths) - at, 0, 50)  # noqa: E731
            runs = [names["core"].run(q, k[at : at + 50], v[at : at + 50], lengths=part(at)) for at in (0, 50)]
            o, log_sum_exp = names["merge"](np.stack([run.o for run in runs]), np.stack([run.log_sum_exp for run in runs]))
            whole = names["core"].run(q, k, v, lengths=lengths)
            np.testing.assert_allclose(o, whole.o, atol=0.02 * np.abs(v).max())
            np.testing.assert_array_equal(np.isneginf(log_sum_exp), np.isneginf(whole.log_sum_exp))
            self.assertEqual(np.abs(o[[1, 3]]).max(), 0)


if __name__ == "__main__":
    unittest.main()
