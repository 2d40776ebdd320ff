//! The soft cap of a score, `s <- c tanh(s / c)`, in a separate stage before the bias.
//!
//! The table is [`Softcap`]: the leading bits of `|s|` select a range, the bits that follow a cell, and each cell has a
//! line.

use super::score::Scored;
use crate::attention::delay::delay;
use crate::function;
use crate::rtl::{Module, Tag, signed};
use crate::word::{bits_for, index_bits};
use flashd_spec::pwl::softcap::{GUARD_BITS, Softcap};
use std::sync::Arc;

function! {
    /// Applies the soft cap to a score.
    pub struct SoftcapFunction { table: Arc<Softcap> }
    name(this) = format!("softcap_{}_{}", this.table.cap, this.table.score_bits + 1).replace('.', "p");
    doc = {
        let t = &this.table;
        format!(
            "capped = c tanh(score / c) for c = {}, score and cap in base 2: {} ranges of {} PWL segments,\nodd, rounded half up in magnitude, at most {} last places.",
            t.cap, t.ranges, 1 << t.cell_bits, t.limit
        )
    };
    inputs { score: this.table.score_bits + 1 }
    outputs { capped: this.table.score_bits + 1 }
    eval<W> {
        let t = &this.table;
        let bits = t.score_bits;
        let sign = score.msb();
        let signed = |x: &W| x.xor(&sign.repeat(bits)).add(&sign.zext(bits));
        // Scores saturate symmetrically.
        let magnitude = signed(&score.slice(0, bits)).named("magnitude");
        let range_bits = index_bits(t.ranges as usize);
        let (mut word, mut range) = (magnitude.slice(0, t.first_bits), W::zero(range_bits));
        // Selects the last range that begins at or below the magnitude.
        for r in 1..t.ranges {
            let above = magnitude.any_above(t.first_bits + r - 1).label(|| format!("reaches_{r}"));
            word = above.select(&magnitude.slice(Softcap::right(r), t.first_bits), &word);
            range = above.select(&W::constant(range_bits, r.into()), &range);
        }
        let (word, range) = (word.named("word"), range.named("range"));
        let far = magnitude.any_above((t.first_bits + t.ranges - 1).min(bits)).named("far");
        let entry = match t.ranges {
            1 => word.top(t.cell_bits),
            _ => range.concat(&word.top(t.cell_bits)),
        }
        .named("entry");
        let (c0_bits, c1_bits, offset_bits) = (t.c0_bits(), t.c1_bits(), t.offset_bits());
        let c0 = entry.lookup(&t.c0, c0_bits).named("softcap_c0");
        let c1 = entry.lookup(&t.c1, c1_bits).named("softcap_c1");
        let product = c1.mul(&word.slice(0, offset_bits)).named("slope_product");
        let step = product.drop_low(offset_bits);
        let wide = c0_bits.max(step.width()) + 1;
        let value = c0.zext(wide).add(&step.zext(wide)).named("value").drop_low(GUARD_BITS);
        let limit_bits = bits_for(t.limit);
        let value = value.zext(value.width().max(limit_bits));
        let limit = W::constant(value.width(), t.limit);
        let at_limit = far.or(&limit.lt(&value)).named("at_limit");
        let capped = at_limit.select(&limit, &value);
        let capped = capped.zext(capped.width().max(bits)).slice(0, bits).named("capped_magnitude");
        // A zero has no sign: its complement plus one is zero again, and the sign bit is cleared.
        let result = signed(&capped).named("result");
        [sign.and(&capped.any()).concat(&result)]
    }
}

/// The capped score, a cycle later.
pub fn capped_score(around: &mut Module, table: &Arc<Softcap>, score: Scored) -> Scored {
    let tag = Tag::module("capped_score_unit", "Score c tanh(s / c), a cycle later.").dissolved();
    around.part("capped", tag, |m| {
        m.clock();
        let saturated = m.optional_input("score_saturated", score.saturated);
        let score = m.input("score", score.score);
        let score_q = delay(m, "late_score", score, 1);
        let saturated = saturated.map(|saturated| delay(m, "late_saturated", saturated, 1));
        let [capped] = m.call("softcap", SoftcapFunction { table: table.clone() }, [score_q]);
        m.number(capped, signed(table.fraction));
        let score = m.output("capped", capped);
        m.show("capped", "score with its cap, log2 units");
        Scored { score, saturated: m.optional_output("saturated", saturated) }
    })
}
