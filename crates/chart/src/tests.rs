use super::*;
use crate::axis::number;
use crate::canvas::text_width;

fn drawn(x: &Axis, y: &Axis, all: Vec<Series>) -> String {
    let panel = Panel { title: "p".into(), x: x.clone(), y: y.clone(), body: PanelBody::Curves(all) };
    svg(&[Chart { panels: vec![panel], ..Chart::default() }]).unwrap()
}

fn dots(points: &[(f64, f64)]) -> Series {
    Series { points: points.to_vec(), ..Series::markers("errors", Ink::nth(0), Marker::nth(0)) }
}

/// The value of an attribute where it is first given.
fn attribute<'a>(text: &'a str, name: &str) -> &'a str {
    text.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap()
}

fn size(text: &str, name: &str) -> f64 {
    attribute(text, name).parse().unwrap()
}

fn texts(svg: &str) -> Vec<&str> {
    svg.split("<text").skip(1).map(|text| text.split(['>', '<']).nth(1).unwrap().trim()).collect()
}

/// The corners of all lines in the first colour.
fn lines(svg: &str) -> Vec<Vec<(f64, f64)>> {
    let corner =
        |text: &str| text.split_once(',').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).unwrap();
    let lines = svg.lines().filter(|line| line.starts_with("<polyline") && line.contains("#0072B2"));
    lines.map(|line| attribute(line, "points").split_whitespace().map(corner).collect()).collect()
}

#[test]
fn ticks_are_round_and_within() {
    let ticks = |scale, low, high| {
        let axis = Axis { scale, low: Some(low), high: Some(high), ..Axis::default() };
        let ticks = axis.span(&[]).ticks(6);
        assert!((3..=12).contains(&ticks.len()), "{low} to {high}: {ticks:?}");
        assert!(ticks.iter().all(|y| (low * 0.999999..=high * 1.000001).contains(y)), "{ticks:?}");
        let words: Vec<String> = ticks.into_iter().map(number).collect();
        assert!(words.windows(2).all(|pair| pair[0] != pair[1]), "{words:?}");
        words.join(" ")
    };
    assert_eq!(ticks(AxisScale::Linear, 0.0, 1.0), "0 0.2 0.4 0.6 0.8 1");
    assert_eq!(ticks(AxisScale::Linear, 2510.0, 3490.0), "2,600 2,800 3,000 3,200 3,400");
    assert_eq!(ticks(AxisScale::Linear, 0.9994, 1.0002), "0.9994 0.9996 0.9998 1 1.0002");
    assert_eq!(ticks(AxisScale::Log, 0.3, 7.0), "0.5 1 2 5");
    assert_eq!(ticks(AxisScale::Log, 1e-5, 300.0), "1e-5 0.0001 0.001 0.01 0.1 1 10 100");
    // Less than a decade.
    assert_eq!(ticks(AxisScale::Log, 0.43, 0.52), "0.44 0.46 0.48 0.5 0.52");
    for (low, high) in [(0.9, 1.1), (0.02, 0.09), (1e-30, 1e30), (5.0, 5.001)] {
        ticks(AxisScale::Log, low, high);
    }
    let numbers = [0.0, 0.25, -12.5, 999.0, 1000.0, -1234567.0, 2.5e-7, 3e9, 0.1 + 0.2].map(number);
    assert_eq!(numbers.join(" "), "0 0.25 -12.5 999 1,000 -1,234,567 2.5e-7 3e9 0.3");
}

#[test]
fn equal_ratios_are_equal_distances_on_a_logarithmic_axis() {
    let values = [1.0, 10.0, 100.0];
    let [log, linear] = [Axis::log(""), Axis::linear("")].map(|axis| {
        [1, 2].map(|i| axis.span(&values).fraction(values[i]) - axis.span(&values).fraction(values[i - 1]))
    });
    assert!((log[0] - log[1]).abs() < 1e-12 && (linear[1] / linear[0] - 10.0).abs() < 1e-9);
    // Nothing and less is below, and does not move the range.
    let span = Axis::log("").span(&[0.0, -1.0, 1.0, 100.0]);
    assert!(!span.contains(0.0) && !span.contains(-1.0) && (span.fraction(10.0) - 0.5).abs() < 1e-12);
}

#[test]
fn an_outlier_is_at_the_edge_with_its_values() {
    let mut points: Vec<(f64, f64)> = (0..20).map(|i| (100.0 + f64::from(i), 1.0 + f64::from(i))).collect();
    points.push((5000.0, 3.0));
    let (x, y) = (Axis::linear("x"), Axis::linear("y"));
    // The legend has a marker, too.
    let all = drawn(&x, &y, vec![dots(&points)]);
    assert!(texts(&all).contains(&"4,000") && all.matches("<circle").count() == 1 + 21);
    let fenced = Axis { fenced: true, ..x };
    let most = drawn(&fenced, &y, vec![dots(&points)]);
    assert!(
        texts(&most).contains(&"110") && texts(&most).contains(&"at 5,000; 3") && !most.contains("4,000")
    );
    assert!(most.matches("<circle").count() == 1 + 20 && most.matches("<polygon").count() == 1);
    // A wide cloud has no outlier.
    let wide: Vec<(f64, f64)> = points[..20].iter().map(|p| (p.0 * p.0, p.1)).collect();
    assert!(!drawn(&fenced, &y, vec![dots(&wide)]).contains("<polygon"));
}

