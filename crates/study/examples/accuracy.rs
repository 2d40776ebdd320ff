//! Mean and largest errors of all designs against f64 attention, by group of traces, as fractions of
//! max|v|: `cargo run --release -p flashd-study --example accuracy -- FOLDER`.

use flashd_hwmodel::config::{CoreConfig, Design, Fa2Variant, WeightUnit};
use flashd_hwmodel::format::Format;
use flashd_study::{Heads, Prepared, TraceErrors};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("a folder of traces is needed")?;
    let heads = Heads::load(folder.as_ref(), 1)?;
    for format in [Format::BF16, Format::FP8_E4M3] {
        let prepared = Prepared::new(&heads, format)?;
        // Every head is run with its own vector length, whatever is given here.
        let flash_d = CoreConfig::new(Design::FlashD, 16, format);
        let fa2 = CoreConfig::new(Design::Fa2, 16, format);
        let designs = [
            flash_d.clone(),
            CoreConfig { weight: WeightUnit::Paper, ..flash_d },
            fa2.clone(),
            CoreConfig { fa2: Fa2Variant::Literal, ..fa2 },
        ];
        let errors: Vec<TraceErrors> =
            designs.iter().map(|config| prepared.errors(config)).collect::<Result<_, _>>()?;
        println!("{format}                 mean error                               largest error");
        println!(
            "{:16}heads  lse     paper   fa2     literal lse/fa2   lse     paper   fa2     literal",
            "group"
        );
        for (row, group) in errors[0].groups.iter().enumerate() {
            let of = |design: usize| &errors[design].groups[row];
            print!("{:16}{:5}", group.group, group.heads);
            (0..4).for_each(|i| print!("  {:.4}", 100.0 * of(i).mean));
            print!("  {:.3}  ", of(0).mean / of(2).mean);
            (0..4).for_each(|i| print!("  {:6.2}", 100.0 * of(i).max));
            println!("  %");
        }
    }
    Ok(())
}
