//! Combinational leaves with vector ports.

/// Declares a leaf whose every port is a vector of words of one width; a vector of one word is a plain port. The
/// function takes a list of words for each input and yields one for each output. `with` makes it from a tag, the
/// `(words, bits)` of each port, and the function's parameters.
macro_rules! vector_unit {
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $($field:ident: $field_type:ty),* $(,)? }
        inputs { $($input:ident),* }
        outputs { $($output:ident),* }
        eval<$w:ident>($this:ident) { $($body:tt)* }
    ) => {
        $(#[$meta])*
        pub struct $name {
            tag: $crate::rtl::Tag,
            $(
                /// Input.
                pub $input: Vec<$crate::rtl::Bus<$crate::rtl::In>>,
            )*
            $(
                /// Output.
                pub $output: Vec<$crate::rtl::Bus<$crate::rtl::Out>>,
            )*
            $($field: $field_type,)*
            /// Inputs of the last evaluation.
            seen: Vec<u64>,
        }

        impl $name {
            /// The leaf with ports of so many words and bits.
            #[allow(clippy::too_many_arguments)]
            pub fn with(
                tag: $crate::rtl::Tag,
                $($input: (usize, u32),)*
                $($output: (usize, u32),)*
                $($field: $field_type,)*
            ) -> Self {
                $name {
                    tag,
                    $($input: $crate::rtl::Bus::vector($input.0, $input.1),)*
                    $($output: $crate::rtl::Bus::vector($output.0, $output.1),)*
                    $($field,)*
                    seen: Vec::new(),
                }
            }

            fn eval<$w: $crate::word::Word>(&self, $($input: &[$w]),*) -> ($(vector_unit!(@list $output $w),)*) {
                let $this = self;
                let _ = $this;
                $($body)*
            }
        }

        impl $crate::rtl::Logic for $name {
            fn update(&mut self) {
                let now = || self.seen.iter().copied();
                let inputs = || [].iter()$(.chain(&self.$input))*.map(|bus| bus.val());
                if !self.seen.is_empty() && now().eq(inputs()) {
                    return;
                }
                self.seen = inputs().collect();
                $(
                    let $input: Vec<$crate::word::Num> =
                        self.$input.iter().map(|b| $crate::word::Num::new(b.width(), b.val())).collect();
                )*
                let ($($output,)*) = self.eval($(&$input),*);
                $(
                    for (bus, word) in self.$output.iter_mut().zip($output) {
                        debug_assert_eq!($crate::word::Word::width(&word), bus.width(), stringify!($output));
                        bus.next = word.value();
                    }
                )*
            }
            fn connect(&mut self) {
                $(self.$output.iter_mut().for_each($crate::rtl::Logic::connect);)*
            }
            fn hdl(&self) -> $crate::rtl::Verilog {
                use $crate::netlist::Net;
                $(
                    let $input: Vec<Net> = match self.$input.len() {
                        1 => vec![Net::input(stringify!($input), self.$input[0].width())],
                        n => (0..n)
                            .map(|i| Net::element(stringify!($input), i, self.$input[i].width()))
                            .collect(),
                    };
                )*
                let ($($output,)*) = self.eval($(&$input),*);
                let mut outputs: Vec<(String, Net)> = Vec::new();
                $(
                    let n = self.$output.len();
                    for (i, (word, bus)) in $output.into_iter().zip(&self.$output).enumerate() {
                        let name = match (n, bus.width()) {
                            (1, _) => stringify!($output).to_string(),
                            (_, 1) => format!("{}[{i}]", stringify!($output)),
                            (_, w) => format!("{}[{w}*{i} +: {w}]", stringify!($output)),
                        };
                        outputs.push((name, word));
                    }
                )*
                $crate::rtl::Verilog::Custom(
                    $crate::netlist::verilog_body(&[$(stringify!($input)),*], &outputs),
                )
            }
        }

        impl $crate::rtl::Block for $name {
            fn connect_all(&mut self) {
                use $crate::rtl::Logic;
                self.connect();
            }
            fn update_all(&mut self) {
                use $crate::rtl::Logic;
                self.update();
                $(self.$output.update_all();)*
            }
            fn has_changed(&self) -> bool {
                $(self.$output.has_changed() ||)* false
            }
            fn accept(&self, name: &str, probe: &mut dyn $crate::rtl::Probe) {
                probe.visit_start_scope(name, self);
                self.tag.accept("tag", probe);
                $(self.$input.accept(stringify!($input), probe);)*
                $(self.$output.accept(stringify!($output), probe);)*
                probe.visit_end_scope(name, self);
            }
        }

        impl $crate::rtl::Part for $name {
            fn settle(&mut self) -> bool {
                use $crate::rtl::Block;
                self.update_all();
                self.has_changed()
            }
            fn is_restless(&self) -> bool {
                let inputs = [].iter()$(.chain(&self.$input))*.map(|bus| bus.val());
                !self.seen.iter().copied().eq(inputs)
            }
        }
    };
    (@list $output:ident $w:ident) => { Vec<$w> };
}
pub(super) use vector_unit;
