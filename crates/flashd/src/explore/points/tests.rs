use super::*;
use flashd_spec::format::Format;
use flashd_study::GroupErrors;

/// A core with made-up figures: design, cost, mean error in each of two groups.
pub fn point(design: Design, cost: f64, means: [f64; 2]) -> CorePoint {
    let groups = ["a", "b"].iter().zip(means).map(|(group, mean)| GroupErrors {
        group: group.to_string(),
        heads: 1,
        mean,
        max: mean,
    });
    let errors = TraceErrors { mean: (means[0] + means[1]) / 2.0, max: means[1], groups: groups.collect() };
    let reference = TraceErrors {
        groups: errors.groups.iter().map(|g| GroupErrors { mean: 1.0, ..g.clone() }).collect(),
        ..errors.clone()
    };
    let as_accurate_as_reference = errors.within(&reference);
    CorePoint {
        core: format!("{design:?} {cost}"),
        as_accurate_as_reference,
        measured: Some(MeasuredCore {
            area_um2: cost,
            nand2_equivalents: cost,
            slack_ns: 1.0,
            meets_clock: true,
            power_mw: Some(1.0 / cost),
            power_with_glitches_mw: Some(2.0 / cost),
        }),
        ..CorePoint::new(&CoreConfig::new(design, 16, Format::BF16), errors)
    }
}

/// The cores of a format; the first is the reference.
pub fn result(format: Format, points: Vec<CorePoint>) -> FormatResult {
    FormatResult {
        format: Some(format.into()),
        reference: format!("reference in {format}"),
        reference_errors: points[0].errors.clone(),
        left_out: 1,
        points,
        choices: Vec::new(),
    }
}

pub fn exploration(cost: Cost, points: Vec<CorePoint>) -> Exploration {
    of_formats(Some(cost), vec![result(Format::BF16, points)])
}

pub fn of_formats(cost: Option<Cost>, formats: Vec<FormatResult>) -> Exploration {
    let exploration = Exploration {
        d: 16,
        cost,
        clock_ns: Some(1.0),
        library: Some("cells".into()),
        data: PathBuf::new(),
        heads: 2,
        every: 1,
        equal_scores: 1,
        max_error: None,
        all_formats: FormatResult::together(&formats, 0),
        formats,
    };
    exploration.with_choices()
}

fn explored(cost: Cost, points: Vec<CorePoint>) -> FormatResult {
    exploration(cost, points).formats.remove(0)
}

fn costs(points: &[CorePoint], which: impl Fn(&CorePoint) -> bool) -> Vec<f64> {
    points.iter().filter(|p| which(p)).map(|p| p.measured.as_ref().unwrap().area_um2).collect()
}

fn some_points() -> Vec<CorePoint> {
    let (a, b) = (Design::FlashD, Design::Fa2);
    vec![
        point(b, 80.0, [0.9, 0.9]),
        point(a, 64.0, [0.8, 0.8]),
        point(a, 8.0, [1.0, 1.0]),
        point(a, 4.0, [8.0, 8.0]),
        // Nearly as good on average as the one of 8, but far worse in one group.
        point(a, 7.0, [0.2, 1.9]),
        point(b, 3.0, [9.0, 9.0]),
        point(b, 9.0, [2.0, 2.0]),
        point(b, 10.0, [3.0, 3.0]),
    ]
}

#[test]
fn fronts_knees_and_the_cheapest_as_accurate() {
    let result = explored(Cost::Area, some_points());
    assert_eq!(costs(&result.points, |_| true), [3.0, 4.0, 7.0, 8.0, 9.0, 10.0, 64.0, 80.0]);
    assert_eq!(costs(&result.points, |p| p.on_design_front), [3.0, 4.0, 7.0, 8.0, 9.0, 64.0, 80.0]);
    assert_eq!(costs(&result.points, |p| p.on_front), [3.0, 4.0, 7.0, 8.0, 64.0]);
    let [flash_d, fa2] = [0, 1].map(|i| &result.choices[i]);
    assert_eq!((flash_d.design, fa2.design), (Design::FlashD, Design::Fa2));
    assert_eq!(flash_d.knee.as_deref(), Some("FlashD 7"));
    assert_eq!(flash_d.cheapest_as_accurate.as_deref(), Some("FlashD 8"));
    assert_eq!(fa2.knee.as_deref(), Some("Fa2 9"));
    assert_eq!(fa2.cheapest_as_accurate.as_deref(), Some("Fa2 80"));
}

