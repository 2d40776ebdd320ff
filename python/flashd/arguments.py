"""Arguments as the compiled part takes them: nothing is cut off, cast or dropped without a word."""

import operator

import numpy as np


def _is_torch(x):
    return type(x).__module__.partition(".")[0] == "torch"


_FLOAT32 = np.dtype(np.float32)


def _as_it_is(o):
    return o


def as_numpy(name, x):
    """Any array as one of NumPy's, whatever its elements."""
    if isinstance(x, np.ma.MaskedArray):
        raise ValueError(f"{name}: a masked array; pass its filled(...), and its mask as the argument mask")
    try:
        return np.asarray(x) if hasattr(x, "__array__") or not hasattr(x, "__dlpack__") else np.from_dlpack(x)
    except (TypeError, ValueError, BufferError) as e:
        # Ragged lists, among others.
        raise ValueError(f"{name}: is no array: {e}") from None


def as_float32(name, x):
    """Any array as float32, and a function that makes results of the same kind."""
    # To look at an array closely takes as long as a short query does.
    if type(x) is np.ndarray and x.dtype is _FLOAT32:
        return x, _as_it_is
    if _is_torch(x):
        import torch

        if not x.dtype.is_floating_point:
            raise ValueError(f"{name}: elements of type {x.dtype}; floating-point numbers are needed")
        like = lambda o: torch.from_numpy(o).to(device=x.device, dtype=x.dtype)  # noqa: E731
        return x.detach().to(device="cpu", dtype=torch.float32).numpy(), like
    array = as_numpy(name, x)
    kind, float_name = array.dtype.kind, array.dtype.name
    # bfloat16 and float8 of ml_dtypes are void to NumPy. Lists of numbers may be whole numbers.
    listed = isinstance(x, (list, tuple)) and kind in "iu"
    if kind != "f" and not listed and not float_name.startswith(("bfloat16", "float8")):
        raise ValueError(f"{name}: elements of type {float_name}; floating-point numbers are needed")
    dtype = _FLOAT32 if listed else array.dtype
    with np.errstate(over="ignore"):
        return array.astype(np.float32, copy=False), lambda o: o.astype(dtype, copy=False)


def as_words(name, x):
    """Encodings as unsigned integers of 64 bits: nothing is cut off."""
    x = as_numpy(name, x.detach().cpu().numpy() if _is_torch(x) else x)
    if x.dtype.kind not in "iu":
        raise ValueError(f"{name}: elements of type {x.dtype.name}; encodings are whole numbers, as encode gives them (or x.view(numpy.uint16))")
    if x.dtype.kind == "i" and (x < 0).any():
        raise ValueError(f"{name}: {x[x < 0][0]} is below 0; encodings are unsigned, as x.view(numpy.uint{8 * x.dtype.itemsize}) makes them")
    return np.ascontiguousarray(x, dtype=np.uint64).reshape(x.shape)


def as_whole(name, x, least):
    """A whole number, not below the least one."""
    if isinstance(x, (bool, np.bool_)):
        raise TypeError(f"{name}: {x} is no whole number")
    try:
        x = operator.index(x)
    except TypeError:
        raise TypeError(f"{name}: {x!r} is no whole number") from None
    if not least <= x < 1 << 63:
        raise ValueError(f"{name}: {x} is outside {least} to 2**63 - 1")
    return x


def as_lengths(name, x):
    """Whole numbers, none below 0."""
    x = as_numpy(name, x)
    if x.dtype.kind not in "iu" or (x < 0).any():
        raise ValueError(f"{name}: whole numbers are needed, none below 0")
    return x


def as_flag(name, x):
    if not isinstance(x, (bool, np.bool_)):
        raise TypeError(f"{name}: {x!r} is neither True nor False")
    return bool(x)


def as_scale(x):
    if isinstance(x, str):
        return x
    if isinstance(x, (bool, np.bool_)) or not hasattr(type(x), "__float__"):
        raise TypeError(f"scale: {x!r} is neither 'auto' nor 'none' nor a number")
    try:
        return float(x)
    except OverflowError:
        raise ValueError(f"scale: {x} is not a positive finite number") from None


def as_string(name, x):
    if not isinstance(x, str):
        raise TypeError(f"{name}: {x!r} is no string")
    return x


def seen_and_added(mask):
    """The keys that queries see and the biases of scores, None without biases: from a boolean mask, or from one of floats that are added to
    scores, as in torch."""
    if _is_torch(mask):
        import torch

        mask = mask.detach().cpu()
        least = torch.finfo(mask.dtype).min if mask.dtype.is_floating_point else None
        # NumPy has no bfloat16; the conversion to float64 is exact.
        mask = mask.numpy() if least is None else mask.to(torch.float64).numpy()
    else:
        mask = as_numpy("mask", mask)
        least = np.finfo(mask.dtype).min if mask.dtype.kind == "f" else None
    if mask.dtype == bool:
        return mask, None
    if least is None:
        raise ValueError(f"mask: elements of type {mask.dtype.name}; booleans, True for keys that are seen, or floats that are added to "
                         "scores are needed")
    # Libraries take a type's least number where minus infinity would give NaN.
    away = mask <= max(float(least), float(np.finfo(np.float32).min)) / 2
    # Biases of keys that no query sees are arbitrary; the compiled part ignores them.
    added = np.where(away, 0, mask)
    with np.errstate(over="ignore"):
        return ~away, added.astype(np.float32) if added.any() else None


def spread(name, x, shape):
    try:
        return np.broadcast_to(x, shape)
    except ValueError:
        raise ValueError(f"{name}: has shape {list(x.shape)}, {list(shape)} is needed") from None
