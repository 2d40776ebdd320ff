"""A core with arrays of any library: shapes, types of elements, heads."""

import json
import warnings
from dataclasses import dataclass, field

import numpy as np

from . import _flashd
from .arguments import as_flag, as_float32, as_lengths, as_numpy, as_scale, as_string, as_whole, as_words, seen_and_added, spread


def _text(value):
    """An option's value as the command line has it."""
    return {True: "true", False: "false"}.get(value, value) if isinstance(value, bool) else str(value)


@dataclass
class Run:
    """A finished run. Arrays have the shape of q in front: [..., H, queries, keys], and [..., H] for numbers of a head."""

    o: object
    """Results, [..., H, queries, d], of the type of q."""
    heads: list = field(repr=False)
    """A dictionary for each head: counts, cycles, scales, errors."""
    shape: tuple = ()
    """The sizes before the last two of q's shape."""
    overflow: str = None
    """A warning about results beyond the range of fixed-point lanes, if any."""
    saturated: str = None
    """A warning about scores beyond the core's range, with a remedy, if any."""
    too_long: str = None
    """A warning about queries of more keys than the core is built for, with a remedy, if any."""

    def _of(self, name):
        """Of all heads: a number of each, or an array of each."""
        values = [head[name] for head in self.heads]
        return np.stack(values).reshape(self.shape + np.shape(values[0]))

    def __getattr__(self, name):
        if name.startswith("_") or name not in self.heads[0]:
            raise AttributeError(f"no {name} in this run; there are {', '.join(self.heads[0])}")
        return self._of(name)

    @property
    def skipped(self):
        """Which steps were held: the value was not read. Of a run with steps=True."""
        return self._of("actions") == 2


