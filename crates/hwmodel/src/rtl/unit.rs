//! Combinational leaf modules: one [`Function`], read as numbers and as Verilog.

/// Declares a RustHDL leaf module around a [`Function`]:
/// `unit! { /// doc  pub struct Multiply(MultiplyFunction) { a, b } -> { y } }`.
///
/// `while done ignores o` after the outputs: they do not depend on `o` while `done` is low, and are not computed again when
/// nothing else moves. Builds with debug assertions compute them all the same and compare.
#[macro_export]
macro_rules! unit {
    (@count) => { 0 };
    (@count $head:ident $($tail:ident)*) => { 1 + $crate::unit!(@count $($tail)*) };
    (
        $(#[$meta:meta])*
        pub struct $name:ident($function:ty) { $($input:ident),* } -> { $($output:ident),* }
        $(while $gate:ident ignores $idle:ident)?
    ) => {
        $(#[$meta])*
        pub struct $name {
            tag: $crate::rtl::Tag,
            $(
                /// Input.
                pub $input: $crate::rtl::Bus<$crate::rtl::In>,
            )*
            $(
                /// Output.
                pub $output: $crate::rtl::Bus<$crate::rtl::Out>,
            )*
            function: $function,
            /// The outputs are those of the inputs that the last sweep has seen.
            evaluated: bool,
        }

        impl $name {
            /// The module that computes `function`.
            pub fn new(function: $function) -> Self {
                use $crate::rtl::Function;
                let ([$($input),*], [$($output),*]) = function.widths();
                $name {
                    tag: $crate::rtl::Tag::module(function.name(), function.doc()),
                    $($input: $crate::rtl::Bus::new($input),)*
                    $($output: $crate::rtl::Bus::new($output),)*
                    function,
                    evaluated: false,
                }
            }

            #[allow(dead_code)]
            fn pending(&self) -> usize {
                0 $(+ usize::from($crate::rtl::bus::Port::is_pending(&self.$input)))*
            }

            fn take_outputs(&mut self) -> bool {
                $($crate::rtl::bus::Port::take(&mut self.$output) |)* false
            }
        }

        impl $crate::rtl::Logic for $name {
            #[inline]
            fn update(&mut self) {
                use $crate::rtl::Function;
                let [$($output),*] = self.function.eval::<$crate::word::Num>([
                    $($crate::word::Num::new(self.$input.width(), self.$input.val())),*
                ]);
                $(
                    debug_assert_eq!(
                        $crate::word::Word::width(&$output), self.$output.width(), stringify!($output)
                    );
                    self.$output.next = $output.value();
                )*
            }
            fn connect(&mut self) {
                $(self.$output.connect();)*
            }
            fn hdl(&self) -> $crate::rtl::Verilog {
                use $crate::rtl::Function;
                let [$($output),*] = self.function.eval::<$crate::netlist::Net>([
                    $($crate::netlist::Net::input(stringify!($input), self.$input.width())),*
                ]);
                $crate::rtl::Verilog::Custom($crate::netlist::verilog_body(
                    &[$(stringify!($input)),*], &[$((stringify!($output).to_string(), $output)),*],
                ))
            }
        }

        impl $crate::rtl::Block for $name {
            fn connect_all(&mut self) {
                use $crate::rtl::Logic;
                self.connect();
            }
            #[inline]
            fn update_all(&mut self) {
                if !$crate::rtl::Part::settle(self) {
                    $(self.$output.update_all();)*
                }
            }
            #[inline]
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
            #[inline]
            fn settle(&mut self) -> bool {
                use $crate::rtl::Logic;
                if !self.is_restless() {
                    return false;
                }
                $(
                    let alone = $crate::rtl::bus::Port::is_pending(&self.$idle) && self.pending() == 1;
                    if self.evaluated && alone && self.$gate.val() == 0 {
                        if cfg!(debug_assertions) {
                            self.update();
                            assert!(!self.take_outputs(), "{} at rest", stringify!($name));
                        }
                        $crate::rtl::bus::Port::take(&mut self.$idle);
                        return false;
                    }
                )?
                self.evaluated = true;
                self.update();
                $($crate::rtl::bus::Port::take(&mut self.$input);)*
                self.take_outputs()
            }
            #[inline]
            fn is_restless(&self) -> bool {
                !self.evaluated $(|| $crate::rtl::bus::Port::is_pending(&self.$input))*
            }
        }
    };
}
