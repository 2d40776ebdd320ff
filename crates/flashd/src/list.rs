//! `flashd list`.

use crate::cli::ListArgs;
use crate::cli::named::format_names;
use crate::output::{Failure, print, print_json, table};
use flashd_hwmodel::units::FormatUnit;
use flashd_spec::config::{CoreConfig, DEFAULT_HOLD, Datapath, DatapathKind, Hold, KINDS};
use flashd_spec::format::{Format, Subnormals};
use flashd_spec::numerics::Numerics;
use serde::Serialize;

#[derive(Serialize)]
struct Listing {
    designs: Vec<[String; 2]>,
    formats: Vec<&'static str>,
    units: Vec<&'static str>,
    configurations: Vec<ListedCore>,
}

#[derive(Serialize)]
struct ListedCore {
    name: String,
    latency: u32,
    configuration: CoreConfig,
}

/// The cores with vectors of d elements that are not shipped: all variants in bf16 and fp8-e4m3, mixed precision, fixed thresholds.
pub fn variants(d: usize) -> Vec<CoreConfig> {
    let shipped: Vec<String> = CoreConfig::shipped().iter().map(CoreConfig::name).collect();
    let variants =
        [Format::BF16, Format::FP8_E4M3].into_iter().flat_map(|format| CoreConfig::variants(d, format));
    let thresholds = CoreConfig::with_hold(d, Format::BF16, Hold::Below(DEFAULT_HOLD));
    let cores = variants.chain(CoreConfig::mixed_precision(d)).chain(thresholds);
    cores.filter(|core| !shipped.contains(&core.name())).collect()
}

/// The flags of each datapath, shipped ones first, and its description; then additions to any datapath.
fn designs() -> Vec<[String; 2]> {
    let (d, format) = (16, Format::BF16);
    let row = |kind: &DatapathKind| {
        let core = CoreConfig::with_datapath(kind.datapath, d, format);
        let flags = core.flags().replace(&format!(" --d {d} --format {format}"), "");
        [flags, format!("{}: {}", kind.design.title(), kind.words)]
    };
    let mut kinds = KINDS;
    kinds.sort_by_key(|kind| (kind.design as usize, kind.datapath != Datapath::shipped(kind.design, format)));
    let mut rows: Vec<_> = kinds.into_iter().map(row).collect();
    let array =
        ["--queries B", "an array of B cores of either design that share one key and one value stream"];
    rows.push(array.map(String::from));
    rows
}

/// Each format: its name, bits, range, and what becomes of subnormals. Fixed-point numbers of one width share a row.
pub fn formats() -> impl Iterator<Item = Vec<String>> {
    let named = Format::named().map(|(name, f)| {
        vec![
            name.to_string(),
            match f.is_integer() {
                true => "two's complement".into(),
                false => format!("1-{}-{}", f.exponent_bits, f.fraction_bits),
            },
            number(f.value(f.max_finite())),
            number(f.value(f.min_positive())),
            match f.subnormals {
                _ if f.is_integer() => String::new(),
                Subnormals::Supported => "kept".into(),
                Subnormals::Flushed => "flushed to zero".into(),
            },
        ]
    });
    let fixed = Format::FIXED_WIDTHS.map(|width| {
        let (least, most) = Format::fractions(width).into_inner();
        let largest = Format::fixed(width, 0).max_finite();
        let name = format!("int{width}qN");
        [name, format!("N = {least} to {most}"), format!("{largest} / 2^N"), "1 / 2^N".into(), String::new()]
            .to_vec()
    });
    named.chain(fixed)
}

/// Integers of a few digits as they are, other numbers with seven.
fn number(x: f64) -> String {
    if x.fract() == 0.0 && x < 1e6 { x.to_string() } else { format!("{x:.6e}") }
}

pub fn run(args: &ListArgs) -> Result<(), Failure> {
    if args.variants {
        let cores = variants(args.d);
        cores.iter().try_for_each(|core| core.validate().map_err(|e| Failure::input(format!("--{e}"))))?;
        return print(&cores.iter().map(CoreConfig::flags).collect::<Vec<_>>().join("\n"));
    }
    let designs = designs();
    let configurations: Vec<ListedCore> = CoreConfig::shipped()
        .into_iter()
        .map(|c| ListedCore { name: c.name(), latency: Numerics::new(&c).latency(), configuration: c })
        .collect();
    if args.json {
        let formats = format_names();
        let units = FormatUnit::ALL.iter().map(|u| u.name()).collect();
        return print_json(&Listing { designs, formats, units, configurations });
    }
    let mut text = String::from("Designs\n");
    text += &table(&["options", "datapath"], designs.into_iter().map(Vec::from).collect());
    text += "\n\nFormats\n";
    text += &table(&["format", "bits", "largest", "smallest", "subnormals"], formats().collect());
    text += "\n\nUnits (flashd generate --unit NAME --format FORMAT)\n";
    text += &FormatUnit::ALL.iter().map(|u| u.name()).collect::<Vec<_>>().join(", ");
    text += "\n\nShipped configurations (flashd generate --all)\n";
    let rows = configurations.iter().map(|c| vec![c.name.clone(), c.latency.to_string()]);
    text += &table(&["core", "latency"], rows.collect());
    print(&text)
}
