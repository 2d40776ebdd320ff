//! The ports of built machines are those of the table.

use flashd_hwmodel::build;
use flashd_hwmodel::vectors::{PortShape, ports};
use flashd_spec::config::{ArrayConfig, CoreConfig, SplitConfig};
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;
use flashd_spec::ports::{PORTS, Port};

/// Names, directions, words and widths, in the order of the table.
fn of_table(machine: &Machine) -> Vec<PortShape> {
    let rows = PORTS.iter().map(|row| (row, row.words(machine)));
    let shape = |(row, (elements, width)): (&flashd_spec::ports::PortRow, (usize, u32))| PortShape {
        name: row.name.into(),
        output: row.is_output(),
        width,
        elements,
    };
    rows.filter(|(_, (words, _))| *words > 0).map(shape).collect()
}

fn machines(core: &CoreConfig) -> Vec<Machine> {
    let mut all = vec![core.into(), ArrayConfig::new(core.clone(), 3).into()];
    if core.can_be_partial() {
        all.push(SplitConfig::new(core.clone(), 2).into());
    }
    all
}

#[test]
fn machines_have_the_ports_of_the_table() {
    let mut seen = 0;
    for core in CoreConfig::variants(5, Format::BF16) {
        for (masks, partial, bias) in [
            (false, false, false),
            (true, false, true),
            (false, false, true),
            (true, true, true),
            (true, true, false),
        ] {
            let core = CoreConfig { masks, partial, bias, ..core.clone() };
            for machine in machines(&core).into_iter().filter(|machine| machine.validate().is_ok()) {
                let circuit = build(&machine).unwrap();
                let mut built: Vec<PortShape> =
                    ports(&circuit).into_iter().filter(|port| port.name != "clk").collect();
                if let Machine::Split(_) = machine {
                    // A split declares its outputs in another order.
                    built.sort_by_key(|port| Port::of_name(&port.name));
                }
                assert_eq!(built, of_table(&machine), "{}", machine.name());
                seen += 1;
            }
        }
    }
    assert!(seen > 80, "{seen}");
}

#[test]
fn rows_are_in_the_order_of_ports() {
    for (place, row) in PORTS.iter().enumerate() {
        assert_eq!((row.port as usize, Port::of_name(row.name)), (place, Some(row.port)), "{}", row.name);
    }
}
