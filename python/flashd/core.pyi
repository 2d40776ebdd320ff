from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Optional, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._flashd import Steps

A = TypeVar("A")

class Run:
    o: Any
    heads: list[dict[str, Any]]
    shape: tuple[int, ...]
    overflow: Optional[str]
    saturated: Optional[str]
    too_long: Optional[str]
    skipped: NDArray[np.bool_]
    def __getattr__(self, name: str) -> NDArray[Any]: ...

class Core:
    name: str
    flags: str
    d: int
    dv: int
    format: str
    formats: dict[str, str]
    state_widths: dict[str, int]
    latency: int
    config: dict[str, Any]
    manifest: dict[str, Any]
    def __init__(self, design: str, d: Optional[int] = None, format: str = "bf16", **options: str | int | bool | None) -> None: ...
    @classmethod
    def from_json(cls, text: str | Mapping[str, Any]) -> Core: ...
    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Core: ...
    def attention(
        self, q: A, k: Any, v: Any, *, causal: bool = False, mask: Optional[ArrayLike] = None, scale: Optional[float | str] = None,
        lengths: Optional[ArrayLike] = None, window: Optional[int] = None, causal_align: Optional[str] = None,
        tensor_scale: Optional[str] = None, smooth_k: bool = False, progress: Optional[Callable[[int, int], object]] = None
    ) -> A: ...
    def run(
        self, q: Any, k: Any, v: Any, *, causal: bool = False, mask: Optional[ArrayLike] = None, scale: Optional[float | str] = None,
        lengths: Optional[ArrayLike] = None, window: Optional[int] = None, causal_align: Optional[str] = None,
        tensor_scale: Optional[str] = None, smooth_k: bool = False, steps: bool = False, errors: bool = True,
        progress: Optional[Callable[[int, int], object]] = None
    ) -> Run: ...
    def attention_raw(
        self, q: ArrayLike, k: ArrayLike, v: ArrayLike, *, lengths: Optional[list[int]] = None, mask: Optional[ArrayLike] = None,
        bias: Optional[ArrayLike] = None, v_exponent: Optional[int] = None
    ) -> tuple[NDArray[np.uint64], dict[str, Any]]: ...
    def encode(self, operand: str, x: ArrayLike) -> NDArray[np.uint64]: ...
    def decode(self, operand: str, encodings: ArrayLike) -> NDArray[np.float64]: ...
    def steps(self) -> Steps: ...
    no_key: tuple[list[int], list[int]]
    def merge(self, *states: tuple[Sequence[int], Sequence[int]]) -> tuple[list[int], list[int]]: ...
    def log_sum_exp(self, state: tuple[Sequence[int], Sequence[int]]) -> float: ...
    def verilog(self, *, prefix: Optional[str] = None) -> str: ...
    def files(self, *, prefix: Optional[str] = None) -> dict[str, str]: ...
    def write(self, folder: str | PathLike[str], *, prefix: Optional[str] = None) -> list[str]: ...
