from collections.abc import Callable
from os import PathLike
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

__version__: str

class Core:
    name: str
    json: str
    flags: str
    d: int
    format: str
    fields: tuple[int, int]
    masks: bool
    has_v_exponent: bool
    latency: int
    v_step_latency: int
    @staticmethod
    def from_json(text: str) -> Core: ...
    @staticmethod
    def from_options(options: list[tuple[str, str]]) -> Core: ...
    def attention(
        self, q: NDArray[np.float32], k: NDArray[np.float32], v: NDArray[np.float32],
        progress: Optional[Callable[[int, int], object]] = None, **given: Any
    ) -> tuple[NDArray[np.float32], list[dict[str, Any]], Optional[str]]: ...
    def attention_raw(
        self, q: NDArray[np.uint64], k: NDArray[np.uint64], v: NDArray[np.uint64], lengths: Optional[list[int]] = None,
        hidden: Optional[list[bool]] = None, v_exponent: Optional[int] = None
    ) -> tuple[NDArray[np.uint64], dict[str, Any]]: ...
    def files(self) -> list[tuple[str, str]]: ...
    def write(self, folder: str | PathLike[str]) -> list[str]: ...
    def steps(self) -> Steps: ...

class Steps:
    """A core one step at a time, on encodings."""

    def query(self, q: list[int], v_exponent: int = 0) -> None: ...
    def key(self, k: list[int], masked: bool = False) -> tuple[int, int, int, Optional[int], int, bool]: ...
    def value(self, v: list[int]) -> None: ...
    def state(self) -> tuple[list[int], list[int]]: ...
    def result(self) -> tuple[list[int], bool, bool, bool]: ...

def main(arguments: list[str]) -> int: ...
