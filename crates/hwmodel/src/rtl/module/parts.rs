//! The contents of a module: leaves, registers, clock gates and inner modules.

use super::build::Built;
use super::signals::part_name;
use super::{Around, Driver, Module, Name, Wire};
use crate::rtl::leaf::{Function, FunctionLeaf, Leaf, Pins};
use crate::rtl::retime::{Interleaving, interleaved};
use crate::rtl::structure::{Kind, Node, Register};
use crate::rtl::{Tag, Watched};
use std::sync::Arc;

impl Module {
    /// Adds a combinational function and returns its outputs.
    pub fn call<F: Function<I, O>, const I: usize, const O: usize>(
        &mut self,
        name: impl Into<Name>,
        function: F,
        inputs: [Wire; I],
    ) -> [Wire; O] {
        self.add_leaf(name.into(), Arc::new(FunctionLeaf::new(function)), &inputs)
            .try_into()
            .unwrap_or_else(wrong_count)
    }

    /// Adds a vector of functions with one output each; element i reads `inputs[i]`.
    pub fn call_each<F: Function<I, 1>, const I: usize>(
        &mut self,
        name: &str,
        function: F,
        inputs: impl IntoIterator<Item = [Wire; I]>,
    ) -> Vec<Wire> {
        self.leaf_each(name, FunctionLeaf::new(function), inputs)
            .into_iter()
            .map(|output| output[0])
            .collect()
    }

    /// Adds a combinational module with vector ports. Inputs and outputs are the words of all ports, in port order.
    pub fn leaf(&mut self, name: impl Into<Name>, leaf: impl Leaf + 'static, inputs: &[Wire]) -> Vec<Wire> {
        self.add_leaf(name.into(), Arc::new(leaf), inputs)
    }

    /// Adds a vector of equal combinational modules; element i reads `inputs[i]`.
    pub fn leaf_each<I: AsRef<[Wire]>>(
        &mut self,
        name: &str,
        leaf: impl Leaf + 'static,
        inputs: impl IntoIterator<Item = I>,
    ) -> Vec<Vec<Wire>> {
        let leaf: Arc<dyn Leaf> = Arc::new(leaf);
        let inputs = inputs.into_iter().enumerate();
        inputs.map(|(i, inputs)| self.add_leaf((name, i).into(), leaf.clone(), inputs.as_ref())).collect()
    }

    fn add_leaf(&mut self, name: Name, leaf: Arc<dyn Leaf>, inputs: &[Wire]) -> Vec<Wire> {
        let widths = |list: Vec<Pins>| list.into_iter().flat_map(|p| vec![(p.name, p.width); p.count()]);
        let wanted: Vec<(&str, u32)> = widths(leaf.inputs()).collect();
        let what = || format!("{}.{}, a {}", self.tag.name, name.base, leaf.tag().name);
        assert!(
            wanted.len() == inputs.len(),
            "{}: {} inputs instead of {}",
            what(),
            inputs.len(),
            wanted.len()
        );
        for (wire, (port, width)) in inputs.iter().zip(wanted) {
            assert!(
                wire.width == width,
                "{}: {port} has {width} bits, what drives it {}",
                what(),
                wire.width
            );
        }
        let outputs: Vec<u32> = widths(leaf.outputs()).map(|(_, width)| width).collect();
        self.add(name, Kind::Leaf(leaf), inputs, &outputs)
    }

    /// `q <= d`.
    pub fn register(&mut self, name: impl Into<Name>, d: Wire) -> Wire {
        self.add_register(name.into(), Register::Plain, &[d])
    }

    /// `if (enable) q <= d`.
    pub fn register_if(&mut self, name: impl Into<Name>, enable: Wire, d: Wire) -> Wire {
        self.add_register(name.into(), Register::Enabled, &[enable, d])
    }

    /// `q <= rst ? value : d`.
    pub fn register_reset(&mut self, name: impl Into<Name>, value: u64, d: Wire) -> Wire {
        let reset =
            self.reset.unwrap_or_else(|| panic!("{}: a register with reset, and no reset", self.tag.name));
        self.add_register(name.into(), Register::Reset(value), &[reset, d])
    }

    /// A state register, zero after reset. Returns its output, so that the logic of its next state can read it; [`Module::next`] drives its
    /// input.
    pub fn state(&mut self, name: impl Into<Name>, width: u32) -> Wire {
        let next = self.later(width);
        let state = self.register_reset(name, 0, next);
        self.states.insert(state.slot, next);
        state
    }

    /// [`Module::state`] for a register without reset that loads while `enable` is high.
    pub fn state_if(&mut self, name: impl Into<Name>, width: u32, enable: Wire) -> Wire {
        let next = self.later(width);
        let state = self.register_if(name, enable, next);
        self.states.insert(state.slot, next);
        state
    }

    /// Drives the input of a [state](Module::state) register.
    pub fn next(&mut self, state: Wire, from: Wire) {
        let Some(next) = self.states.remove(&state.slot) else { panic!("{}: no state", self.tag.name) };
        self.drive(next, from);
    }

    /// [`Module::next`] for several states.
    pub fn next_all(&mut self, states: &[Wire], from: &[Wire]) {
        assert_eq!(states.len(), from.len(), "{}: what as many states take", self.tag.name);
        states.iter().zip(from).for_each(|(&state, &from)| self.next(state, from));
    }

    /// [`Module::register`] for a vector of words.
    pub fn registers(&mut self, name: &str, d: &[Wire]) -> Vec<Wire> {
        d.iter().enumerate().map(|(i, &d)| self.register((name, i), d)).collect()
    }

