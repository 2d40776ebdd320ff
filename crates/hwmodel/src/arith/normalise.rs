//! Normalisation that uses bounds on the word, unlike [`Word::normalise`].

use crate::word::{Word, all_stages, bits_for};
use flashd_spec::format::{Format, Subnormals};

/// [`Word::normalise`] of a word that is zero or has at most `most` leading zeros: no more shift stages than that needs.
///
/// A product of two significands has at most one leading zero more than both together; synthesis does not see that.
pub fn normalise_within<W: Word>(x: &W, most: u32) -> (W, W) {
    x.normalise_by(bits_for(most as u64), None, None)
}

/// Normalises the product of a significand of `fmt` and another number. If the significand has its leading one, the product has at
/// most `most` leading zeros; with subnormals it may have any number.
pub fn normalise_product<W: Word>(fmt: Format, product: &W, most: u32) -> (W, W) {
    match fmt.subnormals {
        Subnormals::Flushed => normalise_within(product, most),
        Subnormals::Supported => {
            let (significand, leading_zeros) = product.normalise();
            (significand, leading_zeros.named("leading_zeros"))
        }
    }
}

/// Shifts left until the most significant bit is set, but at most by `room`, so that a subnormal result need not be
/// shifted back. Returns the shifted word and the shift; the shift of zero means nothing.
pub fn normalise_limited<W: Word>(x: &W, room: &W) -> (W, W) {
    x.normalise_by(all_stages(x.width()), Some(room), None)
}

/// [`Word::normalise`] with `fill` (1 bit) shifted in, by at most `room` if given.
pub fn normalise_filled<W: Word>(x: &W, room: Option<&W>, fill: &W) -> (W, W) {
    x.normalise_by(all_stages(x.width()), room, Some(fill))
}
