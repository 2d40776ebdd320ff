use super::*;
use crate::explore::points::FormatResult;
use crate::explore::points::tests::{exploration, of_formats, point, result};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::{Format, Scale};
use flashd_study::grid::default_grid;

fn draw(exploration: &Exploration) -> String {
    flashd_chart::svg(&charts(exploration)).unwrap()
}

/// The default grid with made-up figures: cost rises and error falls with the widths.
fn cores() -> Vec<CorePoint> {
    let cores = default_grid(16, Format::BF16).into_iter().enumerate().map(|(i, config)| {
        let lane = config.lane_bits();
        let bits = if config.has_fixed_lanes() {
            lane.o + lane.v + lane.w
        } else {
            // The widest are far beyond the others, which would leave no knee.
            config.accumulator_fraction().min(14) * 4
        };
        let spread = (i * 37 % 17) as f64;
        let shift = if config.design() == Design::FlashD { 0.0 } else { 250.0 };
        // Cheap at first, then ever dearer: a front that bends.
        let mean = 0.4 * 0.5f64.powf(f64::from(bits) / 8.0) + 0.0002;
        let cost = 2500.0 + f64::from(bits).powi(2) + 2.0 * spread + shift;
        let made_up = point(config.design(), cost, [mean; 2]);
        CorePoint { measured: made_up.measured, ..CorePoint::new(&config, made_up.errors) }
    });
    cores.collect()
}

#[test]
fn fronts_and_knees_are_drawn() {
    let mut points = cores();
    let drawn = draw(&exploration(Cost::Area, cores()));
    let result = &exploration(Cost::Area, cores()).formats[0];
    for design in Design::ALL {
        let knee = result.choice(design).unwrap().knee.as_ref().unwrap();
        let stem = &result.points.iter().find(|p| &p.core == knee).unwrap().stem;
        assert!(drawn.contains(&format!("knee: {stem}")), "{stem}");
    }
    assert_eq!(drawn.matches("at 1 ns").count(), 1);
    // No two entries of the legend look alike, and every core is drawn.
    let charts = charts(&exploration(Cost::Area, cores()));
    let PanelBody::Curves(series) = &charts[0].panels[0].body else { panic!("no curves") };
    let looks: Vec<_> =
        series.iter().filter(|s| !s.name.is_empty()).map(|s| (s.ink, s.marker, s.width)).collect();
    assert!(looks.len() > 8 && looks.iter().enumerate().all(|(i, look)| !looks[..i].contains(look)));
    let drawn_points = series.iter().filter(|s| s.name.is_empty()).map(|s| s.points.len()).sum::<usize>();
    assert_eq!(drawn_points, points.len());
    for text in ["flash_d_rounded", "fa2_logref", "area, um2", "at 1 ns"] {
        assert!(drawn.contains(text), "{text}");
    }
    // A core that misses the clock leaves the picture, and its variant the legend.
    for point in points.iter_mut().filter(|p| p.variant == "fa2_logref") {
        point.measured.as_mut().unwrap().meets_clock = false;
    }
    assert!(!draw(&exploration(Cost::Area, points)).contains("fa2_logref"));
}

#[test]
fn few_points_are_drawn() {
    let mut late = point(Design::Fa2, 3.0, [1.0, 1.0]);
    late.measured.as_mut().unwrap().meets_clock = false;
    let nothing = draw(&exploration(Cost::Area, vec![late]));
    assert!(nothing.contains("No core meets the clock"));
    let single = draw(&exploration(Cost::Power, vec![point(Design::Fa2, 3.0, [1.0, 1.0])]));
    assert!(single.contains("knee: fa2") && single.contains("power, mW"));
    // No error at all has no place on the axis, and does not upset it.
    let exact = vec![point(Design::Fa2, 3.0, [0.0, 0.0]), point(Design::FlashD, 2.0, [1.0, 1.0])];
    assert!(draw(&exploration(Cost::Area, exact)).contains("knee: flash_d"));
}

#[test]
fn all_formats_have_a_panel() {
    // More formats than there are markers, with scales that take several lines.
    let formats: Vec<Format> = Format::named().map(|(_, format)| format).collect();
    let results = formats.iter().map(|&format| {
        let points = Design::ALL.map(|design| {
            let made_up =
                point(design, 10.0 + f64::from(format.width()), [1.0 / f64::from(format.width()); 2]);
            let config = CoreConfig { scales: Some(Scale::RowE8m0), ..CoreConfig::new(design, 16, format) };
            CorePoint { measured: made_up.measured, ..CorePoint::new(&config, made_up.errors) }
        });
        FormatResult { format: Some(points[0].configuration.encodings()), ..result(format, points.into()) }
    });
    let exploration = of_formats(Some(Cost::Area), results.collect());
    let drawn = draw(&exploration);
    assert_eq!(drawn.matches("all formats, d = 16").count(), 1);
    for text in ["FLASH-D, front", "FA2, front", "k scales row-e8m0"] {
        assert!(drawn.contains(text), "{text}");
    }
    let knee = exploration.all_formats.as_ref().unwrap().choice(Design::Fa2).unwrap().knee.as_ref();
    assert!(knee.is_none_or(|_| drawn.contains("knee: fa2_rowe8m0, ")));
    // A single format has none.
    let one = of_formats(Some(Cost::Area), vec![result(Format::BF16, cores())]);
    assert!(!draw(&one).contains("all formats"));
}
