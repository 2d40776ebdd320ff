//! Errors of all variants against f64 attention, as percentages of max|v|: on recorded heads, by group, and on
//! equal scores.
//!
//! `cargo run --release -p flashd-study --example variants -- FOLDER [EVERY] [O,V,W ...]`
//!
//! FOLDER holds traces. Every EVERY-th query is used (8 when absent). Each O,V,W adds the fixed-point variants with
//! lanes of these widths.

use flashd_spec::config::{CoreConfig, LaneBits};
use flashd_spec::format::Format;
use flashd_study::grid::variants_with_lanes;
use flashd_study::{Heads, Prepared, equal};
use std::collections::BTreeSet;
use std::error::Error;

fn widths(text: &str) -> Result<LaneBits, Box<dyn Error>> {
    let numbers: Vec<u32> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
    match numbers[..] {
        [o, v, w] => Ok(LaneBits { o, v, w }),
        _ => Err(format!("{text}: widths are given as O,V,W").into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let folder = arguments.next().ok_or("a folder of traces is needed")?;
    let every = arguments.next_if(|text| !text.contains(',')).map_or(Ok(8), |text| text.parse())?;
    let widths = arguments.map(|text| widths(&text)).collect::<Result<Vec<_>, _>>()?;
    let heads = Heads::load(folder.as_ref(), every)?;
    let groups: BTreeSet<&str> = heads.heads.iter().map(|head| head.trace.group.as_str()).collect();
    for format in [Format::BF16, Format::FP8_E4M3] {
        let prepared = Prepared::new(&heads, format)?;
        let configurations = variants_with_lanes(equal::D, format, &widths);
        println!("{format}: mean error in % of max|v|; largest error over all heads");
        print!("{:32}", "");
        groups.iter().for_each(|group| print!("{group:>16}"));
        println!("{:>10}", "largest");
        for config in &configurations {
            print!("{:32}", config.name());
            match prepared.errors(config) {
                Err(problem) => println!("{problem}"),
                Ok(errors) => {
                    errors.groups.iter().for_each(|group| print!("{:16.5}", 100.0 * group.mean));
                    println!("{:10.3}", 100.0 * errors.max);
                }
            }
        }
        println!("{format}: largest error on N equal scores in % of max|v|");
        print!("{:32}", "N");
        equal::COUNTS.iter().for_each(|n| print!("{n:>10}"));
        println!();
        let valid: Vec<CoreConfig> = configurations.into_iter().filter(|c| c.validate().is_ok()).collect();
        let all = equal::errors(format, &valid, &equal::COUNTS, &|| {})?;
        for (config, errors) in valid.iter().zip(all) {
            print!("{:32}", config.name());
            errors.iter().for_each(|error| print!("{:10.4}", 100.0 * error));
            println!();
        }
    }
    Ok(())
}
