//! Savings, and what is in a report.

use super::compare::*;
use super::fixture::{core, figures};
use super::*;
use crate::figures::{CoreFigures, FailedCore, GlitchFigures, HeadEnergy, Measurements};
use flashd_spec::config::{Design, Fa2Variant, FlashDVariant};
use flashd_spec::format::Format;

fn names(pairs: &[CorePair]) -> Vec<(String, String, bool)> {
    pairs.iter().map(|p| (p.flash_d.core.clone(), p.fa2.core.clone(), p.only)).collect()
}

fn expected(pairs: &[(&str, &str, bool)]) -> Vec<(String, String, bool)> {
    pairs.iter().map(|(a, b, only)| (a.to_string(), b.to_string(), *only)).collect()
}

#[test]
fn savings_and_averages() {
    assert_eq!(saving(75.0, 100.0), 0.25);
    assert_eq!(saving(150.0, 100.0), -0.5);
    assert_eq!(mean([0.25, -0.5, 1.0]), Some(0.25));
    assert_eq!(mean([]), None);
    assert_eq!(
        [0.1234, -0.04, 0.0004, -0.0004].map(in_words),
        ["12.3 % less", "4.0 % more", "equal", "equal"]
    );
}

#[test]
fn cores_of_one_format_and_length_are_paired() {
    let mut all = figures();
    let groups_of = |all: &[CoreFigures]| names(&groups(all)[0].pairs());
    assert_eq!(groups_of(&all), expected(&[("a16", "b16", true), ("a64", "b64", false)]));
    // Another format is no partner.
    all[1].configuration.format = Format::FP8_E4M3;
    assert_eq!(groups_of(&all), expected(&[("a64", "b64", false)]));
    // Neither is another clock.
    let mut all = figures();
    all[1].run.clock = Some(21.0);
    assert_eq!(groups(&all).len(), 2);
    assert_eq!(groups_of(&all), expected(&[("a64", "b64", false)]));
    // Formats in their own order, then lengths.
    let mut all = figures();
    for core in &mut all[..2] {
        core.configuration.format = Format::FP8_E4M3;
    }
    assert_eq!(groups_of(&all), expected(&[("a64", "b64", false), ("a16", "b16", true)]));
}

#[test]
fn cores_that_follow_the_paper_stand_for_a_design_only_alone() {
    let mut all = figures();
    all[3].configuration.datapath = Fa2Variant::Literal.into();
    all[2].configuration.datapath = FlashDVariant::Paper.into();
    assert_eq!(names(&groups(&all)[0].pairs()), expected(&[("a16", "b16", true), ("a64", "c64", false)]));
}

#[test]
fn matrices_are_where_there_is_a_choice() {
    let all = figures();
    let groups = groups(&all);
    let matrices = groups[0].matrices();
    assert_eq!(matrices.len(), 1);
    let table = tables::matrix(&matrices[0], &|a, b| Some(area_saving(a, b)));
    assert_eq!(table.header, ["FLASH-D over FA2", "b64", "c64"]);
    assert_eq!(table.rows, [["a64", "10.0 % more", "17.5 % less"]]);
    let table = tables::matrix(&matrices[0], &energy_saving);
    assert_eq!(table.rows, [["a64", "25.0 % less", "50.0 % less"]]);
}

#[test]
fn energy_does_not_depend_on_the_clock() {
    let slow = core("a", Design::FlashD, 16, 1.0, 3.0, 20.0);
    let fast = core("b", Design::Fa2, 16, 1.0, 8.0, 10.0);
    // 60 pJ against 80 pJ.
    assert!((energy_saving(&slow, &fast).unwrap() - 0.25).abs() < 1e-12);
    let charts = charts(&[CoreFigures { run: fast.run.clone(), ..slow }, fast]).unwrap();
    // Of nothing there is none, and no minus before it.
    assert_eq!(crate::figures::CorePart::Division.of(&[]).to_string(), "0");
    assert!(charts[0].caption.ends_with(CLOCKS_DIFFER));
    // The clocks of both designs are at their bars.
    for chart in &charts {
        assert!(chart.svg.contains("\nFLASH-D, 20.00 ns\n") && chart.svg.contains("\nFA2, 10.00 ns\n"));
    }
    assert!(charts[1].svg.contains("Energy a cycle, pJ") && charts[1].svg.contains("25.0 % less"));
    assert!(charts[1].svg.contains("\n60.00\n") && charts[1].svg.contains("\n80.00\n"), "{}", charts[1].svg);
}

