//! Reading OpenSTA's path reports.

use crate::figures::WorstPath;

/// Suffix of the instances of flip-flops in our netlists, after the name of the register's bit.
pub(crate) const REGISTER_SUFFIX: &str = "_reg";

/// A path from a clock edge to the next, times in the library's unit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TimedPath {
    /// Flip-flop or port where it starts, as an instance path.
    pub from: String,
    /// Flip-flop or port where it ends.
    pub to: String,
    /// Spare time; negative if the path is too slow.
    pub slack: f64,
    /// Gates in order: instance path and delay. The launching flip-flop is the first, ports are left out.
    pub gates: Vec<(String, f64)>,
    /// Its ports: an input where it starts, an output where it ends.
    pub ports: u32,
}

impl TimedPath {
    /// The shortest period at which it has time enough, if it has its slack at `period` and each of its ports takes `share` of the
    /// period for the logic outside.
    pub(crate) fn needed_period(&self, period: f64, share: f64) -> f64 {
        period - self.slack / (1.0 - f64::from(self.ports) * share)
    }

    /// Delay in each module instance on the way, in order. The empty path is the top module.
    pub(crate) fn by_instance(&self) -> Vec<(String, f64)> {
        let mut through: Vec<(String, f64)> = Vec::new();
        for (gate, delay) in &self.gates {
            let instance = gate.rsplit_once('/').map_or("", |(instance, _)| instance);
            match through.last_mut() {
                Some((last, sum)) if last == instance => *sum += delay,
                _ => through.push((instance.to_string(), *delay)),
            }
        }
        through
    }

    /// In words, with times multiplied by `unit` (ns per unit).
    pub(crate) fn describe(&self, top: &str, unit: f64) -> WorstPath {
        let bit = |name: &str| name.strip_suffix(REGISTER_SUFFIX).unwrap_or(name).to_string();
        let name = |instance: String| if instance.is_empty() { top.to_string() } else { instance };
        WorstPath {
            from: bit(&self.from),
            to: bit(&self.to),
            through: self.by_instance().into_iter().map(|(i, delay)| (name(i), delay * unit)).collect(),
            gates: self.gates.len(),
        }
    }
}

/// The paths in a report of `report_checks -format full`, in order.
pub(crate) fn paths(report: &str) -> Vec<TimedPath> {
    let mut paths = Vec::new();
    let mut current: Option<TimedPath> = None;
    let mut arrived = false;
    for line in report.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["Startpoint:", from, ..] = words[..] {
            let from = from.to_string();
            current = Some(TimedPath { from, to: String::new(), slack: 0.0, gates: Vec::new(), ports: 0 });
            arrived = false;
            continue;
        }
        let Some(path) = &mut current else { continue };
        match words[..] {
            ["Endpoint:", to, ..] => path.to = to.to_string(),
            [_, "data", "arrival", "time"] => arrived = true,
            [.., "input" | "output", "external", "delay"] => path.ports += 1,
            // delay, time, edge, pin, (cell)
            [delay, _, "^" | "v", pin, cell] if !arrived && cell != "(in)" && cell != "(out)" => {
                let (Ok(delay), Some((gate, _))) = (delay.parse::<f64>(), pin.rsplit_once('/')) else {
                    continue;
                };
                match path.gates.last_mut() {
                    // A gate's input and output pin are two lines.
                    Some((last, sum)) if last == gate => *sum += delay,
                    _ => path.gates.push((gate.to_string(), delay)),
                }
            }
            [slack, "slack", ..] => {
                if let (Ok(slack), Some(mut path)) = (slack.parse(), current.take()) {
                    path.slack = slack;
                    // The capturing flip-flop shows with its input pin only.
                    if path.gates.last().is_some_and(|(gate, _)| *gate == path.to) {
                        path.gates.pop();
                    }
                    paths.push(path);
                }
            }
            _ => {}
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two paths as OpenSTA 2.0.17 prints them, shortened.
    const REPORT: &str = "\
Startpoint: u_dot/sum_q_7_reg (rising edge-triggered flip-flop clocked by clk)
Endpoint: u_weight/l_q_28_reg
          (rising edge-triggered flip-flop clocked by clk)
Path Group: clk
Path Type: max

  Delay    Time   Description
---------------------------------------------------------
 0.0000  0.0000   clock clk (rise edge)
 0.0000  0.0000   clock network delay (ideal)
 0.0000  0.0000 ^ u_dot/sum_q_7_reg/CLK (DFFPOSX1)
 0.2000  0.2000 ^ u_dot/sum_q_7_reg/Q (DFFPOSX1)
 0.3000  0.5000 v u_weight/u_score/_g1_/Y (INVX1)
 0.4000  0.9000 ^ u_weight/u_score/_g2_/Y (INVX1)
 0.1000  1.0000 v u_weight/_g3_/Y (INVX1)
 0.0000  1.0000 v u_weight/l_q_28_reg/D (DFFPOSX1)
         1.0000   data arrival time

 2.0000  2.0000   clock clk (rise edge)
 0.0000  2.0000   clock network delay (ideal)
         2.0000 ^ u_weight/l_q_28_reg/CLK (DFFPOSX1)
-0.1000  1.9000   library setup time
         1.9000   data required time
---------------------------------------------------------
         1.9000   data required time
        -1.0000   data arrival time
---------------------------------------------------------
         0.9000   slack (MET)


Startpoint: v[3] (input port clocked by clk)
Endpoint: o[0] (output port clocked by clk)
Path Group: clk
Path Type: max

  Delay    Time   Description
---------------------------------------------------------
 0.0000  0.0000   clock clk (rise edge)
 0.0000  0.0000 ^ input external delay
 0.0500  0.0500 ^ v[3] (in)
 2.5000  2.5500 v _g9_/Y (INVX1)
 0.0000  2.5500 v o[0] (out)
         2.5500   data arrival time

 2.0000  2.0000   clock clk (rise edge)
-0.0000  2.0000   output external delay
         2.0000   data required time
---------------------------------------------------------
        -0.5500   slack (VIOLATED)
";

    #[test]
    fn paths_are_read() {
        let paths = paths(REPORT);
        assert_eq!(paths.len(), 2);
        assert_eq!((paths[0].slack, paths[1].slack), (0.9, -0.55));
        assert_eq!((paths[0].ports, paths[1].ports), (0, 2));
        // From register to register the delay is the period; 0.55 too slow at 0.4 of the period takes 1.375 more.
        assert!((paths[0].needed_period(2.0, 0.3) - 1.1).abs() < 1e-12);
        assert!((paths[1].needed_period(2.0, 0.3) - 3.375).abs() < 1e-12);
        let words = paths[0].describe("top", 2.0);
        assert_eq!((words.from.as_str(), words.to.as_str()), ("u_dot/sum_q_7", "u_weight/l_q_28"));
        assert_eq!(words.gates, 4);
        let through: Vec<(&str, f64)> = words.through.iter().map(|(i, d)| (i.as_str(), *d)).collect();
        assert_eq!(through, [("u_dot", 0.4), ("u_weight/u_score", 1.4), ("u_weight", 0.2)]);
        let ports = paths[1].describe("top", 1.0);
        assert_eq!((ports.from.as_str(), ports.to.as_str()), ("v[3]", "o[0]"));
        assert_eq!(ports.through, [("top".to_string(), 2.5)]);
        assert!(super::paths("No paths found.").is_empty());
    }
}
