//! The fields of the job that runs, as wires.

use crate::function;
use crate::rtl::{Module, Wire};
use flashd_spec::unit::descriptor::FIELDS;

/// Wires of fields of the job, by their names in [`FIELDS`].
pub struct Fields(Vec<(&'static str, Wire)>);

impl Fields {
    /// All fields; addresses have the `bits` of the port.
    pub fn new(m: &mut Module, wires: &[Wire], bits: u32) -> Fields {
        assert!(wires.len() == FIELDS.len(), "a wire for each field");
        let fields = FIELDS.iter().zip(wires).map(|(field, &wire)| {
            let name = format!("{}_address", field.name.to_lowercase());
            (field.name, if field.bits == 64 { low_bits(m, &name, wire, bits) } else { wire })
        });
        Fields(fields.collect())
    }

    /// The wire of a field.
    ///
    /// # Panics
    /// If it is not among these.
    pub fn get(&self, name: &str) -> Wire {
        let field = self.0.iter().find(|(of, _)| *of == name);
        field.unwrap_or_else(|| panic!("no field {name}")).1
    }

    /// Declares inputs for fields, in lower case, and returns their wires inside.
    pub fn enter(&self, m: &mut Module, names: &[&'static str]) -> Fields {
        let enter =
            |&name: &&'static str| (name, m.input(&format!("job_{}", name.to_lowercase()), self.get(name)));
        Fields(names.iter().map(enter).collect())
    }
}

function! {
    /// The low bits of a field.
    pub struct LowBitsFunction { width: u32, bits: u32 }
    name(this) = format!("low_{}_of_{}", this.bits, this.width);
    doc = "The low bits of a word.";
    inputs { x: this.width }
    outputs { y: this.bits }
    eval<W> { [x.slice(0, this.bits)] }
}

/// The low `bits` of a wire; the wire itself if it has as many.
pub fn low_bits(m: &mut Module, name: &str, x: Wire, bits: u32) -> Wire {
    if x.width() == bits {
        return x;
    }
    m.call(name, LowBitsFunction { width: x.width(), bits }, [x])[0]
}

function! {
    /// One bit of a word.
    pub struct BitFunction { width: u32, bit: u32 }
    name(this) = format!("bit_{}_of_{}", this.bit, this.width);
    doc = format!("Bit {} of a word.", this.bit);
    inputs { x: this.width }
    outputs { y: 1 }
    eval<W> { [x.bit(this.bit)] }
}

/// Flags of the job, one bit each.
#[derive(Clone, Copy)]
pub struct Flags {
    /// CAUSAL.
    pub causal: Wire,
    /// WINDOW.
    pub windowed: Wire,
    /// PAGED.
    pub paged: Wire,
    /// INTERRUPT.
    pub interrupts: Wire,
    /// NEXT.
    pub follows: Wire,
    /// With partial results: LSE, STATE_IN and STATE_OUT.
    pub states: Option<[Wire; 3]>,
}

impl Flags {
    /// The bits of FLAGS. `partial`: the core has partial results.
    pub fn of(m: &mut Module, flags: Wire, partial: bool) -> Flags {
        let mut bit = |name: &str, bit| m.call(name, BitFunction { width: 16, bit }, [flags])[0];
        Flags {
            causal: bit("causal", 0),
            windowed: bit("windowed", 1),
            paged: bit("paged", 2),
            interrupts: bit("interrupts", 6),
            follows: bit("follows", 7),
            states: partial.then(|| [bit("lses", 3), bit("states_in", 4), bit("states_out", 5)]),
        }
    }
}
