//! Designs of every kind: the lists that the checks go through.

use crate::selection::{DesignSelection, Surroundings};
use flashd::parts::variants;
use flashd_hwmodel::units::FormatUnit;
use flashd_spec::config::{CoreConfig, Datapath, DatapathKind, Design, Fa2Variant, FlashDVariant, KINDS};
use flashd_spec::format::{Format, Formats};

/// Vector length of variants and options: short, since the modules of longer cores are the same.
pub const D: usize = 8;
/// The format of what differs by options and not by arithmetic.
const FORMAT: Format = Format::FP8_E4M3;
/// FLASH-D as shipped.
pub fn flash_d(d: usize, format: Format) -> CoreConfig {
    CoreConfig::new(Design::FlashD, d, format)
}

/// FA2 as shipped.
pub fn fa2(d: usize, format: Format) -> CoreConfig {
    CoreConfig::new(Design::Fa2, d, format)
}

/// A core of another datapath than the shipped ones.
pub fn datapath(datapath: impl Into<Datapath>, d: usize, format: Format) -> CoreConfig {
    CoreConfig::with_datapath(datapath.into(), d, format)
}

/// The core with masks.
pub fn masked(core: CoreConfig) -> CoreConfig {
    CoreConfig { masks: true, ..core }
}

/// The core with masks and partial results.
pub fn partial(core: CoreConfig) -> CoreConfig {
    CoreConfig { masks: true, partial: true, ..core }
}

/// The core with a bias.
pub fn biased(core: CoreConfig) -> CoreConfig {
    CoreConfig { bias: true, ..core }
}

/// The core with a cap of scores.
pub fn capped(core: CoreConfig) -> CoreConfig {
    CoreConfig { softcap: Some(50.0), ..core }
}

/// The core with results that are 8-bit integers of this many fraction bits.
pub fn to_int8(fraction: i32, core: CoreConfig) -> CoreConfig {
    let formats = Formats { o: Format::fixed(8, fraction), ..core.formats() };
    core.with_formats(formats)
}

/// The core with values that come a number of cycles after their request.
pub fn late(value_latency: u32, core: CoreConfig) -> CoreConfig {
    CoreConfig { value_latency, ..core }
}

/// Every unit in every format.
fn units() -> impl Iterator<Item = DesignSelection> {
    FormatUnit::ALL
        .into_iter()
        .flat_map(|unit| Format::NAMED.map(|(_, format)| DesignSelection::Unit(unit.name(), format)))
}

/// The designs for lint: all cores, the variants that are not shipped, all short d, some arrays, cores with
/// masks, stream wrappers, cores with partial results and late values, split keys, and all units.
pub fn linted() -> Vec<DesignSelection> {
    let mut all = vec![DesignSelection::All];
    all.extend(variants(D).into_iter().map(DesignSelection::core));
    all.extend(variants(2).into_iter().filter(|core| core.format == FORMAT).map(DesignSelection::core));
    all.extend((3..=17).flat_map(|d| [flash_d(d, FORMAT), fa2(d, FORMAT)]).map(DesignSelection::core));
    let shipped = [flash_d(D, FORMAT), datapath(FlashDVariant::Paper, D, FORMAT), fa2(D, FORMAT)];
    let [of_flash_d, of_paper, of_fa2] = &shipped;
    for (core, queries) in [(of_flash_d, 1), (of_flash_d, 3), (of_paper, 2), (of_fa2, 8)] {
        all.push(DesignSelection::around(core.clone(), Surroundings::array(queries)));
    }
    let twelve = Surroundings::Array { queries: 4, key_index_bits: Some(12) };
    let masks = [
        (flash_d(D, FORMAT), Surroundings::Nothing),
        (datapath(FlashDVariant::Rounded, D, FORMAT), Surroundings::Nothing),
        (datapath(FlashDVariant::Paper, D, FORMAT), Surroundings::Nothing),
        (flash_d(D, FORMAT), Surroundings::array(3)),
        (fa2(D, FORMAT), Surroundings::Nothing),
        (datapath(Fa2Variant::SeparateScale, D, FORMAT), Surroundings::Nothing),
        (datapath(Fa2Variant::LogReference, D, FORMAT), Surroundings::Nothing),
        (fa2(D, FORMAT), twelve),
        (fa2(D, FORMAT), Surroundings::array(1)),
    ];
    all.extend(masks.map(|(core, around)| DesignSelection::around(masked(core), around)));
    all.extend([flash_d(D, FORMAT), fa2(D, Format::INT8)].map(|core| DesignSelection::core(biased(core))));
    let results =
        [flash_d(D, Format::BF16), flash_d(D, Format::INT8), fa2(D, Format::BF16), fa2(D, Format::INT8)];
    all.extend(results.map(|core| DesignSelection::core(to_int8(0, core))));
    all.push(DesignSelection::core(to_int8(4, datapath(FlashDVariant::Fixed, D, FORMAT))));
    let sixteen_bits = [Format::fixed(16, 8), Format::INT16].into_iter();
    all.extend(
        sixteen_bits.flat_map(|format| [flash_d(D, format), fa2(D, format)]).map(DesignSelection::core),
    );
    all.push(DesignSelection::core(capped(flash_d(D, FORMAT))));
    all.push(DesignSelection::core(capped(biased(fa2(D, FORMAT)))));
    all.push(DesignSelection::around(biased(fa2(D, FORMAT)), Surroundings::array(2)));
    all.push(DesignSelection::around(biased(flash_d(D, FORMAT)), Surroundings::Split { parts: 2 }));
    all.push(DesignSelection::around(of_flash_d.clone(), Surroundings::wrapper(3, None, false)));
    all.push(DesignSelection::around(of_paper.clone(), Surroundings::wrapper(2, Some(8), true)));
    all.push(DesignSelection::around(masked(of_fa2.clone()), Surroundings::wrapper(4, Some(32), false)));
    // Vectors that are no whole number of bytes: their beats have bits that nothing reads.
    all.push(DesignSelection::around(biased(flash_d(5, Format::INT4)), Surroundings::wrapper(2, None, true)));
    for core in [flash_d(D, FORMAT), fa2(D, FORMAT)] {
        all.push(DesignSelection::around(partial(core), Surroundings::array(3)));
    }
    let in_turns = [flash_d(D, Format::BF16), biased(masked(fa2(D, Format::INT8))), masked(of_paper.clone())];
    for core in in_turns {
        all.push(DesignSelection::around(core, Surroundings::Turns { queries: 4, interleave: 2 }));
    }
    let integers = fa2(D, Format::INT8);
    for core in with_states(D, |_| FORMAT).chain([integers]).chain(CoreConfig::staged_otherwise(D, FORMAT)) {
        all.push(DesignSelection::core(late(3, partial(core.clone()))));
        all.push(DesignSelection::around(core, Surroundings::Split { parts: 4 }));
    }
    all.extend(units());
    all
}

