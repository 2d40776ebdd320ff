//! One machine among those that a netlist is simulated for: its inputs, and the outputs that are due.

use super::workload::Feed;
use crate::Target;
use flashd_simulator::bench::{Difference, Due, Frame, Protocol};
use flashd_simulator::{array, protocol};
use flashd_spec::machine::Machine;
use flashd_spec::ports::Port;

/// A machine's run.
pub(super) struct PowerStream<'a> {
    protocol: Box<dyn Protocol + Send + 'a>,
    /// Inputs, and outputs as they are read from the netlist.
    pub frame: Frame,
    due: Due,
}

impl<'a> PowerStream<'a> {
    pub(super) fn new(target: &'a Target, feed: &'a Feed) -> Self {
        let protocol = match (&**target, feed) {
            (Machine::Array(config), Feed::Array(workload)) => array::protocol(config, workload),
            (_, Feed::Core(workload)) => protocol(target.core(), workload),
            (_, Feed::Array(_)) => unreachable!("the feeds are made for the target"),
        };
        PowerStream { protocol, frame: Frame::new(target), due: Due::at_ports(target) }
    }

    /// The inputs of a cycle.
    pub(super) fn drive(&mut self, cycle: usize) {
        self.protocol.drive(cycle as u64, &mut self.frame);
    }

    /// Compares a cycle's outputs with the model; returns the number of words compared, none in reset.
    pub(super) fn check(&mut self, cycle: usize) -> Result<u64, String> {
        if self.frame.is_high(Port::Rst) {
            return Ok(0);
        }
        self.protocol.due(cycle as u64, &self.frame, &mut self.due);
        self.due.compare(&self.frame).map_err(|Difference { port, place, expected, actual }| {
            format!("{}[{place}] is {actual:#x}, expected {expected:#x}", port.name())
        })
    }
}