    /// [`Module::register_if`] for a vector of words.
    pub fn registers_if(&mut self, name: &str, enable: Wire, d: &[Wire]) -> Vec<Wire> {
        d.iter().enumerate().map(|(i, &d)| self.register_if((name, i), enable, d)).collect()
    }

    fn add_register(&mut self, name: Name, register: Register, inputs: &[Wire]) -> Wire {
        assert!(self.clock.is_some(), "{}: {} has no clock", self.tag.name, name.base);
        let (control, d) = inputs.split_at(inputs.len() - 1);
        assert!(
            control.iter().all(|wire| wire.width == 1),
            "{}.{}: a control of several bits",
            self.tag.name,
            name.base
        );
        self.add(name, Kind::Register(register), inputs, &[d[0].width])[0]
    }

    /// A clock gate: the registers that `behind` adds hold while `enable` is low. In Verilog it is their clock enable.
    ///
    /// `enable` must be stable while the clock is high. Here it is, because every register takes the rising edge.
    pub fn gated<R>(&mut self, name: &str, enable: Wire, behind: impl FnOnce(&mut Module) -> R) -> R {
        assert!(
            self.clock.is_some() && self.gate.is_none(),
            "{}: a gate needs a clock that has none",
            self.tag.name
        );
        let gate = self.nodes.len() as u32;
        self.add(name.into(), Kind::Gate, &[enable], &[]);
        self.gate = Some(gate);
        let result = behind(self);
        self.gate = None;
        result
    }

    /// A part that is itself a module. `body` describes it: it declares inputs, adds parts and hands out outputs.
    pub fn part<R>(&mut self, name: impl Into<Name>, tag: Tag, body: impl FnOnce(&mut Module) -> R) -> R {
        let mut part = self.begin_part(tag);
        part.place = self.place;
        let result = body(&mut part);
        self.end_part(name.into(), part.build_part());
        result
    }

    /// [`Module::part`] for C copies of the part that take turns, see [`Interleaving`]. The first input of the part must be its reset. Labels
    /// of its rows have the cycles by which a signal is late or early.
    ///
    /// # Panics
    /// If no placement of registers meets the period.
    pub fn interleaved_part<R>(
        &mut self,
        name: impl Into<Name>,
        tag: Tag,
        interleaving: &Interleaving,
        body: impl FnOnce(&mut Module) -> R,
    ) -> R {
        let mut part = self.begin_part(tag);
        part.place = self.place;
        let result = body(&mut part);
        let (widths, mut built) = part.build_part();
        let Some(interleaved) = interleaved(&built.structure, interleaving) else {
            panic!("{}: no placement of registers meets the period", built.structure.tag.name)
        };
        built.watches.iter_mut().for_each(|watched| *watched = interleaved.watched(watched));
        let rows = built.signals.iter().filter_map(|signal| interleaved.row(&built.structure, signal));
        built.signals = rows.collect();
        built.structure = interleaved.structure;
        self.end_part(name.into(), (widths, built));
        result
    }

    fn begin_part(&self, tag: Tag) -> Module {
        let first_output = self.slots.len() as u32;
        let around = Around { id: self.id, reset: self.reset, first_output, outputs: Vec::new() };
        Module::new(tag, Some(around))
    }

    /// The module, and the widths of its outputs in the order of the calls of output, which may differ from port order.
    fn build_part(mut self) -> (Vec<u32>, Built) {
        let widths = self.around.as_mut().map(|around| std::mem::take(&mut around.outputs));
        (widths.unwrap_or_default(), self.build())
    }

    fn end_part(&mut self, name: Name, (widths, built): (Vec<u32>, Built)) {
        widths.into_iter().for_each(|width| _ = self.slot(width, Driver::Own));
        let Built { structure, inputs, outputs, watches, signals } = built;
        assert!(
            structure.clock.is_none() || self.clock.is_some(),
            "{}: {} needs a clock, and there is none",
            self.tag.name,
            name.base
        );
        let node = self.nodes.len() as u32;
        self.watches.extend(watches.into_iter().map(|mut watched| match watched.outside.take() {
            Some(slot) => Watched { slot, ..watched },
            None => {
                watched.path.insert(0, node);
                watched
            }
        }));
        let around = part_name(&name);
        self.signals.extend(signals.into_iter().map(|signal| signal.of_part(&around)));
        self.add_node(name, Kind::Module(structure), inputs, outputs);
    }

    fn add(&mut self, name: Name, kind: Kind, inputs: &[Wire], outputs: &[u32]) -> Vec<Wire> {
        inputs.iter().for_each(|&wire| self.check(wire));
        let outputs: Vec<u32> = outputs.iter().map(|&width| self.slot(width, Driver::Own)).collect();
        let wires = outputs.iter().map(|&slot| self.wire(slot)).collect();
        self.add_node(name, kind, inputs.iter().map(|wire| wire.slot).collect(), outputs);
        wires
    }

    pub(super) fn add_node(&mut self, name: Name, kind: Kind, inputs: Vec<u32>, outputs: Vec<u32>) {
        let Name { base: name, index } = name;
        assert!(self.names.insert((name.clone(), index)), "{}: two parts {name}", self.tag.name);
        self.nodes.push(Node { name, index, kind, inputs, outputs, gate: self.gate });
    }
}

/// What a leaf says of its outputs is checked where it is made.
fn wrong_count<const N: usize>(wires: Vec<Wire>) -> [Wire; N] {
    unreachable!("{} wires instead of {N}", wires.len())
}
