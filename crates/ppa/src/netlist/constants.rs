//! Constant nets: outputs of tie cells, and of logic whose constant inputs decide its output.

use super::flatten::FlatNetlist;
use super::yosys::CONSTANT_NETS;
use super::{Direction, Net, OPEN};
use crate::liberty::{Cell, Expression, INPUT_COLUMNS};

/// Value of each constant net of a flat netlist. `order` is a topological order of its cells.
pub(super) fn constants(flat: &FlatNetlist, order: &[u32]) -> Vec<Option<bool>> {
    let mut known = vec![None; flat.nets];
    known[..CONSTANT_NETS as usize].copy_from_slice(&[Some(false), Some(true)]);
    for &cell in order {
        let instance = &flat.cells[cell as usize];
        let kind = &flat.kinds[instance.kind as usize];
        if kind.next.is_some() {
            continue;
        }
        let nets = &flat.pins[instance.first_pin as usize..][..kind.cell.pins.len()];
        // Most cells have none, and are no tie cells.
        if kind.cell.inputs().count() > 0
            && !inputs(&kind.cell, nets).any(|net| known[net as usize].is_some())
        {
            continue;
        }
        for (pin, &net) in kind.cell.pins.iter().zip(nets) {
            let function =
                pin.function.as_ref().filter(|_| pin.direction == Direction::Output && net != OPEN);
            if let Some(value) = function.and_then(|function| value(function, &kind.cell, nets, &known)) {
                known[net as usize] = Some(value);
            }
        }
    }
    known
}

/// Value of a function of a cell's pins where the constants among their nets decide it; `None` where it depends on
/// others, or on more of them than a word has rows for.
pub(super) fn value(
    function: &Expression,
    cell: &Cell,
    nets: &[Net],
    known: &[Option<bool>],
) -> Option<bool> {
    let constant = |name: &str| {
        let pin = cell.pins.iter().position(|pin| pin.name == name)?;
        known.get(nets[pin] as usize).copied().flatten()
    };
    let free: Vec<&str> = function.pins().into_iter().filter(|pin| constant(pin).is_none()).collect();
    if free.len() > INPUT_COLUMNS.len() {
        return None;
    }
    let column = |name: &str| match constant(name) {
        Some(bit) => Some(if bit { u64::MAX } else { 0 }),
        None => free.iter().position(|pin| *pin == name).map(|index| INPUT_COLUMNS[index]),
    };
    match function.evaluate(&column)? {
        0 => Some(false),
        u64::MAX => Some(true),
        _ => None,
    }
}

fn inputs<'a>(cell: &'a Cell, nets: &'a [Net]) -> impl Iterator<Item = Net> + 'a {
    let pins = cell.pins.iter().zip(nets);
    pins.filter(|(pin, net)| pin.direction == Direction::Input && **net != OPEN).map(|(_, &net)| net)
}