/// A core of every datapath that has partial results, in the format for it.
pub fn with_states(d: usize, format: impl Fn(&DatapathKind) -> Format) -> impl Iterator<Item = CoreConfig> {
    let kinds = KINDS.into_iter().filter(|kind| !kind.state.is_empty());
    kinds.map(move |kind| CoreConfig::with_datapath(kind.datapath, d, format(kind)))
}

/// The designs that two revisions are compared by: more than for lint, and also unsupported ones.
pub fn compared() -> Vec<DesignSelection> {
    let mut all = vec![DesignSelection::All];
    all.extend(variants(D).into_iter().map(DesignSelection::core));
    let lengths = (2..=17).chain([32, 40]);
    all.extend(lengths.flat_map(|d| [flash_d(d, FORMAT), fa2(d, FORMAT)]).map(DesignSelection::core));
    all.extend(with_options());
    all.extend(units());
    all
}

/// Every core with every kind of option; options that a core does not have end with an error, which is compared, too.
pub fn with_options() -> Vec<DesignSelection> {
    let kinds = KINDS.iter().map(|kind| datapath(kind.datapath, D, FORMAT));
    let cores: Vec<CoreConfig> = kinds.chain(CoreConfig::staged_otherwise(D, FORMAT)).collect();
    cores.iter().flat_map(options).collect()
}

fn options(core: &CoreConfig) -> [DesignSelection; 17] {
    let core = || core.clone();
    let twelve = Surroundings::Array { queries: 4, key_index_bits: Some(12) };
    [
        DesignSelection::core(core()),
        DesignSelection::core(masked(core())),
        DesignSelection::core(late(3, masked(core()))),
        DesignSelection::core(partial(core())),
        DesignSelection::core(biased(core())),
        DesignSelection::core(capped(core())),
        DesignSelection::around(biased(masked(core())), Surroundings::array(2)),
        DesignSelection::core(late(3, partial(core()))),
        DesignSelection::around(core(), Surroundings::array(1)),
        DesignSelection::around(core(), Surroundings::array(3)),
        DesignSelection::around(masked(core()), Surroundings::array(8)),
        DesignSelection::around(masked(core()), twelve),
        DesignSelection::around(core(), Surroundings::Split { parts: 2 }),
        DesignSelection::around(late(2, core()), Surroundings::Split { parts: 4 }),
        DesignSelection::around(core(), Surroundings::wrapper(2, Some(8), true)),
        DesignSelection::around(masked(core()), Surroundings::wrapper(3, Some(32), false)),
        DesignSelection::around(core(), Surroundings::wrapper(2, None, false)),
    ]
}
