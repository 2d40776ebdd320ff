//! The search for the smallest core that holds.

use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use flashd_study::equal_error::{Judged, Ratios};
use flashd_study::size::{Judgements, Space, WIDTHS};
use std::convert::Infallible;

/// A rule's figures that grow as widths shrink, each in its own proportion.
fn judged(core: &CoreConfig, seed: u32) -> Judged {
    let lane = core.lane_bits();
    let widths =
        [lane.o, lane.v, lane.w, core.score_fraction(), core.segments().ilog2(), core.state_fraction()];
    let part = |(i, &width): (usize, &u32)| {
        let weight = f64::from((seed >> (4 * i)) & 15) + 1.0;
        weight * (-f64::from(width) * [0.4, 0.7, 0.9, 0.6, 1.1, 0.3][i]).exp2()
    };
    let parts: f64 = widths.iter().enumerate().map(part).sum();
    Judged {
        kinds: Vec::new(),
        mean: 1.0 + 0.1 * parts,
        worst_mean: 1.0 + parts,
        worst_max: 1.0 + 2.0 * parts,
    }
}

fn costs(core: &CoreConfig) -> f64 {
    let lane = core.lane_bits();
    let [o, v, w] = [lane.o, lane.v, lane.w].map(f64::from);
    let fraction = f64::from(core.score_fraction());
    100.0
        + 31.0 * o
        + 12.0 * v
        + 21.0 * w
        + 17.0 * fraction
        + 5.0 * f64::from(core.segments().ilog2())
        + 2.5 * f64::from(core.state_fraction())
}

/// The search finds the same core as trying every core, and judges a small part of them.
#[test]
fn finds_the_cheapest_of_all() {
    let start = CoreConfig::new(Design::FlashD, 16, Format::BF16);
    for seed in [0x123456, 0xf0f0f0, 0x00ffaa, 0x8421c3] {
        // With the state's, the search takes a minute without optimisation.
        let mut space = Space::around(&start, |field| field == "state_fraction_bits");
        let probes: Vec<f64> = space.probes().iter().map(costs).collect();
        space.price(costs(&start), &probes);
        // Limits that some cores of the space keep and others do not.
        let at = judged(&start, seed);
        for slack in [0.8, 1.0, 1.3, 2.0] {
            let limit = |of: f64| 1.0 + (of - 1.0) * slack;
            let rule = Ratios {
                mean: limit(at.mean),
                each_mean: limit(at.worst_mean),
                each_max: limit(at.worst_max),
            };
            let mut known = Judgements::default();
            let found = space
                .search(rule, |cores| {
                    known.of(cores, |cores| {
                        Ok::<_, Infallible>(cores.iter().map(|core| judged(core, seed)).collect())
                    })
                })
                .unwrap();
            let holding = space.cores().filter(|core| judged(core, seed).holds(rule));
            let least = holding.map(costs).fold(f64::INFINITY, f64::min);
            match found.first() {
                Some(found) => {
                    assert!((costs(&found.core) - least).abs() < 0.1, "{seed:x}, {slack}: {least}")
                }
                None => assert_eq!(least, f64::INFINITY, "{seed:x}, {slack}"),
            }
            assert!(known.len() * 4 < space.len(), "{} of {}", known.len(), space.len());
        }
    }
}

#[test]
fn given_options_stay() {
    let core = CoreConfig::new(Design::FlashD, 16, Format::FP8_E4M3);
    let space = Space::around(&core, |field| field == "lane" || field == "segments");
    assert!(
        space
            .cores()
            .all(|other| other.lane_bits() == core.lane_bits() && other.segments() == core.segments())
    );
    assert!(space.cores().any(|other| other.state_fraction() < core.state_fraction()));
    let names: Vec<_> = space.widths().iter().map(|width| width.field).collect();
    assert_eq!(names, ["score_fraction_bits", "state_fraction_bits"]);
    let fields: Vec<_> = WIDTHS.iter().map(|width| width.field).collect();
    assert!(Space::around(&core, |field| fields.contains(&field)).widths().is_empty());
}

/// Every core of a space is one that can be built, and every datapath has a space.
#[test]
fn every_datapath_has_a_space() {
    for core in CoreConfig::variants(16, Format::FP16).into_iter().filter(|core| !core.follows_the_paper()) {
        let space = Space::around(&core, |_| false);
        assert!(!space.is_empty() && space.cores().all(|core| core.validate().is_ok()), "{}", core.name());
        assert!(space.cores().any(|other| other.name() == core.name()), "{}", core.name());
        assert!(space.probes().iter().all(|probe| probe.validate().is_ok()), "{}", core.name());
    }
}
