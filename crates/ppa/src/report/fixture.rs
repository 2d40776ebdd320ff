//! Figures for tests. They are made up, and look it.

use crate::figures::*;
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;

/// A core of `area` um2 at a clock of `clock` ns that takes `power` mW, both shared out by function.
pub(super) fn core(name: &str, design: Design, d: usize, area: f64, power: f64, clock: f64) -> CoreFigures {
    let shares = match design {
        Design::FlashD => [0.5, 0.125, 0.25, 0.0, 0.125],
        Design::Fa2 => [0.25, 0.125, 0.25, 0.25, 0.125],
    };
    let by_part = |total: f64| -> Vec<(CorePart, f64)> {
        CorePart::ALL.into_iter().zip(shares).map(|(part, share)| (part, share * total)).collect()
    };
    CoreFigures {
        core: name.to_string(),
        configuration: CoreConfig::new(design, d, Format::BF16),
        array: None,
        library: "made <up> & \"quoted\"".to_string(),
        area: AreaFigures {
            total: area,
            nand2_equivalents: area / 8.0,
            nand2: "N2".to_string(),
            cells: 1234,
            flip_flops: 567,
            flip_flop_area: area / 16.0,
            by_part: by_part(area),
            by_module: vec![ModuleArea {
                name: format!("{name}_module"),
                instances: 3,
                own: area / 4.0,
                cells: 89,
                mapping: "a < b".to_string(),
            }],
        },
        timing: TimingFigures {
            clock,
            slack: clock / 8.0,
            shortest_period: None,
            wires: "nothing".to_string(),
            path: WorstPath {
                from: "u_a/x[3]".to_string(),
                to: "u_b/y[4]".to_string(),
                through: vec![("u_a".to_string(), clock / 2.0)],
                gates: 17,
            },
        },
        power: Some(PowerFigures {
            clock: 1000.0 / clock,
            cycles: 64,
            workload: "nothing real".to_string(),
            switching: power / 2.0,
            internal: power / 4.0,
            clock_net: power / 8.0,
            leakage: power / 8.0,
            total: power,
            by_part: by_part(power),
            activity: 0.25,
            outputs_checked: 4321,
            held: 0.25,
            glitches: None,
        }),
        run: run(clock),
    }
}

fn run(clock: f64) -> FiguresRun {
    FiguresRun {
        flashd: "0".to_string(),
        yosys: "Yosys 0".to_string(),
        opensta: "OpenSTA 0".to_string(),
        library_file: "made-up.lib".to_string(),
        library_sha256: "0123456789abcdef".repeat(4),
        default_library: false,
        clock: Some(clock),
        external_share: 0.25,
        flat: false,
        clock_gates: false,
        dont_use: Vec::new(),
        cycles: 1,
        glitches: None,
        data: Some("made-up".to_string()),
    }
}

/// Two vector lengths with a pair each, and a second FA2 core for one of them.
pub(super) fn figures() -> Vec<CoreFigures> {
    vec![
        core("a16", Design::FlashD, 16, 75.0, 3.0, 20.0),
        core("b16", Design::Fa2, 16, 100.0, 4.0, 20.0),
        core("a64", Design::FlashD, 64, 330.0, 12.0, 20.0),
        core("b64", Design::Fa2, 64, 300.0, 16.0, 20.0),
        core("c64", Design::Fa2, 64, 400.0, 24.0, 20.0),
    ]
}
