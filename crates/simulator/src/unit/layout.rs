//! Places of a job's rows in memory.

use flashd_spec::config::Carried;
use flashd_spec::unit::descriptor::Descriptor;
use flashd_spec::unit::{Flag, LSE_BYTES, UnitConfig};

/// The address from which rows are placed. Descriptors of a queue are below it.
pub const FIRST_ROW: u64 = 0x1_0000;

/// Tensors: their address, the prefix of their strides, the bytes of a row, and the flag without which they are not there.
fn tensors(config: &UnitConfig) -> Vec<(&'static str, &'static str, u32, Option<Flag>)> {
    let of = |name, carried| (name, name, config.row_bytes(carried), None);
    let mut tensors = vec![
        of("Q", Carried::Query),
        of("K", Carried::Key),
        of("V", Carried::Value),
        of("O", Carried::Result),
    ];
    if config.array.core.partial {
        let state = config.row_bytes(Carried::State);
        tensors.push(("LSE", "LSE", LSE_BYTES, Some(Flag::Lse)));
        tensors.push(("STATE_IN", "STATE", state, Some(Flag::StateIn)));
        tensors.push(("STATE_OUT", "STATE", state, Some(Flag::StateOut)));
    }
    tensors
}

/// Gives out addresses, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    next: u64,
    align: u64,
}

impl Layout {
    /// Addresses from `first` on, at multiples of `align`.
    pub fn new(first: u64, align: u64) -> Layout {
        Layout { next: first, align }
    }

    /// Reserves `bytes` bytes; returns the address of the first.
    pub fn take(&mut self, bytes: u64) -> u64 {
        self.aligned(bytes, self.align)
    }

    fn aligned(&mut self, bytes: u64, align: u64) -> u64 {
        let address = self.next.next_multiple_of(align);
        self.next = address + bytes;
        address
    }

    /// Sets the fields that are not `given`: rows without gaps, heads of a tensor one after another, pages with all heads in each, and
    /// addresses of the job's operands and results. Heads, tokens, pages and flags are set already.
    pub fn complete(
        &mut self,
        config: &UnitConfig,
        descriptor: &mut Descriptor,
        given: &dyn Fn(&str) -> bool,
    ) {
        let mut fields = Fields { descriptor, given };
        fields.descriptor.set("GROUP", fields.descriptor.get("GROUP").max(1));
        fields.descriptor.set("K_HEADS", fields.descriptor.get("K_HEADS").max(1));
        let paged = fields.descriptor.has(Flag::Paged);
        let table = fields.get("KEYS").div_ceil(1 << fields.get("PAGE").min(16));
        if paged {
            fields.default("PAGES", table);
        }
        for (name, strides, bytes, flag) in tensors(config) {
            if flag.is_some_and(|flag| !fields.descriptor.has(flag)) {
                continue;
            }
            let of_keys = ["K", "V"].contains(&name);
            let heads = fields.get("K_HEADS") * if of_keys { 1 } else { fields.get("GROUP") };
            let tokens = match (of_keys, paged) {
                (false, _) => fields.get("QUERIES"),
                (true, false) => fields.get("KEYS"),
                (true, true) => 1 << fields.get("PAGE").min(16),
            };
            let row = fields.default(&format!("{strides}_ROW"), bytes.into());
            let head = fields.default(&format!("{strides}_HEAD"), tokens * row);
            let bytes = match of_keys && paged {
                true => fields.get("PAGES") * fields.default(&format!("{name}_PAGE"), heads * head),
                false => heads * head,
            };
            if !given(name) {
                fields.descriptor.set(name, self.take(bytes.max(1)));
            }
        }
        if paged && !given("TABLE") {
            // Entries of a table are words.
            fields.descriptor.set("TABLE", self.aligned(4 * table.max(1), self.align.max(4)));
        }
    }
}

/// Fields, and which of them stay.
struct Fields<'a> {
    descriptor: &'a mut Descriptor,
    given: &'a dyn Fn(&str) -> bool,
}

impl Fields<'_> {
    fn get(&self, name: &str) -> u64 {
        self.descriptor.get(name)
    }

    /// Sets a field that is not given; its value.
    fn default(&mut self, name: &str, value: u64) -> u64 {
        if !(self.given)(name) {
            self.descriptor.set(name, value);
        }
        self.get(name)
    }
}
