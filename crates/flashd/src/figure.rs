//! `flashd figure`.

mod weight;

use crate::cli::{Figure, FigureArgs};
use crate::output::Failure;

pub fn run(args: &FigureArgs) -> Result<(), Failure> {
    match &args.figure {
        Figure::Weight(args) => weight::run(args),
    }
}
