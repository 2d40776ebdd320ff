//! Cores whose operands have scales, in lock-step.

use crate::selftest::in_lockstep;
use flashd_simulator::selftest::VectorStream;
use flashd_spec::config::{CoreConfig, Datapath, Design, FlashDVariant, KINDS};
use flashd_spec::format::{Encodings, Format, Formats, Scale, Scales};
use rayon::prelude::*;

/// Operands with scales of every kind, mixed with others without.
pub(crate) fn encodings() -> Vec<Encodings> {
    let (bf16, e4m3, int8, fp4) = (Format::BF16, Format::FP8_E4M3, Format::INT8, Format::FP4_E2M1);
    let one = |format: Format, scale| Encodings {
        formats: format.into(),
        scales: Scales { q: scale, k: scale, v: scale },
    };
    let each = |formats: Formats, q, k, v| Encodings { formats, scales: Scales { q, k, v } };
    let (none, row, e8m0, mx, nv) = (Scale::None, Scale::Row, Scale::RowE8m0, Scale::Mx, Scale::Nvfp4);
    let q16 = Scale::RowQ16;
    let mut all: Vec<Encodings> = Format::MX.into_iter().map(|format| one(format, mx)).collect();
    all.extend([
        one(fp4, nv),
        one(int8, e8m0),
        each(Formats { q: bf16, k: int8, v: int8, o: bf16 }, none, row, none),
        each(Formats { q: bf16, k: e4m3, v: e4m3, o: bf16 }, none, row, e8m0),
        each(Formats { q: e4m3, k: e4m3, v: e4m3, o: bf16 }, row, row, e8m0),
        each(Formats { q: int8, k: Format::INT4, v: int8, o: bf16 }, e8m0, row, e8m0),
        each(Formats { q: int8, k: int8, v: bf16, o: Format::FP16 }, none, row, none),
        each(Formats { q: int8, k: int8, v: int8, o: e4m3 }, row, mx, mx),
        each(Formats { q: Format::FP16, k: fp4, v: fp4, o: Format::FP32 }, row, nv, mx),
        each(Formats { q: Format::FP32, k: bf16, v: bf16, o: bf16 }, e8m0, row, e8m0),
        each(Formats { q: bf16, k: Format::INT4, v: Format::FP6_E3M2, o: bf16 }, none, none, none),
        each(bf16.into(), q16, none, none),
        each(int8.into(), q16, row, none),
        each(Format::INT4.into(), q16, none, none),
        each(Format::fixed(16, 8).into(), q16, none, none),
        each(Formats { q: fp4, k: e4m3, v: e4m3, o: bf16 }, q16, mx, mx),
        each(Formats { q: Format::FP32, k: int8, v: int8, o: bf16 }, q16, row, none),
    ]);
    all
}

/// A core with these operands.
pub(crate) fn with_encodings(core: CoreConfig, Encodings { formats, scales }: Encodings) -> CoreConfig {
    let (q_scales, k_scales, v_scales) = (Some(scales.q), Some(scales.k), Some(scales.v));
    CoreConfig { q_scales, k_scales, v_scales, ..core.with_formats(formats) }
}

#[test]
fn all_of_them_in_lockstep() {
    let mut count = 0;
    for (i, encodings) in encodings().into_iter().enumerate() {
        for (j, kind) in KINDS.into_iter().enumerate() {
            // Blocks that are full, and a last one that is not; less than one; elements that fill no whole word of scales.
            let d = [5, 16, 33, 3][(i + j) % 4];
            let config = with_encodings(CoreConfig::with_datapath(kind.datapath, d, Format::BF16), encodings);
            let partial = config.can_be_partial() && (i + j) % 2 == 0;
            let config = CoreConfig { masks: partial, partial, ..config };
            if config.validate().is_ok() {
                in_lockstep(&config, &VectorStream { round: 16, ..VectorStream::of(7, 200) });
                count += 1;
            }
        }
    }
    assert!(count > 130, "{count}");
}

#[test]
fn illegal_pairs_are_refused_by_both_names() {
    let refused = |core: CoreConfig| core.validate().unwrap_err().by_flag();
    let core = |format| CoreConfig::new(Design::FlashD, 32, format);
    let mx = Some(Scale::Mx);
    assert_eq!(
        refused(CoreConfig { scales: mx, ..core(Format::BF16) }),
        "--scales: mx with --q-format bf16: its blocks are of fp8-e4m3, fp8-e5m2, fp6-e3m2, fp6-e2m3, fp4-e2m1, int8"
    );
    let k_scales = Some(Scale::Nvfp4);
    let refusal = refused(CoreConfig { k_scales, ..core(Format::FP8_E4M3) });
    assert_eq!(refusal, "--k-scales: nvfp4 with --k-format fp8-e4m3: its blocks are of fp4-e2m1");
    let v = CoreConfig { v_scales: Some(Scale::Row), ..core(Format::FP8_E4M3) };
    assert!(refused(v).starts_with("--v-scales: row is a product with each element of v"));
    let k = CoreConfig { k_scales: Some(Scale::RowQ16), ..core(Format::INT8) };
    assert_eq!(refused(k), "--k-scales: row-q16 of k: only queries have it; take --q-scales row-q16");
    let both = CoreConfig { scales: Some(Scale::RowQ16), ..core(Format::BF16) };
    assert_eq!(refused(both), "--scales: row-q16 of k: only queries have it; take --q-scales row-q16");
    let paper = CoreConfig { datapath: FlashDVariant::Paper.into(), scales: mx, ..core(Format::FP8_E4M3) };
    assert!(refused(paper).starts_with("--scales"));
    let o = core(Format::FP4_E2M1).with_formats(Formats { o: Format::FP4_E2M1, ..Format::FP4_E2M1.into() });
    assert!(refused(o).starts_with("--o-format: fp4-e2m1 is of fewer than 8 bits; results are bf16"));
}

/// Every pair of formats of queries and keys, and of values and results, with the scales that they have by default, and every kind of scale,
/// in both designs as they ship.
#[test]
#[ignore = "takes minutes: 100,000 keys each"]
fn every_pair_over_100_000_keys() {
    let formats = || Format::named().map(|(_, format)| format);
    let pairs = || formats().flat_map(|a| formats().map(move |b| (a, b)));
    let scores = pairs().map(|(q, k)| Formats { q, k, v: q, o: q.of_results() });
    let lanes = pairs().filter(|(_, o)| o.is_of_results()).map(|(v, o)| Formats { q: v, k: v, v, o });
    let plain = scores.chain(lanes).map(Encodings::from);
    let all: Vec<CoreConfig> = plain
        .chain(encodings())
        .flat_map(|encodings| {
            let datapaths = Design::ALL.map(|design| Datapath::shipped(design, encodings));
            datapaths.map(|d| with_encodings(CoreConfig::with_datapath(d, 3, Format::BF16), encodings))
        })
        .filter(|config| config.validate().is_ok())
        .collect();
    let count = all.len();
    let keys: u64 =
        all.into_par_iter().map(|config| in_lockstep(&config, &VectorStream::of(11, 100_000)).keys).sum();
    println!("{count} cores, {keys} keys, no difference");
    assert!(count > 250 && keys >= 100_000 * count as u64, "{count}, {keys}");
}
