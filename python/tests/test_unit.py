"""An attention unit against the model and the command line."""

import unittest

import numpy as np

import flashd


class Units(unittest.TestCase):
    """A unit gives its core's results, whatever memory, pages and groups it has."""

    def setUp(self):
        rng = np.random.default_rng(5)
        self.core = flashd.Core("flash-d", d=8, format="bf16", masks=True)
        self.q = rng.standard_normal((4, 5, 8), dtype=np.float32)
        self.k, self.v = (rng.standard_normal((2, 21, 8), dtype=np.float32) for _ in range(2))

    def test_results_are_the_cores(self):
        unit = flashd.Unit(self.core, queries=3, beat=64)
        whole = self.core.attention(self.q, self.k, self.v, causal=True)
        for given in ({}, {"page": 3}, {"latency": 50, "gap": 2}, {"gaps": 4}, {"o": "0x400001", "k_row": 19}):
            run = unit.run(self.q, self.k, self.v, causal=True, **given)
            self.assertTrue(np.array_equal(run.o, whole), given)
            self.assertEqual(run.report["mismatches"], 0)
            self.assertLess(run.report["accuracy"]["mean"], 0.01)
        self.assertGreater(run.cycles, run.report["beat_roof"])
        self.assertTrue(0 < run.utilisation < 1)
        window = unit.run(self.q[0], self.k[0], self.v[0], causal=True, window=4).o
        self.assertTrue(np.array_equal(window, self.core.attention(self.q[0], self.k[0], self.v[0], causal=True, window=4)))

    def test_a_scale_at_run_time_is_the_jobs(self):
        core = flashd.Core("flash-d", d=8, format="bf16", q_scales="row-q16", masks=True)
        unit = flashd.Unit(core, queries=3, beat=64)
        for scale, register in ((None, round(65536 / 8**0.5)), ("none", 0), (0.25, 0x4000), (0.3, 19661)):
            run = unit.run(self.q, self.k, self.v, causal=True, scale=scale)
            self.assertEqual((run.report["registers"]["SCALE"], run.report["mismatches"]), (register, 0))
            self.assertLess(run.report["accuracy"]["mean"], 0.01)
        # A core without the scale has a power of two in its shift.
        quarter = self.core.attention(self.q, self.k, self.v, scale=0.25)
        self.assertTrue(np.allclose(unit.run(self.q, self.k, self.v, scale=0.25).o, quarter, rtol=0, atol=0.02))
        for wrong in (1.5, 1e-6):
            with self.assertRaisesRegex(ValueError, "SCALE goes from 1 to 65536"):
                unit.run(self.q, self.k, self.v, scale=wrong)

    def test_log_sum_exps_are_the_cores(self):
        for design in ("flash-d", "fa2"):
            core = flashd.Core(design, d=8, format="bf16", masks=True, partial=True)
            run = flashd.Unit(core, queries=3).run(self.q, self.k, self.v, causal=True, log_sum_exp=True)
            exact = core.run(self.q, self.k, self.v, causal=True).log_sum_exp
            self.assertEqual(run.log_sum_exp.shape, (4, 5))
            self.assertTrue(np.allclose(run.log_sum_exp, exact, rtol=0, atol=1e-5), design)

    def test_what_cannot_be_is_refused(self):
        for wrong, about in (({"queries": 0}, "queries"), ({"beat": 96}, "beat"), ({"values": "some"}, "values"), ({"kv_buffer": 16}, "kv_buffer")):
            with self.assertRaisesRegex(ValueError, about):
                flashd.Unit(self.core, **wrong)
        unit = flashd.Unit(self.core, queries=2)
        for wrong, about in (({"querys": 3}, "querys"), ({"queries": 3}, "queries"), ({"window": 3}, "WINDOW"), ({"o_row": 3}, "STRIDE")):
            with self.assertRaisesRegex(ValueError, about):
                unit.run(self.q, self.k, self.v, **wrong)

    def test_files_are_those_of_generate(self):
        names = flashd.Unit(self.core, queries=2).files()
        name = flashd.Unit(self.core, queries=2).name
        self.assertIn(f"{name}.v", names)
        self.assertIn("flashd_unit.c", names)


if __name__ == "__main__":
    unittest.main()
