//! From groups and attributes to a [`Library`]: units applied, table axes in one order.

use super::parse::LibertyGroup;
use super::special::is_special;
use super::values::{Problem, is_true, number, numbers, optional, units};
use super::{
    Cell, CellFunction, CellPin, ClockGate, Direction, Edge, Expression, FlipFlop, InternalPower, Leakage,
    LibertyTable, Library, Sense, TimingArc, Units, WireLoad,
};
use std::cell::Cell as Counter;
use std::collections::{HashMap, HashSet};

pub(super) fn library(root: &LibertyGroup) -> Result<Library, Problem> {
    let units = units(root)?;
    let voltage = voltage(root)? * units.voltage;
    let templates = |kind| root.all(kind).map(|group| (group.name(), group)).collect();
    let context = Context {
        root,
        units,
        power: templates("power_lut_template"),
        timing: templates("lu_table_template"),
        ignored: Counter::new(0),
    };
    let mut cells = Vec::new();
    let mut lines = HashMap::new();
    for group in root.all("cell") {
        let line = group.line;
        if let Some(first) = lines.insert(group.name(), line) {
            let name = group.name();
            return Err(format!("cell {name} of line {line} is there twice, first on line {first}"));
        }
        let cell = context.cell(group);
        cells.push(cell.map_err(|problem| format!("cell {} of line {line}: {problem}", group.name()))?);
    }
    if cells.is_empty() {
        return Err("holds no cells".into());
    }
    let by_name = cells.iter().enumerate().map(|(i, cell): (_, &Cell)| (cell.name.clone(), i)).collect();
    let wire_load = wire_load(root, units.capacitance)?;
    Ok(Library {
        name: root.name().into(),
        units,
        voltage,
        default_wire_load: wire_load,
        cells,
        ignored_tables: context.ignored.get(),
        by_name,
    })
}

/// Supply voltage in the file's unit: of the default operating conditions, else nominal.
fn voltage(root: &LibertyGroup) -> Result<f64, Problem> {
    let conditions = root
        .value("default_operating_conditions")
        .and_then(|name| root.all("operating_conditions").find(|group| group.name() == name));
    let value = conditions.and_then(|group| group.value("voltage")).or_else(|| root.value("nom_voltage"));
    let text = value.ok_or("has neither nom_voltage nor default operating conditions with a voltage")?;
    number("voltage", text)
}

/// The default wire load model. OpenSTA uses none if the file does not contain it.
fn wire_load(root: &LibertyGroup, unit: f64) -> Result<Option<WireLoad>, Problem> {
    let name = root.value("default_wire_load");
    let Some(group) = root.all("wire_load").find(|group| Some(group.name()) == name) else { return Ok(None) };
    let read = || -> Result<WireLoad, Problem> {
        let mut lengths = Vec::new();
        for entry in group.attributes.iter().filter(|entry| entry.name == "fanout_length") {
            match numbers("fanout_length", &entry.values)?[..] {
                [fanout, length, ..] => lengths.push((fanout, length)),
                _ => return Err(format!("fanout_length of line {} is not two numbers", entry.line)),
            }
        }
        lengths.sort_by(|a: &(f64, f64), b| a.0.total_cmp(&b.0));
        lengths.dedup_by_key(|(fanout, _)| *fanout);
        let value = |name| optional(group, name).map(Option::unwrap_or_default);
        let (capacitance, slope) = (value("capacitance")? * unit, value("slope")?);
        Ok(WireLoad { name: group.name().to_string(), capacitance, slope, lengths })
    };
    read().map(Some).map_err(|problem| format!("wire_load {}: {problem}", group.name()))
}

fn expression(group: &LibertyGroup, name: &str) -> Result<Option<Expression>, Problem> {
    let Some(attribute) = group.attribute(name) else { return Ok(None) };
    let text = attribute.values.first().filter(|text| !text.trim().is_empty());
    let parsed = text.map(|text| Expression::parse(text)).transpose();
    parsed.map_err(|e| format!("{name} of line {}: {e}", attribute.line))
}

