"""Language models whose attention the hardware computes: for Hugging Face transformers, and for scaled_dot_product_attention.

    import flashd.torch
    flashd.torch.register("hardware", "flash-d", format="bf16")
    model = AutoModelForCausalLM.from_pretrained(..., attn_implementation="hardware")

Inference only: gradients do not flow through it.
"""

import contextlib

import torch

from .core import Core


class Attention:
    """The attention of a design in a format, for heads of any dimension. Options are `flashd.Core`'s except d.

    With record=True, `records` has a dictionary for each head of each call: layer, head, errors against f64, counts.
    """

    def __init__(self, design="flash-d", format="bf16", record=False, **options):
        self.options = {"masks": True, **options, "design": design, "format": format}
        self.record = record
        self.records = []
        self._cores = {}
        # Illegal options raise an error now, not in the middle of a model.
        self.core(64)

    def core(self, d, dv=None):
        """The core for heads of this dimension, and for values of another one."""
        lengths = {"d": d} if dv in (None, d) else {"dk": d, "dv": dv}
        key = tuple(lengths.values())
        if key not in self._cores:
            self._cores[key] = Core(**lengths, **self.options)
        return self._cores[key]

    def __call__(self, query, key, value, mask=None, causal=False, causal_align=None, scale=None, layer=None):
        """Attention of [batch, heads, queries, d] by [batch, key heads, keys, d]."""
        d = query.shape[-1]
        if mask is not None:
            mask = mask[..., : key.shape[-2]].expand(*query.shape[:-1], key.shape[-2])
        run = self.core(d, value.shape[-1]).run(query, key, value, mask=mask, causal=causal, causal_align=causal_align if causal else None,
                               scale=scale, errors=self.record)
        if self.record:
            heads = query.shape[-3]
            self.records += [{"layer": layer, "head": i % heads, **head} for i, head in enumerate(run.heads)]
        return run.o


_default = Attention.__new__(Attention)


def configure(design="flash-d", format="bf16", **options):
    """Chooses the hardware of `attention_forward` and of `scaled_dot_product_attention`; returns it."""
    _default.__init__(design, format, **options)
    return _default


configure()


def attention_forward(module, query, key, value, attention_mask=None, scaling=None, dropout=0.0, is_causal=None, attention=None, **_):
    """For transformers' AttentionInterface: [batch, heads, queries, d] to [batch, queries, heads, d], and no weights."""
    if dropout:
        raise ValueError("dropout: the hardware has none; put the model into eval()")
    attention = attention or _default
    causal = is_causal if is_causal is not None else getattr(module, "is_causal", False)
    # As in transformers' own functions: a mask replaces causality, and a single query sees all keys.
    causal = bool(causal) and attention_mask is None and query.shape[-2] > 1
    o = attention(query, key, value, mask=attention_mask, causal=causal, scale=scaling, layer=getattr(module, "layer_idx", None))
    return o.transpose(1, 2).contiguous(), None


def register(name="hardware", design=None, format="bf16", **options):
    """Makes `attn_implementation=name` known to transformers; with a design, for separate hardware. Returns the hardware.

    The name must not have "flash" in it: transformers takes that for kernels of FlashAttention.
    """
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    attention = _default if design is None else Attention(design, format, **options)

    def forward(*arguments, **named):
        return attention_forward(*arguments, attention=attention, **named)

    AttentionInterface.register(name, forward)
    # Masks of booleans; without this line transformers makes none.
    AttentionMaskInterface.register(name, sdpa_mask)
    return attention


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """`torch.nn.functional.scaled_dot_product_attention` by the hardware."""
    if dropout_p:
        raise ValueError("dropout_p: the hardware has none")
    if not enable_gqa and query.dim() > 2 and query.shape[-3] != key.shape[-3]:
        raise ValueError("enable_gqa: key has fewer heads than query; set enable_gqa=True")
    # Query i has key i's position, as in torch.
    return _default(query, key, value, mask=attn_mask, causal=is_causal, causal_align="top-left", scale=scale)


@contextlib.contextmanager
def patched(design="flash-d", format="bf16", **options):
    """Replaces `torch.nn.functional.scaled_dot_product_attention` inside a with statement."""
    before = dict(_default.__dict__)
    own = torch.nn.functional.scaled_dot_product_attention
    yielded = configure(design, format, **options)
    torch.nn.functional.scaled_dot_product_attention = scaled_dot_product_attention
    try:
        yield yielded
    finally:
        torch.nn.functional.scaled_dot_product_attention = own
        _default.__dict__.clear()
        _default.__dict__.update(before)
