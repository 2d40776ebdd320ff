//! Normalisation where more is known than [`Word::normalise`] assumes.

use crate::word::{Word, all_stages, bits_for};
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
