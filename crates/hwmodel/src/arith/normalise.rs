//! Normalisation where more is known than [`Word::normalise`] assumes.

use crate::word::{Word, bits_for};
use flashd_spec::format::{Format, Subnormals};

/// [`Word::normalise`] of a word that has at most `most` leading zeros or is zero: as many stages as that needs.
///
/// A significand times another has one leading zero more than both together; synthesis cannot know that.
pub fn normalise_within<W: Word>(x: &W, most: u32) -> (W, W) {
    x.normalise_by(bits_for(most as u64), None, None)
}

/// The product of a significand of a format and of another number, to whose leading one there are `most` places at most if the
/// significand has its own: it has where no subnormals are kept.
pub fn normalise_product<W: Word>(fmt: Format, product: &W, most: u32) -> (W, W) {
    match fmt.subnormals {
        Subnormals::Flushed => normalise_within(product, most),
        Subnormals::Supported => {
            let (significand, leading_zeros) = product.normalise();
            (significand, leading_zeros.named("leading_zeros"))
        }
    }
}

/// Shifts left until the most significant bit is set, but at most by `room`: a result that becomes subnormal on
/// the way there needs no shift back. Returns the shifted word and the shift; the latter means nothing for zero.
pub fn normalise_limited<W: Word>(x: &W, room: &W) -> (W, W) {
    x.normalise_by(all_stages(x.width()), Some(room), None)
}

/// [`Word::normalise`] with `fill` (1 bit) shifted in, limited if there is a `room`.
pub fn normalise_filled<W: Word>(x: &W, room: Option<&W>, fill: &W) -> (W, W) {
    x.normalise_by(all_stages(x.width()), room, Some(fill))
}

/// Stages that bring any bit of a word to the top.
pub fn all_stages(width: u32) -> u32 {
    32 - (width - 1).leading_zeros()
}

/// Shifts left by descending powers of two, from `2^(stages - 1)`, where that loses no one; within `room`, and with
/// `fill` coming in, zeros without. Returns the shifted word and the shift.
pub(crate) fn normalise_stages<W: Word>(x: &W, stages: u32, room: Option<&W>, fill: Option<&W>) -> (W, W) {
    let n = x.width();
    let within = room.map_or(0, |room| stages.min(room.width()));
    let mut unlimited = match room {
        Some(room) if room.width() > within => room.drop_low(within).any().named("room_beyond_all"),
        _ => W::zero(1),
    };
    let mut shifted = x.clone();
    let mut count: Option<W> = None;
    for i in (0..stages).rev() {
        let step = 1 << i;
        let empty = shifted.top(step.min(n)).any().not();
        let taken = match room {
            None => empty.label(|| format!("top_{step}_empty")),
            Some(room) => {
                let enough = if i < within { room.bit(i) } else { W::zero(1) };
                let taken = empty.and(&unlimited.or(&enough)).label(|| format!("take_{step}"));
                // With `step` places of room left and not taken, there is room for all smaller steps together.
                unlimited = unlimited.or(&enough.and(&taken.not())).label(|| format!("room_beyond_{step}"));
                taken
            }
        };
        let kept = shifted.slice(0, n - step);
        let moved = match fill {
            None => kept.append_zeros(step),
            Some(fill) => kept.concat(&fill.repeat(step)),
        };
        shifted = taken.select(&moved, &shifted).label(|| format!("left_by_{step}"));
        count = Some(match count {
            None => taken,
            Some(c) => c.concat(&taken),
        });
    }
    (shifted, count.unwrap_or_else(|| W::zero(1)))
}