#[test]
fn lines_end_at_the_edges() {
    let axis = Axis { low: Some(0.0), high: Some(4.0), ..Axis::linear("") };
    let of = |course, points: &[(f64, f64)]| {
        let series = Series { course, points: points.to_vec(), ..Series::line("", Ink::nth(0)) };
        lines(&drawn(&axis, &axis, vec![series]))
    };
    let whole = of(Interpolation::Straight, &[(0.0, 0.5), (4.0, 0.5)]);
    assert_eq!(of(Interpolation::Straight, &[(-3.0, 0.5), (7.0, 0.5)]), whole);
    assert_eq!(of(Interpolation::Level, &[(9.0, 0.5)]), whole);
    // Out through the top and back.
    assert_eq!(of(Interpolation::Straight, &[(0.0, 0.5), (2.0, 9.0), (4.0, 0.5)]).len(), 2);
    assert!(of(Interpolation::Straight, &[(5.0, 0.5), (6.0, 0.5)]).is_empty());
    // Down to a point, along to the next, down to it, along to the edge.
    let steps = of(Interpolation::Steps, &[(1.0, 3.0), (2.0, 1.0)]);
    let [top, first, along, second, end] = steps[0][..] else { panic!("{steps:?}") };
    assert!(top.0 == first.0 && top.1 < first.1 && along == (second.0, first.1));
    assert!(second.1 > along.1 && end == (whole[0][1].0, second.1));
}

#[test]
fn few_points_and_none_are_drawn() {
    for (x, y) in [(Axis::linear("x"), Axis::linear("y")), (Axis::log("x"), Axis::log("y"))] {
        let one = drawn(&x, &y, vec![dots(&[(3.0, 4.0)])]);
        assert!(one.matches("<circle").count() == 2 && texts(&one).len() >= 7, "{one}");
        // A series without points is in the legend all the same.
        let empty = drawn(&x, &y, vec![dots(&[])]);
        assert_eq!(texts(&empty), ["p", "nothing to draw", "errors"]);
    }
    assert!(drawn(&Axis::log("x"), &Axis::log("y"), vec![dots(&[(1.0, 0.0)])]).contains("nothing to draw"));
    assert!(svg(&[Chart::default()]).unwrap().starts_with("<svg"));
}

fn bars(heights: &[f64]) -> Chart {
    let bar = |height: &f64| Bar {
        name: "core".into(),
        value: format!("{height}!"),
        segments: vec![
            ("part".into(), Ink::nth(0), height / 4.0),
            ("rest".into(), Ink::nth(1), 0.75 * height),
        ],
    };
    let group =
        BarGroup { name: "bf16".into(), note: "less".into(), bars: heights.iter().map(bar).collect() };
    let (x, y, body) = (Axis::default(), Axis::default(), PanelBody::Bars(vec![group]));
    Chart { panels: vec![Panel { title: "d = 16".into(), x, y, body }], ..Chart::default() }
}

#[test]
fn numbers_without_a_place_are_refused() {
    let axis = Axis::linear("");
    for bad in [f64::NAN, f64::INFINITY] {
        for point in [(bad, 1.0), (1.0, bad)] {
            let body = PanelBody::Curves(vec![dots(&[(1.0, 1.0), point])]);
            let panel = Panel { title: String::new(), x: axis.clone(), y: axis.clone(), body };
            let error = svg(&[Chart { panels: vec![panel], ..Chart::default() }]).unwrap_err().to_string();
            assert!(error.starts_with("errors: ") && error.ends_with("has no place on an axis"), "{error}");
        }
    }
    assert!([f64::NAN, -1.0].iter().all(|bad| matches!(svg(&[bars(&[*bad])]), Err(ChartError::Value(..)))));
}

#[test]
fn bars_are_as_high_as_their_values() {
    let text = svg(&[bars(&[4.0, 2.0])]).unwrap();
    // Without the square of the legend.
    let of = |ink: &str| -> Vec<f64> {
        let bars = text.lines().filter(|line| line.contains(ink) && !line.contains("height=\"12\""));
        bars.map(|line| size(line, "height")).collect()
    };
    let (parts, rests) = (of("#0072B2"), of("#D55E00"));
    assert!((parts[0] / parts[1] - 2.0).abs() < 0.1 && (rests[0] / parts[0] - 3.0).abs() < 0.1);
    // Neighbours of one name have it once.
    let texts: Vec<&str> = texts(&text).into_iter().filter(|words| words.parse::<f64>().is_err()).collect();
    assert_eq!(texts[..2], ["d = 16", ""]);
    assert_eq!(texts[2..], ["4!", "2!", "core", "less", "bf16", "part", "rest"]);
}

#[test]
fn long_legends_stay_within_the_drawing_and_apart() {
    let name = |i: usize| format!("core number {i} {}", "with an option ".repeat(i % 12));
    let series = (0..40).map(|i| Series { points: vec![(1.0, 1.0)], ..Series::line(name(i), Ink::nth(i)) });
    let mut all: Vec<Series> = series.collect();
    // The same name in the same look is one entry.
    all.push(all[0].clone());
    let text = drawn(&Axis::linear("x"), &Axis::linear("y"), all);
    let (width, height) = (size(&text, "width"), size(&text, "height"));
    let mut places = Vec::new();
    for element in text.split("<text").filter(|element| element.contains("core number ")) {
        let (x, y) = (size(element, "x"), size(element, "y"));
        assert!(x + text_width(texts(&format!("<text{element}"))[0], 13) <= width && y < height, "{element}");
        assert!(!places.contains(&(x, y)));
        places.push((x, y));
    }
    assert_eq!(places.len(), 40);
    assert_eq!(layout::wrap("a few words and aVeryLongWordThatFitsOnNone at all", 12, 100.0).len(), 4);
}