class Core:
    """A core: a design, a vector length, a format, and any option of the command line by its name.

    `Core("flash-d", d=64, format="bf16", masks=True)`, with dk and dv in place of d where they differ. `Core.from_json(text)` and
    `Core.from_file(path)` take configuration files.
    Raises ValueError for what is not legal.
    """

    def __init__(self, design, d=None, format="bf16", **options):
        given = {"design": design, "d": d, "format": format, **options}
        pairs = [(name, _text(value)) for name, value in given.items() if value is not None]
        names = [name.replace("-", "_") for name in given]
        doubled = [name for name in names if names.count(name) > 1]
        if doubled:
            raise ValueError(f"{doubled[0]}: is given twice, with - and with _")
        self._core = _flashd.Core.from_options(pairs)

    @classmethod
    def from_json(cls, text):
        """The core of a configuration file's text, or of such a dictionary."""
        core = cls.__new__(cls)
        core._core = _flashd.Core.from_json(text if isinstance(text, str) else json.dumps(text))
        return core

    @classmethod
    def from_file(cls, path):
        """The core of a configuration file."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            return cls.from_json(text)
        except ValueError as e:
            raise ValueError(f"{path}: {e}") from None

    def __repr__(self):
        return f"<flashd.Core {self.flags}>"

    def __reduce__(self):
        return (Core.from_json, (self._core.json,))

    name = property(lambda self: self._core.name, doc="The name of the module.")
    flags = property(lambda self: self._core.flags, doc="The flags that select this core.")
    d = property(lambda self: self._core.d, doc="Length of a query and of a key.")
    dv = property(lambda self: self._core.dv, doc="Length of a value and of a result.")
    formats = property(lambda self: dict(zip("qkvo", self._core.formats)), doc="The formats of q, k, v and o, by their letters.")
    format = property(lambda self: self.formats["q"], doc="The format of q: that of all, where they have one.")
    state_widths = property(lambda self: dict(self._core.state_widths), doc="Bits of an accumulator and of each scalar of a state, by their names.")
    latency = property(lambda self: self._core.latency, doc="Cycles from a query's last key to its result.")
    config = property(lambda self: json.loads(self._core.json), doc="The configuration, as in a file.")

    def attention(self, q, k, v, *, causal=False, mask=None, scale=None, lengths=None, window=None, causal_align=None,
                  tensor_scale=None, smooth_k=False, progress=None):
        """Attention as the hardware computes it: `run(...).o`."""
        flat, given, like, shape = self._operands(
            q, k, v, mask, lengths, causal=causal, window=window, causal_align=causal_align, tensor_scale=tensor_scale, scale=scale,
            smooth_k=smooth_k)
        # No counts: to make them takes as long as a short query does.
        o, _, *wrong = self._ran(flat, progress, False, given)
        for text in filter(None, wrong):
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        return like(o.reshape(shape))

    def run(self, q, k, v, *, causal=False, mask=None, scale=None, lengths=None, window=None, causal_align=None,
            tensor_scale=None, smooth_k=False, steps=False, errors=True, progress=None):
        """Attention with counts, cycles and errors.

        q is [..., H, queries, d], k [..., Hk, keys, d] and v [..., Hk, keys, dv], where each head of k and v serves H / Hk heads of q in a row;
        [rows, d] and a query [d] are one head; results are [..., H, queries, dv]. float32, float16, float64, bfloat16 and float8 of ml_dtypes,
        torch tensors, anything with __array__ or DLPack; results are of q's type. Values are rounded to the core's formats, integers with the
        scales of their rows, as `flashd simulate` does, and the results are its bits.

        causal, window, causal_align, lengths, scale, tensor_scale and smooth_k are the command's flags. lengths is a number, or an array that
        broadcasts to [..., H, queries]; mask is True for keys that a query sees, and broadcasts to [..., H, queries, keys]; of floats it is
        what is added to scores: -inf, or the type's least number, for keys that are not seen, other numbers in a core with a bias. window,
        lengths and keys that are not seen take a core with masks. Keys and values that no query sees may be anything. In a core with partial
        results log_sum_exp is that of each query, in base 2: minus infinity where no key is seen. steps=True keeps scores, weights and what was held, errors=False leaves
        out the comparison with f64. progress is called with the steps done and those of all.
        """
        flat, given, like, shape = self._operands(
            q, k, v, mask, lengths, causal=causal, window=window, causal_align=causal_align, tensor_scale=tensor_scale, scale=scale,
            smooth_k=smooth_k, steps=steps, errors=errors)
        o, heads, *wrong = self._ran(flat, progress, True, given)
        for text in filter(None, wrong):
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        return Run(like(o.reshape(shape)), heads, shape[:-2], *wrong)

    def _ran(self, flat, progress, tells, given):
        if progress is not None and not callable(progress):
            raise TypeError(f"progress: {progress!r} cannot be called")
        try:
            return self._core.attention(*flat, progress, tells, **given)
        except ValueError as e:
            # Biases are part of the mask here.
            text = str(e)
            raise ValueError("mask" + text[4:] if text.startswith("bias:") else text) from None

    def _operands(self, q, k, v, mask=None, lengths=None, *, causal=False, window=None, causal_align=None, tensor_scale=None, scale=None,
                  smooth_k=False, steps=False, errors=False):
        """q, k and v for the compiled part, the other arguments that are given, a function that makes results like q, and their shape."""
        (q, like), (k, _), (v, _) = as_float32("q", q), as_float32("k", k), as_float32("v", v)
        own_d, dv = self._core.d, self._core.dv
        shape = (*q.shape[:-1], dv)
        if q.ndim == 1:
            q = q[None]
        for name, x, flag, d in (("q", q, "d", own_d), ("k", k, "d", own_d), ("v", v, "dv", dv)):
            if x.ndim < 2:
                raise ValueError(f"{name}: has shape {list(x.shape)}; [..., heads, rows, d] is needed")
            if x.shape[-1] != d:
                raise ValueError(f"{name}: has {flag} = {x.shape[-1]}, the core has {flag} = {d}")
        if k.shape[:-1] != v.shape[:-1]:
            raise ValueError(f"v: has shape {list(v.shape)}, but k has {list(k.shape)}")
        if 0 in q.shape + k.shape:
            raise ValueError("q, k and v: at least one head, one row and one column are needed")
        leading, own = q.shape[:-2], k.shape[:-2]
        if len(leading) != len(own) or leading[:-1] != own[:-1]:
            raise ValueError(f"k: has shape {list(k.shape)}, which does not go with q's {list(q.shape)} but in heads, rows")
        if leading and (own[-1] == 0 or leading[-1] % own[-1]):
            raise ValueError(f"k: {own[-1]} heads, but q has {leading[-1]}; a number that divides q's is needed")
        flat = [np.ascontiguousarray(x).reshape(-1, *x.shape[-2:]) for x in (q, k, v)]
        given = {}
        for name, x, check in (
            ("causal", causal, as_flag), ("smooth_k", smooth_k, as_flag), ("steps", steps, as_flag), ("errors", errors, as_flag),
            ("causal_align", causal_align, as_string), ("tensor_scale", tensor_scale, as_string),
            ("window", window, lambda name, x: as_whole(name, x, 1)), ("scale", scale, lambda _, x: as_scale(x))):
            if x is not None and x is not False:
                given[name] = check(name, x)
        if lengths is not None:
            lengths = as_lengths("lengths", lengths)
            if lengths.ndim:
                lengths = spread("lengths", lengths, q.shape[:-1])
            given["lengths"] = lengths.ravel().tolist()
        if mask is not None:
            seen, added = seen_and_added(mask)
            one = seen.ndim <= 2 or all(n == 1 for n in seen.shape[:-2])
            whole = (flat[0].shape[1], flat[1].shape[1])

            def table(x):
                x = spread("mask", x.reshape(x.shape[-2:]) if one and x.ndim > 2 else x, whole if one else leading + whole)
                return np.ascontiguousarray(x).ravel()

            # Biases need no masks where every key is seen.
            if added is None or not seen.all():
                given["hidden"] = table(~seen)
            if added is not None:
                given["bias"] = table(added)
        return flat, given, like, shape

    def attention_raw(self, q, k, v, *, lengths=None, mask=None, bias=None, v_exponent=None):
        """One head in encodings, rows of integers as `encode` gives them: nothing is scaled. Returns encodings, and flags and counts."""
        given = []
        for name, x in (("q", q), ("k", k), ("v", v)):
            x, words = as_words(name, x), self._core.row(name)[1]
            if x.ndim != 2 or x.shape[-1] != words or not x.size:
                raise ValueError(f"{name}: has shape {list(x.shape)}; rows of {words} are needed")
            given.append(x[None])
        q, k, v = given
        queries, keys = q.shape[1], k.shape[1]
        if lengths is not None:
            lengths = spread("lengths", as_lengths("lengths", lengths), (queries,)).tolist()
        hidden = None
        if mask is not None:
            seen = as_numpy("mask", mask)
            if seen.dtype != bool:
                raise ValueError(f"mask: elements of type {seen.dtype.name}; booleans are needed, True for keys that are seen")
            hidden = (~spread("mask", seen, (queries, keys))).ravel().tolist()
        if bias is not None:
            bias = spread("bias", as_words("bias", bias), (queries, keys)).ravel().tolist()
        if v_exponent is not None:
            v_exponent = as_whole("v_exponent", v_exponent, 0)
        o, told = self._core.attention_raw(q, k, v, lengths, hidden, bias, v_exponent)
        return o.reshape(-1, self.dv), told

    def encode(self, operand, x):
        """Numbers, [..., rows, elements], as encodings of "q", "k", "v" or "o", [..., rows, words]: each rounded to nearest, ties to even.

        In a core whose rows have scales, the words of the scale, which is chosen here, stand behind the elements of a row.
        """
        self._core.row(operand)
        x = np.ascontiguousarray(as_float32(operand, x)[0])
        d = self.dv if operand in ("v", "o") else self.d
        if x.ndim == 0 or x.shape[-1] != d:
            raise ValueError(f"{operand}: has shape {list(x.shape)}; rows of {d} are needed")
        return self._core.encode(operand, x.ravel()).reshape(*x.shape[:-1], -1)

    def decode(self, operand, encodings):
        """The numbers, in float64, of encodings of "q", "k", "v" or "o": the inverse of `encode`."""
        encodings = as_words(operand, encodings)
        words = self._core.row(operand)[1]
        if encodings.ndim == 0 or encodings.shape[-1] != words:
            raise ValueError(f"{operand}: has shape {list(encodings.shape)}; rows of {words} are needed")
        return self._core.decode(operand, encodings.ravel()).reshape(*encodings.shape[:-1], -1)

    def steps(self):
        """The core one step at a time, on encodings: query, key, value, result.

        `state()` gives scalars and accumulators after a step. With `partial=True` another query's steps start from them: `restore(*state)` behind
        `query` and before its first key. The state of a query that has seen no key is `no_key`.
        """
        return self._core.steps()

    @property
    def no_key(self):
        """The state, scalars and accumulators, of a query that has seen no key: it changes nothing in `merge` and in `restore`."""
        return self._core.no_key

    def merge(self, *states):
        """The state of the keys of all these states, merged one after another as a node of split keys does it; `no_key` without any."""
        merged = self.no_key
        for scalars, o in states:
            pair = as_words("scalars", scalars), as_words("o", o)
            if pair[0].shape != (2,) or pair[1].ndim != 1:
                raise ValueError(f"state: has shapes {list(pair[0].shape)} and {list(pair[1].shape)}; [2] and [{self.dv}] are needed")
            merged = self._core.merge(merged, (pair[0].tolist(), pair[1].tolist()))
        return merged

    def log_sum_exp(self, state):
        """The log-sum-exp of a state in base 2, minus infinity for no key: ln 2 times it is the natural one."""
        scalars = as_words("scalars", state[0])
        if scalars.shape != (2,):
            raise ValueError(f"state: has scalars of shape {list(scalars.shape)}; [2] is needed")
        return self._core.log_sum_exp(scalars.tolist())

    def verilog(self, *, prefix=None):
        """The Verilog of the core, as `flashd generate` writes it.

        Names of modules begin with `prefix`; by default with the name of the core, and with nothing if `prefix` is "none".
        """
        # The Verilog is the first file.
        return next(iter(self.files(prefix=prefix).values()))

    @property
    def manifest(self):
        """The description of the Verilog for programs: ports, latencies, widths, modules."""
        return json.loads(self.files()[f"{self.name}.json"])

    def files(self, *, prefix=None):
        """All files that `flashd generate` writes, by their names; `prefix` as in `verilog`."""
        return dict(self._core.files(prefix))

    def write(self, folder, *, prefix=None):
        """Writes them into a folder; returns their paths."""
        return self._core.write(folder, prefix)
