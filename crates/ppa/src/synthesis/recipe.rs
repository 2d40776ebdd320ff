//! How a module may be mapped: treatments of its arithmetic, times goals of the mapper.

use super::adders::FullAdder;
use super::clock_gates::GateCell;
use super::compressor::MaccShape;
use crate::timing::REGISTER_SUFFIX;
use std::collections::BTreeSet;

/// Implementation of multiplications, sums and comparisons.
#[derive(Clone, Debug)]
pub(crate) struct ArithmeticStyle {
    /// File stem.
    pub key: &'static str,
    /// In words.
    pub words: &'static str,
    /// Full adder of the compressor trees of products and sums; `None`: Yosys' own trees.
    tree: Option<FullAdder>,
    /// Full adder of the carry chains; `None`: Yosys' parallel-prefix adders (Brent and Kung).
    chain: Option<FullAdder>,
}

/// Which mappings of a module are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WantedMappings {
    /// Mappings of least area: enough for a module off the slow paths, and a fifth of the work.
    Smallest,
    /// Faster mappings.
    Faster,
}

/// A goal of the mapper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    /// File stem.
    pub key: &'static str,
    /// In words.
    pub words: &'static str,
    /// Commands of ABC.
    script: &'static str,
}

/// Modules of more word-level cells than this (a flattened core) are mapped in fewer ways: each takes minutes.
const LARGE_MODULE: usize = 3000;
/// Treatments and goals that large modules get.
const FOR_LARGE_MODULES: [&str; 5] = ["plain", "cell_tree", "area", "sized", "delay"];

/// Whether a treatment or goal is tried on a module of `cells` word-level cells.
pub(crate) fn tried(key: &str, cells: usize) -> bool {
    cells <= LARGE_MODULE || FOR_LARGE_MODULES.contains(&key)
}

/// Clean-up before mapping, without the structural hashing that `&dch` begins with.
const CLEAN: &str = "strash; ifraig; scorr; dc2; strash; &get -n; ";

/// From small and slow to large and fast. `&nf -R` lets the mapper exceed the shortest delay by a percentage; `buffer -p`
/// also buffers nets driven by flip-flops and ports. (`mfs3` would save one more percent, but ABC of Yosys 0.23 sometimes
/// crashes in it.)
pub(crate) static GOALS: [Goal; 5] = [
    Goal { key: "area", words: "least area", script: "&dch -f; &nf -R 1000 -F 8; &put" },
    Goal {
        key: "sized",
        words: "least area, then buffered and sized",
        script: "&dch -f; &nf -R 1000 -F 8; &put; buffer -p -N 16; topo; upsize; dnsize",
    },
    Goal {
        key: "balanced",
        words: "area within 10 % of the shortest delay, then buffered and sized",
        script: "&dch -f; &nf -R 10; &put; buffer -p -N 16; topo; upsize; dnsize",
    },
    Goal {
        key: "delay",
        words: "delay, buffered and sized",
        script: "&dch -f; &nf; &put; buffer -p -N 16; topo; upsize; dnsize",
    },
    Goal {
        key: "speed",
        words: "shortest delay over several restructurings, buffered and sized",
        script: "&dch -f; &synch2; &nf; &put; buffer -p -N 8; topo; upsize; dnsize",
    },
];

impl WantedMappings {
    /// The goals of these mappings.
    pub(super) fn goals(self) -> &'static [Goal] {
        let (smallest, faster) = GOALS.split_at(1);
        match self {
            WantedMappings::Smallest => smallest,
            WantedMappings::Faster => faster,
        }
    }
}

impl Goal {
    /// Script for Yosys' `abc -script`.
    pub(super) fn abc_script(&self) -> String {
        format!("{CLEAN}{}", self.script).replace("; ", "\n") + "\n"
    }
}