struct Context<'a> {
    root: &'a LibertyGroup,
    units: Units,
    /// Templates of power tables.
    power: HashMap<&'a str, &'a LibertyGroup>,
    /// Templates of timing tables, which some libraries have for power, too.
    timing: HashMap<&'a str, &'a LibertyGroup>,
    ignored: Counter<usize>,
}

impl Context<'_> {
    fn cell(&self, group: &LibertyGroup) -> Result<Cell, Problem> {
        let grounds: HashSet<&str> = group
            .all("pg_pin")
            .filter(|pin| pin.value("pg_type").is_some_and(|kind| kind.ends_with("ground")))
            .map(LibertyGroup::name)
            .collect();
        let mut kind = kind(group)?;
        let mut pins: Vec<CellPin> = Vec::new();
        for pin in group.all("pin") {
            // A pin of unknown direction: the cell cannot be connected.
            let Some(direction) = direction(pin) else {
                kind = CellFunction::Other;
                continue;
            };
            for name in &pin.names {
                if pins.iter().any(|pin| pin.name == *name) {
                    return Err(format!("pin {name} of line {} is there twice", pin.line));
                }
                match self.pin(pin, name, direction, &grounds) {
                    Ok(pin) => pins.push(pin),
                    // No tool uses the cell: unknown forms are harmless.
                    Err(_) if kind == CellFunction::Other => {}
                    Err(problem) => return Err(format!("pin {name}: {problem}")),
                }
            }
        }
        if let CellFunction::ClockGate(gate) = &kind {
            pins.iter_mut()
                .filter(|pin| pin.name == gate.output)
                .for_each(|pin| pin.function = Some(gate.passes()));
        }
        let area = optional(group, "area")?.unwrap_or(0.0);
        if area < 0.0 {
            return Err(format!("area: {area} is below 0"));
        }
        Ok(Cell {
            name: group.name().to_string(),
            area,
            kind,
            leakage: self.leakage(group, &grounds)?,
            // A gate of no area would be the cheapest of all.
            dont_use: is_special(group) || area == 0.0,
            pins,
        })
    }

    fn pin(
        &self,
        group: &LibertyGroup,
        name: &str,
        direction: Direction,
        grounds: &HashSet<&str>,
    ) -> Result<CellPin, Problem> {
        let plain = match optional(group, "capacitance")? {
            Some(value) => value,
            None if direction == Direction::Input => {
                optional(self.root, "default_input_pin_cap")?.unwrap_or(0.0)
            }
            None => 0.0,
        };
        let capacitance = match (optional(group, "rise_capacitance")?, optional(group, "fall_capacitance")?) {
            (Some(rise), Some(fall)) => (rise + fall) / 2.0,
            _ => plain,
        };
        let mut internal_power = Vec::new();
        for table in group.all("internal_power") {
            // Only the supply's energy counts; tables of ground pins describe the same charge.
            if table.value("related_pg_pin").is_some_and(|pin| grounds.contains(pin)) {
                continue;
            }
            internal_power.push(self.internal_power(table)?);
        }
        let mut arcs = Vec::new();
        for arc in group.all("timing") {
            arcs.extend(self.timing_arc(arc)?);
        }
        Ok(CellPin {
            name: name.to_string(),
            direction,
            capacitance: capacitance * self.units.capacitance,
            max_capacitance: optional(group, "max_capacitance")?.map(|c| c * self.units.capacitance),
            function: expression(group, "function")?,
            three_state: group.value("three_state").is_some(),
            clock: is_true(group, "clock"),
            internal_power,
            arcs,
        })
    }

    /// An arc of an output; nothing for constraints of inputs, and for arcs that switch an output off.
    fn timing_arc(&self, group: &LibertyGroup) -> Result<Option<TimingArc>, Problem> {
        if group.value("timing_type").is_some_and(|kind| kind.starts_with("three_state")) {
            return Ok(None);
        }
        let table = |kind| self.table_of(group, kind, self.units.time);
        let rise = Edge { delay: table("cell_rise")?, transition: table("rise_transition")? };
        let fall = Edge { delay: table("cell_fall")?, transition: table("fall_transition")? };
        if [&rise, &fall].iter().all(|edge| edge.delay.is_none() && edge.transition.is_none()) {
            return Ok(None);
        }
        let sense = match group.value("timing_sense") {
            Some("positive_unate") => Sense::Positive,
            Some("negative_unate") => Sense::Negative,
            _ => Sense::Both,
        };
        let when = expression(group, "when")?;
        Ok(Some(TimingArc { related_pins: related_pins(group), when, sense, rise, fall }))
    }

    fn internal_power(&self, group: &LibertyGroup) -> Result<InternalPower, Problem> {
        let table = |kind| self.table_of(group, kind, self.units.energy());
        let both = table("power")?;
        Ok(InternalPower {
            related_pins: related_pins(group),
            when: expression(group, "when")?,
            rise: table("rise_power")?.or_else(|| both.clone()),
            fall: table("fall_power")?.or(both),
        })
    }

    /// The table of a kind in a group, its values in `unit`.
    fn table_of(&self, group: &LibertyGroup, kind: &str, unit: f64) -> Result<Option<LibertyTable>, Problem> {
        let Some(group) = group.all(kind).next() else { return Ok(None) };
        let table = self.table(group, unit);
        table.map_err(|problem| format!("{kind} ({}) of line {}: {problem}", group.name(), group.line))
    }

    fn table(&self, group: &LibertyGroup, unit: f64) -> Result<Option<LibertyTable>, Problem> {
        let values = numbers("values", group.values("values").ok_or("no values")?)?;
        let values: Vec<f64> = values.into_iter().map(|value| value * unit).collect();
        if let [value] = values[..] {
            return Ok(Some(LibertyTable::constant(value)));
        }
        let [first, second] = match group.kind.ends_with("power") {
            true => [&self.power, &self.timing],
            false => [&self.timing, &self.power],
        };
        let template = first.get(group.name()).or_else(|| second.get(group.name()));
        // A third axis, such as the load of another output.
        let has = |name: &str| group.attribute(name).or_else(|| template?.attribute(name)).is_some();
        if has("index_3") || template.is_some_and(|template| template.attribute("variable_3").is_some()) {
            self.ignored.set(self.ignored.get() + 1);
            return Ok(None);
        }
        let axis = |index: &str, variable: &str| -> Result<Option<TableAxis>, Problem> {
            let texts = group.values(index).or_else(|| template.and_then(|t| t.values(index)));
            let Some(texts) = texts else { return Ok(None) };
            let scaled = |unit: f64| -> Result<Vec<f64>, Problem> {
                Ok(numbers(index, texts)?.into_iter().map(|x| x * unit).collect())
            };
            Ok(Some(match template.and_then(|t| t.value(variable)) {
                Some("input_transition_time" | "input_net_transition") => {
                    TableAxis::Transition(scaled(self.units.time)?)
                }
                Some("total_output_net_capacitance") => TableAxis::Load(scaled(self.units.capacitance)?),
                _ => TableAxis::Other,
            }))
        };
        let none = || vec![0.0];
        let table = match (axis("index_1", "variable_1")?, axis("index_2", "variable_2")?) {
            (Some(TableAxis::Transition(transition)), None) => LibertyTable::new(transition, none(), values),
            (Some(TableAxis::Load(load)), None) => LibertyTable::new(none(), load, values),
            (Some(TableAxis::Transition(transition)), Some(TableAxis::Load(load))) => {
                LibertyTable::new(transition, load, values)
            }
            (Some(TableAxis::Load(load)), Some(TableAxis::Transition(transition))) => {
                LibertyTable::with_load_first(transition, load, values)
            }
            (None, _) => Err("no index_1".into()),
            _ => {
                self.ignored.set(self.ignored.get() + 1);
                return Ok(None);
            }
        };
        table.map(Some)
    }

    fn leakage(&self, group: &LibertyGroup, grounds: &HashSet<&str>) -> Result<Leakage, Problem> {
        let unit = self.units.leakage;
        let mut leakage = Leakage { unconditional: None, conditional: Vec::new() };
        for state in group.all("leakage_power") {
            if state.value("related_pg_pin").is_some_and(|pin| grounds.contains(pin)) {
                continue;
            }
            let Some(value) = optional(state, "value")? else { continue };
            match expression(state, "when")? {
                Some(when) => leakage.conditional.push((when, value * unit)),
                None => leakage.unconditional = Some(value * unit),
            }
        }
        if let Some(value) = optional(group, "cell_leakage_power")? {
            leakage.unconditional = Some(value * unit);
        } else if leakage.unconditional.is_none() && leakage.conditional.is_empty() {
            leakage.unconditional =
                optional(self.root, "default_cell_leakage_power")?.map(|value| value * unit);
        }
        Ok(leakage)
    }
}

