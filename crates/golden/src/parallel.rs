//! Work on the threads of the current rayon pool.
//!
//! Jobs are `dyn`, and so large that the call costs nothing. So rayon's machinery, which is larger than most jobs, is compiled once for
//! each type of element and not for each kernel of each core.

use rayon::prelude::*;

/// `of(0)`, `of(1)`, .. `of(count - 1)`.
pub(crate) fn collect<T: Send>(count: usize, of: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    (0..count).into_par_iter().map(of).collect()
}

/// Calls `fill` with the number of each piece of `all` of `length` elements, the last of which may be shorter, and the piece.
pub(crate) fn fill<T: Send>(all: &mut [T], length: usize, fill: &(dyn Fn(usize, &mut [T]) + Sync)) {
    all.par_chunks_mut(length).enumerate().for_each(|(number, piece)| fill(number, piece));
}

/// Calls both and returns both results.
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    let (mut from_a, mut from_b) = (None, None);
    let (mut a, mut b) = (Some(a), Some(b));
    both(&mut || from_a = a.take().map(|a| a()), &mut || from_b = b.take().map(|b| b()));
    match (from_a, from_b) {
        (Some(a), Some(b)) => (a, b),
        _ => unreachable!("both are called"),
    }
}

fn both(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    rayon::join(a, b);
}

/// The piece with this number of `all` in pieces of `length` elements.
pub(crate) fn piece<T>(all: &[T], length: usize, number: usize) -> &[T] {
    &all[number * length..all.len().min((number + 1) * length)]
}
