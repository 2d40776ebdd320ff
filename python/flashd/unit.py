"""An attention unit with its memory, cycle by cycle."""

import json
from dataclasses import dataclass, field

from . import _flashd
from .arguments import as_flag, as_whole
from .core import Core


@dataclass
class UnitRun:
    """A finished run of a unit. Everything in its memory was compared with the model."""

    o: object
    """Results, of the shape and the type of q."""
    log_sum_exp: object
    """With `log_sum_exp=True`: log-sum-exps, base 2, of the shape of q without its last dimension; else None."""
    report: dict = field(repr=False)
    """The report of `flashd simulate --wrapper axi4 --json`: cycles, roofs, registers, errors."""

    cycles = property(lambda self: self.report["registers"]["CYCLES"], doc="Cycles in which the unit was busy.")
    utilisation = property(lambda self: self.report["utilisation"], doc="The larger roof, of keys or of beats, over the busy cycles.")


class Unit:
    """A unit around an array of `queries` cores: `Unit(core, queries=8, beat=128)`, with the other options of `--wrapper axi4`.

    Raises ValueError for what is not legal.
    """

    def __init__(self, core, queries=8, beat=None, *, address_bits=None, in_flight=None, values="requested", kv_buffer=None):
        if not isinstance(core, Core):
            raise TypeError(f"core: {core!r} is no flashd.Core")
        if values not in ("requested", "all"):
            raise ValueError(f"values: {values!r} is neither 'requested' nor 'all'")
        given = {"beat": beat, "address_bits": address_bits, "in_flight": in_flight, "kv_buffer": kv_buffer}
        given = {name: as_whole(name, x, 0) for name, x in given.items() if x is not None}
        self._core = core
        self._unit = _flashd.Unit(core._core, as_whole("queries", queries, 1), all_values=values == "all", **given)

    name = property(lambda self: self._unit.name, doc="The name of the module.")

    def __repr__(self):
        return f"<flashd.Unit {self.name}>"

    def run(self, q, k, v, *, causal=False, position=None, window=None, page=None, log_sum_exp=False, scale=None, tensor_scale=None,
            latency=8, gap=1, gaps=None, **fields):
        """A job: q is [H, queries, d], k [Hk, keys, d] and v [Hk, keys, dv], or [rows, d], as in `Core.run`.

        With causal the first query is at `position` among the keys, by default so that the last query is at the last key; `window` is
        the number of keys that a query sees at most. `page=n` puts keys and values in pages of 2^n tokens. `log_sum_exp` is for cores with
        partial results. `latency` and `gap` are the
        memory's, in cycles; `gaps` is a seed of random ones. Other fields are those of a descriptor by their names in lower case.
        """
        flat, given, like, shape = self._core._operands(q, k, v, scale=scale, tensor_scale=tensor_scale)
        q, k, v = flat
        flags = []
        if as_flag("causal", causal):
            flags.append("causal")
            fields["position"] = k.shape[1] - q.shape[1] if position is None else position
        if window is not None:
            flags.append("window")
            fields["window"] = as_whole("window", window, 1)
        if page is not None:
            flags.append("paged")
            fields["page"] = as_whole("page", page, 0)
        if as_flag("log_sum_exp", log_sum_exp):
            flags.append("lse")
        fields = json.dumps({"flags": flags, **fields})
        memory = (as_whole("latency", latency, 0), as_whole("gap", gap, 1), None if gaps is None else as_whole("gaps", gaps, 0))
        o, lses, report = self._unit.run(q, k, v, fields, *memory, **given)
        lses = None if lses is None else like(lses.reshape(shape[:-1]))
        return UnitRun(like(o.reshape(shape)), lses, json.loads(report))

    def files(self):
        """All files that `flashd generate` writes, by their names."""
        return dict(self._unit.files())