fn direction(pin: &LibertyGroup) -> Option<Direction> {
    match pin.value("direction").unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "input" => Some(Direction::Input),
        "output" => Some(Direction::Output),
        "inout" => Some(Direction::Inout),
        "internal" => Some(Direction::Internal),
        _ => None,
    }
}

/// An axis of a table in SI units.
enum TableAxis {
    Transition(Vec<f64>),
    Load(Vec<f64>),
    Other,
}

fn related_pins(group: &LibertyGroup) -> Vec<String> {
    group.value("related_pin").unwrap_or_default().split_whitespace().map(str::to_string).collect()
}

/// Kind of a cell, by its groups.
fn kind(group: &LibertyGroup) -> Result<CellFunction, Problem> {
    if let Some(style) = group.value("clock_gating_integrated_cell") {
        return Ok(clock_gate(group, style).map_or(CellFunction::Other, CellFunction::ClockGate));
    }
    let foreign = ["latch", "statetable", "ff_bank", "latch_bank", "memory", "bus", "bundle"];
    if group.groups.iter().any(|inner| foreign.contains(&inner.kind.as_str())) {
        return Ok(CellFunction::Other);
    }
    let mut flip_flops = group.all("ff");
    match (flip_flops.next(), flip_flops.next()) {
        (None, _) => Ok(CellFunction::Combinational),
        (Some(_), Some(_)) => Ok(CellFunction::Other),
        (Some(ff), None) => {
            let (clocked_on, next_state) = (expression(ff, "clocked_on")?, expression(ff, "next_state")?);
            // A design with one clock has no use for a register with two or none.
            let (Some(clocked_on), Some(next_state), None) =
                (clocked_on, next_state, ff.attribute("clocked_on_also"))
            else {
                return Ok(CellFunction::Other);
            };
            let name = |index: usize| ff.names.get(index).cloned().unwrap_or_default();
            Ok(CellFunction::FlipFlop(FlipFlop {
                state: name(0),
                inverse: name(1),
                clocked_on,
                next_state,
                clear: expression(ff, "clear")?,
                preset: expression(ff, "preset")?,
            }))
        }
    }
}

/// The pins of a clock gate for the rising edge; nothing for one of another style, or with pins besides.
fn clock_gate(group: &LibertyGroup, style: &str) -> Option<ClockGate> {
    let role = |role: &str| -> Vec<&String> {
        let pins = group.all("pin").filter(|pin| pin.value(role) == Some("true"));
        pins.flat_map(|pin| &pin.names).collect()
    };
    let [[clock], [enable], test @ ([] | [_]), [output]] = [
        &role("clock_gate_clock_pin")[..],
        &role("clock_gate_enable_pin"),
        &role("clock_gate_test_pin"),
        &role("clock_gate_out_pin"),
    ] else {
        return None;
    };
    let signals = group.all("pin").filter(|pin| pin.value("direction") != Some("internal"));
    let known = 3 + test.len();
    (style.starts_with("latch_posedge") && signals.flat_map(|pin| &pin.names).count() == known).then(|| {
        ClockGate {
            clock: (*clock).clone(),
            enable: (*enable).clone(),
            test: test.first().map(|test| (*test).clone()),
            output: (*output).clone(),
        }
    })
}