impl ArithmeticStyle {
    /// The treatments that make a difference to a module: with or without sums (`$alu`), and with or without products or
    /// sums of many terms (`$macc`).
    pub(super) fn of(sums: bool, products: bool, cell: Option<&FullAdder>) -> Vec<ArithmeticStyle> {
        let gates = FullAdder::gates();
        let words = if sums || products { "prefix adders" } else { "no arithmetic" };
        let mut all = vec![ArithmeticStyle { key: "plain", words, tree: None, chain: None }];
        if products {
            all.push(ArithmeticStyle {
                key: "tree",
                words: "compressor trees of gates, prefix adders",
                tree: Some(gates.clone()),
                chain: None,
            });
        }
        if sums || products {
            all.push(ArithmeticStyle {
                key: "chain",
                words: "compressor trees of gates, carry chains of gates",
                tree: Some(gates.clone()),
                chain: Some(gates),
            });
        }
        if let Some(cell) = cell.filter(|_| products) {
            all.push(ArithmeticStyle {
                key: "cell_tree",
                words: "compressor trees of full-adder cells, prefix adders",
                tree: Some(cell.clone()),
                chain: None,
            });
        }
        if let Some(cell) = cell.filter(|_| sums || products) {
            all.push(ArithmeticStyle {
                key: "cell_chain",
                words: "compressor trees and carry chains of full-adder cells",
                tree: Some(cell.clone()),
                chain: Some(cell.clone()),
            });
        }
        all
    }

    /// Techmap files that the script names, with their contents.
    pub(super) fn files(&self, shapes: &BTreeSet<MaccShape>) -> Vec<(String, String)> {
        let mut files = Vec::new();
        if let Some(adder) = &self.tree {
            let maps: Vec<String> =
                shapes.iter().enumerate().filter_map(|(index, shape)| shape.techmap(index, adder)).collect();
            if !maps.is_empty() {
                files.push((format!("{}_compress.v", self.key), maps.concat()));
            }
        }
        if let Some(adder) = &self.chain {
            files.push((format!("{}_chain.v", self.key), adder.chain_techmap()));
        }
        if let Some(adder) = self.tree.as_ref().or(self.chain.as_ref()) {
            files.push((format!("{}_adder.v", self.key), adder.cell_techmap()));
        }
        files
    }

    /// Yosys commands from the word-level module to gates, flip-flops mapped.
    pub(super) fn script(&self, files: &[(String, String)]) -> String {
        let mut script = String::from("design -load words\n");
        for (file, _) in files {
            // Constants must have propagated before full adders with constant inputs are found; each pass enables the next.
            let repeat = if file.ends_with("_adder.v") { 1 } else { 0 };
            script += &format!("techmap -map {file}\nalumacc\nopt -fast -full\nopt_clean\n");
            script += &"techmap\nopt -fast\n".repeat(repeat);
        }
        script + "techmap\nopt -fast\n"
    }
}

/// Yosys script of the first step: from Verilog to words, kept in `words.il` and described in `words.json`.
///
/// With a clock gate, registers with an enable get gates.
pub(crate) fn words_script(name: &str, gate: Option<&GateCell>) -> String {
    let gates = gate.map_or(String::new(), GateCell::script);
    format!(
        "read_verilog module.v\n\
         synth -flatten -top {name} -run begin:fine\n\
         opt -fast -full\nmemory_map\nopt -undriven -fine\n{gates}\
         write_rtlil words.il\nwrite_json words.json\n"
    )
}

/// The cell library in the folder in which the tools work.
pub(crate) const LIBRARY: &str = "library.lib";

/// Yosys commands around the mappings: library cells known, module read.
pub(crate) fn mapping_head() -> String {
    format!(
        "read_liberty -lib -ignore_miss_func -ignore_miss_dir -ignore_miss_data_latch {LIBRARY}\n\
         read_rtlil words.il\ndesign -save words\n"
    )
}

/// Yosys commands that name the flip-flops of the present gates after their registers and map them.
pub(crate) fn flip_flop_script() -> String {
    format!(
        "rename -wire -suffix {REGISTER_SUFFIX} t:$_*DFF*_\ndfflibmap -liberty {LIBRARY}\nopt -fast\nopt_clean\ndesign -save gates\n"
    )
}

/// Yosys commands that map the present gates for a goal and write `<stem>.json`.
pub(crate) fn goal_script(goal: &Goal, constants: &str, stem: &str) -> String {
    format!(
        "design -load gates\nabc -liberty {LIBRARY} -constr constraints -script {}.abc\n\
         {constants}opt_clean -purge\nwrite_json {stem}.json\n",
        goal.key,
    )
}
