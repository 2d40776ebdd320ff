//! Lanes in groups that share copies of the scalar registers: a scalar that feeds d lanes leaves from one
//! register for each group, so that no register drives more than [`LANES_PER_GROUP`] lanes at any d.

use crate::{function, unit};

/// Lanes that one copy of the scalar registers feeds.
pub const LANES_PER_GROUP: usize = 16;

/// Sizes of the groups that `d` lanes make.
pub fn group_sizes(d: usize) -> Vec<usize> {
    let mut sizes = vec![LANES_PER_GROUP; d / LANES_PER_GROUP];
    sizes.extend((!d.is_multiple_of(LANES_PER_GROUP)).then_some(d % LANES_PER_GROUP));
    sizes
}

/// Declares a group of lanes. `flags` are one-bit scalars with reset, `words` are captured while their enable
/// (a port of the group) is high, `free` words in every cycle; all reach the lanes a cycle later, under the
/// names in the third column. `outside` adds the lanes' flags up,
/// `takes` is an enable that is no flag, `ends` the flag of a query's end for lanes that show zero without it, `partial`
/// the width of the accumulator of lanes that can take over a partial result.
///
/// With masks a query can end without having seen a key, and its result is zero whatever the lanes hold. Lanes with
/// `ends` get no such flag then, which takes one gate a group; behind the others there is a gate for each bit, because
/// what they hold before a query's first key reaches their results.
macro_rules! lane_group {
    (
        $(#[$meta:meta])*
        $name:ident of $lane:ident($n:ident);
        flags: [$($flag:ident $flag_q:ident $lane_flag:ident),*];
        words: [$($word:ident $word_q:ident if $enable:ident: $word_bits:expr),*];
        free: [$($free:ident $free_q:ident: $free_bits:expr),*];
        $(outside: $outside:ident $any:ident;)?
        $(takes: $takes:ident;)?
        $(ends: $finish:ident $finish_q:ident $done:ident;)?
        $(partial: $partials:ident $restore:ident $restore_q:ident $state_o:ident $o_state:ident: $acc_bits:expr;)?
    ) => {
        $crate::circuit! {
            $(#[$meta])*
            pub struct $name {
                ports {
                    /// Clock.
                    clk: Bus<In>,
                    /// Synchronous reset.
                    rst: Bus<In>,
                    $(/// Flag for the next cycle.
                    $flag: Bus<In>,)*
                    $(/// Flag for the next cycle.
                    $finish: Bus<In>,)?
                    $(/// Word for the next cycle.
                    $word: Bus<In>,)*
                    $(/// Word for the next cycle.
                    $free: Bus<In>,)*
                    $(/// The lanes' registers take their factor.
                    $takes: Bus<In>,)?
                    /// With masks: the query that ends has seen no key.
                    empty: Vec<Bus<In>>,
                    /// With masks, where results are blanked: a query ends.
                    ends_query: Vec<Bus<In>>,
                    /// Value elements.
                    v: Vec<Bus<In>>,
                    /// Results.
                    o: Vec<Bus<Out>>,
                    $(/// Some value that was read lies outside the range of the lanes.
                    $outside: Bus<Out>,)?
                    $(/// With partial results: the accumulators take those of one over.
                    $restore: Vec<Bus<In>>,
                    /// These, with the values.
                    $state_o: Vec<Bus<In>>,
                    /// The accumulators of a result.
                    $o_state: Vec<Bus<Out>>,)?
                }
                parts {
                    $(/// Copy.
                    $flag_q: ResetRegister,)*
                    $(/// Copy.
                    $finish_q: ResetRegister,)?
                    $(/// Copy.
                    $word_q: EnabledRegister,)*
                    $(/// Copy.
                    $free_q: Register,)*
                    /// The query that ends is to be shown as zero.
                    rest_q: Vec<$crate::rtl::Register>,
                    /// The lanes stay at rest then.
                    shows: Vec<$crate::cores::masks::Unmasked>,
                    /// Lanes.
                    lane: Vec<$lane>,
                    $(/// Copy.
                    $restore_q: Vec<$crate::rtl::Register>,)?
                    /// The result is to be shown as zero.
                    blank_q: Vec<EnabledRegister>,
                    /// The lanes' results or zeros.
                    blank: Vec<$crate::cores::lane_group::Blank>,
                    $(/// Some lane's flag.
                    $any: $crate::cores::any_flag::AnyFlag,)?
                }
                config {
                    lanes: usize,
                    rests: usize,
                    blanks: usize,
                    $($partials: usize,)?
                }
            }
        }

        impl $name {
            /// A group of `lanes` lanes.
            pub fn new($n: &Arc<Numerics>, lanes: usize) -> Self {
                let lane: Vec<$lane> = (0..lanes).map(|_| $lane::new($n)).collect();
                let width = $n.format.width();
                let masks = $n.masks as usize;
                $(let $partials = $n.partial as usize;)?
                let rests = masks * <[&str]>::len(&[$(stringify!($finish))?]);
                let blanks = masks - rests;
                let blank = $crate::cores::lane_group::BlankFunction { width };
                $name {
                    tag: Tag::module(
                        format!(
                            "{}_{}{}group_{lanes}",
                            lane[0].tag.name,
                            if $n.masks { "masked_" } else { "" },
                            if $n.partial { "partial_" } else { "" }
                        ),
                        format!("{lanes} lanes and their copies of the scalar registers."),
                    ),
                    unrest: Default::default(),
                    clk: Bus::new(1),
                    rst: Bus::new(1),
                    $($flag: Bus::new(1),)*
                    $($finish: Bus::new(1),)?
                    $($word: Bus::new($word_bits),)*
                    $($free: Bus::new($free_bits),)*
                    $($takes: Bus::new(1),)?
                    empty: Bus::vector(masks, 1),
                    ends_query: Bus::vector(blanks, 1),
                    v: Bus::vector(lanes, width),
                    o: Bus::vector(lanes, width),
                    $($outside: Bus::new(1),)?
                    $(
                        $restore: Bus::vector($partials, 1),
                        $state_o: Bus::vector($partials * lanes, $acc_bits),
                        $o_state: Bus::vector($partials * lanes, $acc_bits),
                        $restore_q: (0..$partials).map(|_| $crate::rtl::Register::new(1)).collect(),
                    )?
                    $($flag_q: ResetRegister::new(1, 0),)*
                    $($finish_q: ResetRegister::new(1, 0),)?
                    $($word_q: EnabledRegister::new($word_bits),)*
                    $($free_q: Register::new($free_bits),)*
                    rest_q: (0..rests).map(|_| $crate::rtl::Register::new(1)).collect(),
                    shows: (0..rests).map(|_| $crate::cores::masks::unmasked()).collect(),
                    lane,
                    blank_q: (0..blanks).map(|_| EnabledRegister::new(1)).collect(),
                    blank: (0..blanks * lanes)
                        .map(|_| $crate::cores::lane_group::Blank::new(blank.clone()))
                        .collect(),
                    $($any: $crate::cores::any_flag::AnyFlag::new(lanes, "Some lane's value has an exponent above the largest."),)?
                    lanes,
                    rests,
                    blanks,
                    $($partials,)?
                }
            }
        }

        impl Logic for $name {
            #[hdl_gen]
            fn update(&mut self) {
                $(
                    self.$flag_q.clk.next = self.clk.val();
                    self.$flag_q.rst.next = self.rst.val();
                    self.$flag_q.d.next = self.$flag.val();
                )*
                $(
                    self.$finish_q.clk.next = self.clk.val();
                    self.$finish_q.rst.next = self.rst.val();
                    self.$finish_q.d.next = self.$finish.val();
                    for m in 0..self.rests {
                        self.shows[m].x.next = self.$finish_q.q.val();
                        self.shows[m].mask.next = self.rest_q[m].q.val();
                        for i in 0..self.lanes {
                            self.lane[i].$done.next = self.shows[m].y.val();
                        }
                    }
                    for _plain in self.rests..1 {
                        for i in 0..self.lanes {
                            self.lane[i].$done.next = self.$finish_q.q.val();
                        }
                    }
                )?
                $(
                    self.$word_q.clk.next = self.clk.val();
                    self.$word_q.enable.next = self.$enable.val();
                    self.$word_q.d.next = self.$word.val();
                )*
                $(
                    self.$free_q.clk.next = self.clk.val();
                    self.$free_q.d.next = self.$free.val();
                )*
                for m in 0..self.rests {
                    self.rest_q[m].clk.next = self.clk.val();
                    self.rest_q[m].d.next = self.empty[m].val();
                }
                for i in 0..self.lanes {
                    self.lane[i].clk.next = self.clk.val();
                    self.lane[i].v.next = self.v[i].val();
                    $(self.lane[i].$lane_flag.next = self.$flag_q.q.val();)*
                    $(self.lane[i].$word.next = self.$word_q.q.val();)*
                    $(self.lane[i].$free.next = self.$free_q.q.val();)*
                }
                $(
                    for p in 0..self.$partials {
                        self.$restore_q[p].clk.next = self.clk.val();
                        self.$restore_q[p].d.next = self.$restore[p].val();
                        for i in 0..self.lanes {
                            self.lane[i].restore[p].next = self.$restore_q[p].q.val();
                            self.lane[i].state_o[p].next = self.$state_o[i].val();
                            self.$o_state[i].next = self.lane[i].o_state[p].val();
                        }
                    }
                )?
                for _plain in self.blanks..1 {
                    for i in 0..self.lanes {
                        self.o[i].next = self.lane[i].o.val();
                    }
                }
                for m in 0..self.blanks {
                    self.blank_q[m].clk.next = self.clk.val();
                    self.blank_q[m].enable.next = self.ends_query[m].val();
                    self.blank_q[m].d.next = self.empty[m].val();
                    for i in 0..self.lanes {
                        self.blank[i].o.next = self.lane[i].o.val();
                        self.blank[i].empty.next = self.blank_q[m].q.val();
                        self.o[i].next = self.blank[i].y.val();
                    }
                }
                $(
                    for i in 0..self.lanes {
                        self.$any.x[i].next = self.lane[i].$outside.val();
                    }
                    self.$outside.next = self.$any.any.val();
                )?
            }
        }
    };
}
pub(crate) use lane_group;

function! {
    /// A result, or the zero of a query without keys.
    pub struct BlankFunction { width: u32 }
    name(this) = format!("result_or_zero_{}", this.width);
    doc = "y = empty ? +0 : o.";
    inputs { o: this.width, empty: 1 }
    outputs { y: this.width }
    eval<W> { [empty.not().repeat(this.width).and(&o)] }
}
unit! {
    /// A result, or the zero of a query without keys.
    pub struct Blank(BlankFunction) { o, empty } -> { y }
}

function! {
    /// Either flag.
    pub struct FlagOrFunction {}
    name(this) = "flag_or";
    doc = "y = a or b.";
    inputs { a: 1, b: 1 }
    outputs { y: 1 }
    eval<W> { [a.or(&b)] }
}
unit! {
    /// Either flag.
    pub struct FlagOr(FlagOrFunction) { a, b } -> { y }
}

/// A [`FlagOr`].
pub fn flag_or() -> FlagOr {
    FlagOr::new(FlagOrFunction {})
}

const _: () = assert!(LANES_PER_GROUP == 16, "the kernels' index arithmetic is written for 16 lanes a group");
