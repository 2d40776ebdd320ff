//! Designs of every kind: the lists that the checks go through.

use crate::selection::{Around, Selection};
use flashd::parts::variants;
use flashd_hwmodel::units::FormatUnit;
use flashd_spec::config::{CoreConfig, Datapath, Design, Fa2Variant, FlashDVariant, KINDS, Kind};
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

/// The core with results that are integers of this many fraction bits.
pub fn to_int8(fraction: i32, core: CoreConfig) -> CoreConfig {
    let formats = Formats { o: Format::int8_of_fraction(fraction), ..core.formats() };
    core.with_formats(formats)
}

/// The core with values that come a number of cycles after their request.
pub fn late(value_latency: u32, core: CoreConfig) -> CoreConfig {
    CoreConfig { value_latency, ..core }
}

/// Every unit in every format.
fn units() -> impl Iterator<Item = Selection> {
    FormatUnit::ALL
        .into_iter()
        .flat_map(|unit| Format::NAMED.map(|(_, format)| Selection::Unit(unit.name(), format)))
}

/// The designs for lint: all cores, the variants that are not shipped, all short d, some arrays, cores with
/// masks, stream wrappers, cores with partial results and late values, split keys, and all units.
pub fn linted() -> Vec<Selection> {
    let mut all = vec![Selection::All];
    all.extend(variants(D).into_iter().map(Selection::core));
    all.extend(variants(2).into_iter().filter(|core| core.format == FORMAT).map(Selection::core));
    all.extend((3..=17).flat_map(|d| [flash_d(d, FORMAT), fa2(d, FORMAT)]).map(Selection::core));
    let shipped = [flash_d(D, FORMAT), datapath(FlashDVariant::Paper, D, FORMAT), fa2(D, FORMAT)];
    let [of_flash_d, of_paper, of_fa2] = &shipped;
    for (core, queries) in [(of_flash_d, 1), (of_flash_d, 3), (of_paper, 2), (of_fa2, 8)] {
        all.push(Selection::around(core.clone(), Around::array(queries)));
    }
    let twelve = Around::Array { queries: 4, key_index_bits: Some(12) };
    let masks = [
        (flash_d(D, FORMAT), Around::Nothing),
        (datapath(FlashDVariant::Rounded, D, FORMAT), Around::Nothing),
        (datapath(FlashDVariant::Paper, D, FORMAT), Around::Nothing),
        (flash_d(D, FORMAT), Around::array(3)),
        (fa2(D, FORMAT), Around::Nothing),
        (datapath(Fa2Variant::SeparateScale, D, FORMAT), Around::Nothing),
        (datapath(Fa2Variant::LogReference, D, FORMAT), Around::Nothing),
        (fa2(D, FORMAT), twelve),
        (fa2(D, FORMAT), Around::array(1)),
    ];
    all.extend(masks.map(|(core, around)| Selection::around(masked(core), around)));
    all.extend([flash_d(D, FORMAT), fa2(D, Format::INT8)].map(|core| Selection::core(biased(core))));
    let results =
        [flash_d(D, Format::BF16), flash_d(D, Format::INT8), fa2(D, Format::BF16), fa2(D, Format::INT8)];
    all.extend(results.map(|core| Selection::core(to_int8(0, core))));
    all.push(Selection::core(to_int8(4, datapath(FlashDVariant::Fixed, D, FORMAT))));
    all.push(Selection::core(capped(flash_d(D, FORMAT))));
    all.push(Selection::core(capped(biased(fa2(D, FORMAT)))));
    all.push(Selection::around(biased(fa2(D, FORMAT)), Around::array(2)));
    all.push(Selection::around(biased(flash_d(D, FORMAT)), Around::Split { parts: 2 }));
    all.push(Selection::around(of_flash_d.clone(), Around::wrapper(3, None, false)));
    all.push(Selection::around(of_paper.clone(), Around::wrapper(2, Some(8), true)));
    all.push(Selection::around(masked(of_fa2.clone()), Around::wrapper(4, Some(32), false)));
    // Vectors that are no whole number of bytes: their beats have bits that nothing reads.
    all.push(Selection::around(biased(flash_d(5, Format::INT4)), Around::wrapper(2, None, true)));
    for core in [flash_d(D, FORMAT), fa2(D, FORMAT)] {
        all.push(Selection::around(partial(core), Around::array(3)));
    }
    let integers = fa2(D, Format::INT8);
    for core in with_states(D, |_| FORMAT).chain([integers]).chain(CoreConfig::staged_otherwise(D, FORMAT)) {
        all.push(Selection::core(late(3, partial(core.clone()))));
        all.push(Selection::around(core, Around::Split { parts: 4 }));
    }
    all.extend(units());
    all
}

/// A core of every datapath that has partial results, in the format for it.
pub fn with_states(d: usize, format: impl Fn(&Kind) -> Format) -> impl Iterator<Item = CoreConfig> {
    let kinds = KINDS.into_iter().filter(|kind| !kind.state.is_empty());
    kinds.map(move |kind| CoreConfig::with_datapath(kind.datapath, d, format(kind)))
}

/// The designs that two revisions are compared by: more than for lint, and also unsupported ones.
pub fn compared() -> Vec<Selection> {
    let mut all = vec![Selection::All];
    all.extend(variants(D).into_iter().map(Selection::core));
    let lengths = (2..=17).chain([32, 40]);
    all.extend(lengths.flat_map(|d| [flash_d(d, FORMAT), fa2(d, FORMAT)]).map(Selection::core));
    all.extend(with_options());
    all.extend(units());
    all
}

/// Every core with every kind of option; options that a core does not have end with an error, which is compared, too.
pub fn with_options() -> Vec<Selection> {
    let kinds = KINDS.iter().map(|kind| datapath(kind.datapath, D, FORMAT));
    let cores: Vec<CoreConfig> = kinds.chain(CoreConfig::staged_otherwise(D, FORMAT)).collect();
    cores.iter().flat_map(options).collect()
}

fn options(core: &CoreConfig) -> [Selection; 17] {
    let core = || core.clone();
    let twelve = Around::Array { queries: 4, key_index_bits: Some(12) };
    [
        Selection::core(core()),
        Selection::core(masked(core())),
        Selection::core(late(3, masked(core()))),
        Selection::core(partial(core())),
        Selection::core(biased(core())),
        Selection::core(capped(core())),
        Selection::around(biased(masked(core())), Around::array(2)),
        Selection::core(late(3, partial(core()))),
        Selection::around(core(), Around::array(1)),
        Selection::around(core(), Around::array(3)),
        Selection::around(masked(core()), Around::array(8)),
        Selection::around(masked(core()), twelve),
        Selection::around(core(), Around::Split { parts: 2 }),
        Selection::around(late(2, core()), Around::Split { parts: 4 }),
        Selection::around(core(), Around::wrapper(2, Some(8), true)),
        Selection::around(masked(core()), Around::wrapper(3, Some(32), false)),
        Selection::around(core(), Around::wrapper(2, None, false)),
    ]
}
