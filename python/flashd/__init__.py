"""Bit-exact FLASH-D and FlashAttention-2 hardware from Python.

    import flashd
    core = flashd.Core("flash-d", d=64, format="bf16")
    o = core.attention(q, k, v, causal=True)

The results are those of the hardware, bit for bit: the core's Verilog, its cycle-accurate simulation and this model are checked against
each other. `docs/guide/bindings.md` of the repository is the guide.
"""

from ._flashd import Steps, __version__
from .command import accuracy, command, explore
from .core import Core, Run
from .unit import Unit, UnitRun

__all__ = ["Core", "Run", "Steps", "Unit", "UnitRun", "accuracy", "command", "explore", "__version__"]