#[test]
fn power_is_another_cost() {
    // Power falls with area here: the largest cores are the cheapest.
    let result = explored(Cost::Power, some_points());
    assert_eq!(costs(&result.points, |p| p.on_front), [80.0, 64.0]);
    assert_eq!(result.choices[0].cheapest_as_accurate.as_deref(), Some("FlashD 64"));
}

#[test]
fn cores_that_miss_the_clock_stand_nowhere() {
    let mut points = some_points();
    for (i, point) in points.iter_mut().enumerate() {
        let design = point.design();
        let measured = point.measured.as_mut().unwrap();
        if measured.area_um2 == 8.0 || design == Design::Fa2 {
            measured.meets_clock = false;
            measured.power_mw = None;
            measured.slack_ns = -2.0 - i as f64;
        }
    }
    let result = explored(Cost::Area, points);
    assert_eq!(costs(&result.points, |_| true), [4.0, 7.0, 64.0, 80.0, 8.0, 3.0, 9.0, 10.0]);
    assert_eq!(costs(&result.points, |p| p.on_design_front || p.on_front), [4.0, 7.0, 64.0]);
    assert_eq!(result.choices[0].cheapest_as_accurate.as_deref(), Some("FlashD 64"));
    assert_eq!(result.choices[1].knee, None);
    assert_eq!(result.choices[1].cheapest_as_accurate, None);
}

/// The points of a design in a format.
fn in_format(format: Format, points: Vec<CorePoint>) -> FormatResult {
    let fitted = |point: CorePoint| {
        let configuration = CoreConfig { format, ..point.configuration };
        CorePoint { core: format!("{} {format}", point.core), configuration, ..point }
    };
    result(format, points.into_iter().map(fitted).collect())
}

/// Two formats: the first is accurate, the second cheap.
fn two_formats(cost: Option<Cost>) -> Exploration {
    let (a, b) = (Design::FlashD, Design::Fa2);
    let accurate = vec![point(b, 9.0, [0.5, 0.5]), point(a, 8.0, [0.4, 0.4]), point(a, 2.5, [3.0, 3.0])];
    let cheap = vec![point(b, 2.0, [4.0, 4.0]), point(a, 3.0, [2.0, 2.0]), point(a, 4.0, [0.5, 0.5])];
    of_formats(cost, vec![in_format(Format::BF16, accurate), in_format(Format::INT8, cheap)])
}

#[test]
fn all_formats_have_one_front_and_one_reference() {
    let exploration = two_formats(Some(Cost::Area));
    let all = exploration.all_formats.as_ref().unwrap();
    assert_eq!(all.format, None);
    assert_eq!((all.reference.as_str(), all.left_out), ("reference in bf16", 2));
    assert_eq!(costs(&all.points, |_| true), [2.0, 2.5, 3.0, 4.0, 8.0, 9.0]);
    // Each is on the front of its design, as all but one are within one format, too.
    assert_eq!(costs(&all.points, |p| p.on_front), [2.0, 2.5, 3.0, 4.0, 8.0]);
    assert_eq!(costs(&all.points, |p| p.on_design_front), [2.0, 2.5, 3.0, 4.0, 8.0, 9.0]);
    // One int8 core is as accurate as the reference in bf16; all are as accurate as the reference in int8.
    assert_eq!(costs(&all.points, |p| p.as_accurate_as_reference), [4.0, 8.0, 9.0]);
    let formats: Vec<String> = all.points.iter().map(|p| p.format.unwrap().to_string()).collect();
    assert_eq!(formats, ["int8", "bf16", "int8", "int8", "bf16", "bf16"]);
    let choice = all.choice(Design::FlashD).unwrap();
    assert_eq!(choice.cheapest_as_accurate.as_deref(), Some("FlashD 4 int8"));
    assert!(exploration.formats.iter().flat_map(|result| &result.points).all(|p| p.format.is_none()));
}

#[test]
fn without_a_cost_all_formats_are_in_the_order_of_errors() {
    let exploration = two_formats(None);
    let all = exploration.all_formats.unwrap();
    assert_eq!(costs(&all.points, |_| true), [8.0, 9.0, 4.0, 3.0, 2.5, 2.0]);
    assert!(all.choices.is_empty());
}

#[test]
fn one_format_is_not_put_together() {
    assert!(exploration(Cost::Area, some_points()).all_formats.is_none());
}