#[test]
fn charts_show_every_pair_and_the_average() {
    let charts = charts(&figures()).unwrap();
    assert_eq!(charts.iter().map(|c| c.measure).collect::<Vec<_>>(), [Measure::Area, Measure::Power]);
    assert_eq!(charts[0].name, "area_made__up_____quoted_.svg");
    // (25 - 10) / 2 and (25 + 25) / 2.
    assert!(charts[0].caption.contains("7.5 % less on average over 2 pairs"), "{}", charts[0].caption);
    assert!(charts[1].caption.contains("25.0 % less on average over 2 pairs"), "{}", charts[1].caption);
    for text in ["25.0 % less", "10.0 % more", "d = 16", "d = 64", "bf16", "FLASH-D", "division", "100.0"] {
        assert!(charts[0].svg.contains(&format!("\n{text}\n")), "{text}");
    }
    assert!(charts[1].svg.contains("Power at 20.00 ns, mW"));
    // A white frame around every segment of every bar: five of FA2's, four of FLASH-D's without a division.
    let frame = |line: &&str| line.starts_with("<rect") && line.contains("stroke=\"#FFFFFF\"");
    assert_eq!(charts[0].svg.lines().filter(frame).count(), 2 * (5 + 4));
}

#[test]
fn bars_are_as_high_as_their_figures() {
    let svg = &charts(&figures()[..2]).unwrap()[0].svg;
    let height = |colour: &str| -> f64 {
        let rect = |line: &&str| line.starts_with("<rect") && line.contains(&format!("fill=\"{colour}\""));
        let value = |line: &str| -> f64 {
            line.split("height=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().parse().unwrap()
        };
        // The square of the legend is smaller than any segment.
        svg.lines().filter(rect).map(value).filter(|h| *h > 12.5).sum()
    };
    // Dot product: 25 and 37.5; score: 12.5 and 9.375.
    let ratio = height("#0072B2") / height("#D55E00");
    assert!((ratio - 62.5 / 21.875).abs() < 0.15, "{ratio}");
}

#[test]
fn nothing_to_compare_is_no_chart() {
    assert!(charts(&figures()[..1]).unwrap().is_empty());
    let page = html(&measured(&figures()[..1]), &commands(1)).unwrap();
    assert!(page.contains("No FLASH-D and FA2 core"));
    let mut flat = figures();
    for core in &mut flat {
        core.area.by_part.clear();
        core.power = None;
        core.run.cycles = 0;
    }
    let page = html(&measured(&flat), &commands(5)).unwrap();
    assert!(page.contains("hierarchy was dissolved") && !page.contains("Energy a cycle, bf16"));
    assert_eq!(page.matches("<svg").count(), 1);
}

#[test]
fn cores_with_clock_gates_stand_apart() {
    let mut both = figures();
    let mut gated = figures();
    gated.iter_mut().for_each(|core| core.run.clock_gates = true);
    let plain = compare::groups(&both).len();
    both.extend(gated);
    let groups = compare::groups(&both);
    let gates = groups.iter().filter(|group| group.clock().ends_with("ns, with clock gates"));
    assert_eq!((groups.len(), gates.count()), (2 * plain, plain));
}

fn measured(cores: &[CoreFigures]) -> Measurements {
    Measurements { cores: cores.to_vec(), failed: Vec::new() }
}

fn commands(cores: usize) -> Commands {
    Commands {
        cores: (0..cores).map(|core| format!("flashd ppa --number {core}")).collect(),
        whole: vec!["flashd ppa --whole".to_string()],
    }
}

/// Every element is closed in order, and no `<`, `>` or `&` stands in text.
fn balanced(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let body = page.strip_prefix("<!DOCTYPE html>").unwrap();
    let mut parts = body.split('<');
    assert_eq!(parts.next(), Some("\n"));
    for part in parts {
        let (tag, text) = part.split_once('>').unwrap();
        if tag == "style" || open.last() == Some(&"style") {
            assert!(!text.contains('<'));
        } else {
            assert!(!text.contains('>'), "{text}");
        }
        for entity in text.split('&').skip(1) {
            assert!(
                ["amp;", "lt;", "gt;", "quot;", "apos;"].iter().any(|e| entity.starts_with(e)),
                "{entity}"
            );
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap());
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn the_page_is_well_formed_and_holds_every_core_and_figure() {
    let all = figures();
    let page = html(&measured(&all), &commands(all.len())).unwrap();
    balanced(&page);
    assert_eq!(page.matches("<svg").count(), 2);
    for (index, f) in all.iter().enumerate() {
        let power = f.power.as_ref().unwrap();
        let mut shown = vec![f.core.clone(), format!("{}_module", f.core), format!("--number {index}\n")];
        let values = [f.area.total, f.area.flip_flop_area, power.total, power.internal, power.leakage];
        shown.extend(values.map(tables::significant));
        shown.extend(f.area.by_part.iter().map(|(_, area)| tables::significant(*area)));
        shown.extend(power.by_part.iter().map(|(_, mw)| tables::significant(*mw)));
        shown.push(format!("{:.3}", f.timing.slack));
        for text in shown {
            assert!(page.contains(text.trim()), "{}: {text}", f.core);
        }
    }
    let texts = [
        "made-up.lib",
        "0123456789abcdef",
        "Yosys 0",
        "OpenSTA 0",
        "made &lt;up&gt; &amp; &quot;quoted&quot;",
        "17 gates from u_a/x[3] to u_b/y[4]",
        "1234 cells",
        "4321 outputs compared",
        "a &lt; b",
        "flashd ppa --whole",
        "7.5 % less on average",
    ];
    texts.iter().for_each(|text| assert!(page.contains(text), "{text}"));
    // Nothing from elsewhere, no folder of this machine.
    for text in ["<script", "src=", "href=", "url(", env!("CARGO_MANIFEST_DIR")] {
        assert!(!page.contains(text), "{text}");
    }
    let words = page.split(|c: char| c.is_whitespace() || "\"'=>(,;".contains(c));
    let paths: Vec<&str> = words.filter(|word| word.starts_with('/') && word.len() > 1).collect();
    assert!(paths.is_empty(), "{paths:?}");
}

#[test]
fn figures_survive_json_and_bad_ones_are_named() {
    let mut all = figures();
    // Numbers with all their digits.
    all[0].timing.path.through = (1..2000).map(|i| (String::new(), f64::from(i).sqrt() * 1e-7)).collect();
    let text = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::to_string(&read(&text).unwrap()).unwrap(), text);
    assert!(read("[]").unwrap_err().contains("no cores"));
    assert!(read("{}").unwrap_err().contains("not what flashd ppa --json prints"));
    assert!(read(&text.replace("\"run\"", "\"walk\"")).unwrap_err().contains("missing field `run`"));
    let broken = |break_it: &dyn Fn(&mut CoreFigures)| {
        let mut all = figures();
        break_it(&mut all[1]);
        read(&serde_json::to_string(&all).unwrap()).unwrap_err()
    };
    assert!(broken(&|f| f.area.total = 0.0).contains("b16 in made <up> & \"quoted\": area.total is 0"));
    assert!(broken(&|f| f.timing.clock = -1.0).contains("timing.clock is -1"));
    assert!(broken(&|f| f.area.by_part[0].1 = -2.0).contains("area.by_part: dot product has -2"));
    assert!(broken(&|f| f.power.as_mut().unwrap().total = 0.0).contains("power.total is 0"));
    assert!(broken(&|f| f.configuration.d = 1).contains("configuration: d: 1 is outside"));
}

#[test]
fn files_are_joined() {
    let all = figures();
    let mut more = figures();
    more.push(core("d128", Design::Fa2, 128, 1.0, 1.0, 20.0));
    let mut all = measured(&all);
    let failed = FailedCore {
        core: "e16".to_string(),
        configuration: all.cores[0].configuration.clone(),
        array: None,
        library: "made up".to_string(),
        error: "a <flip-flop>\nis in use".to_string(),
        run: all.cores[0].run.clone(),
    };
    let more_of =
        |cores: &[CoreFigures]| Measurements { cores: cores.to_vec(), failed: vec![failed.clone()] };
    join(&mut all, more_of(&more)).unwrap();
    join(&mut all, more_of(&more)).unwrap();
    assert_eq!((all.cores.len(), all.failed.len()), (6, 1));
    // What failed survives JSON, and is a row with its error.
    let again = read(&serde_json::to_string(&all).unwrap()).unwrap();
    assert_eq!((again.cores.len(), &again.failed), (6, &all.failed));
    let table = tables::overview_with_failed(&again.cores, &again.failed.iter().collect::<Vec<_>>());
    assert!(table.rows.iter().all(|row| row.len() == table.header.len()));
    assert_eq!(table.rows[6].last().unwrap(), "a <flip-flop> is in use");
    assert!(html(&all, &commands(6)).unwrap().contains("a &lt;flip-flop&gt;"));
    more[0].area.total *= 2.0;
    assert!(join(&mut all, measured(&more)).unwrap_err().contains("a16 in made"));
}

/// FLASH-D glitches twice as much, FA2 not at all: what is saved without glitches is lost with them.
#[test]
fn power_with_glitches_stands_beside_power_without() {
    let mut all = figures();
    for core in &mut all {
        let factor = if core.configuration.design() == Design::FlashD { 2.0 } else { 1.0 };
        let power = core.power.as_mut().unwrap();
        let head = |name: &str, more: f64| HeadEnergy {
            name: name.to_string(),
            cycles: 50,
            zero_delay: power.energy(),
            glitches: power.energy() * factor + more,
        };
        power.glitches = Some(GlitchFigures {
            cycles: 100,
            switching: power.switching * factor,
            internal: power.internal * factor,
            clock_net: power.clock_net,
            leakage: power.leakage,
            total: power.total * factor,
            by_part: power.by_part.iter().map(|(part, mw)| (*part, mw * factor)).collect(),
            activity: power.activity * factor,
            zero_delay: power.total,
            settled: 1.5,
            heads: vec![head("x", 3.0), head("y", -3.0)],
        });
    }
    let pairs = tables::pairs(&groups(&all)[0]);
    assert_eq!(pairs.rows[0][6..], ["25.0 % less", "50.0 % more"]);
    let overview = tables::overview(&all);
    assert_eq!(overview.rows[0][9..11], ["3.000", "6.000"]);
    assert_eq!(tables::functions(&all[0]).unwrap().header.len(), 7);
    let words = tables::power_source(all[0].power.as_ref().unwrap());
    // 3 mW at 20 ns are 60 pJ.
    assert!(words.contains("2.00 times") && words.contains("120.0 pJ"), "{words}");
    assert!(words.contains("standard deviation 4.243, 117.0 to 123.0"), "{words}");
    let drawn = charts(&all[..2]).unwrap();
    let chart = |measure| drawn.iter().find(|chart| chart.measure == measure).unwrap();
    let bars = |chart: &ReportChart| {
        let frame = |line: &&str| line.starts_with("<rect") && line.contains("stroke=\"#FFFFFF\"");
        chart.svg.lines().filter(frame).count()
    };
    // Every segment twice in power, once in area.
    assert_eq!((bars(chart(Measure::Power)), bars(chart(Measure::Area))), (2 * (5 + 4), 5 + 4));
    assert!(chart(Measure::Power).caption.contains("with glitches, 50.0 % more"));
    assert!(chart(Measure::Power).svg.contains("25.0 % less, 50.0 % more"));
    let page = html(&measured(&all), &commands(all.len())).unwrap();
    balanced(&page);
    assert!(page.contains("With glitches, of 6.000 mW") && page.contains("Energy a cycle with glitches"));
    all[0].power.as_mut().unwrap().glitches.as_mut().unwrap().total = 0.0;
    assert!(read(&serde_json::to_string(&all).unwrap()).unwrap_err().contains("power.glitches.total is 0"));
}
