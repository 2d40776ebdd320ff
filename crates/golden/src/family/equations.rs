//! The numbered equations of the FLASH-D paper.

/// An equation of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equation {
    /// Its number in the paper.
    pub number: u32,
    /// Its formula, in the notation of `docs/theory/equations.md`.
    pub formula: &'static str,
    /// The step of the derivation.
    pub words: &'static str,
}

const fn equation(number: u32, formula: &'static str, words: &'static str) -> Equation {
    Equation { number, formula, words }
}

/// All of them, in order. `s` is a score, `m` the running maximum, `l` the sum of exponentials relative to it, `w` a weight.
pub const EQUATIONS: [Equation; 12] = [
    equation(
        1,
        "o_i = o_{i-1} l_{i-1} e^(m_{i-1} - m_i) / l_i + v_i e^(s_i - m_i) / l_i",
        "the output of Alg. 1, divided in every step",
    ),
    equation(
        2,
        "o_i = o_{i-1} (1 - e^(s_i - m_i) / l_i) + v_i e^(s_i - m_i) / l_i",
        "the first factor is one minus the second",
    ),
    equation(3, "w_i = e^(s_i - m_i) / l_i", "the weight of key i"),
    equation(4, "o_i = o_{i-1} (1 - w_i) + v_i w_i", "the output is a weighted mean"),
    equation(5, "l_i = e^(s_i - m_i) / w_i", "the sum, from the weight"),
    equation(
        6,
        "e^(s_i - m_i) / w_i = e^(s_{i-1} - m_{i-1}) / w_{i-1} * e^(m_{i-1} - m_i) + e^(s_i - m_i)",
        "(5) in the recursion of the sum",
    ),
    equation(
        7,
        "e^(s_i - m_i) / w_i = e^(s_{i-1} - m_i) / w_{i-1} + e^(s_i - m_i)",
        "the maximum before the step cancels",
    ),
    equation(8, "e^(s_i) / w_i = e^(s_{i-1}) / w_{i-1} + e^(s_i)", "the maximum after the step cancels"),
    equation(9, "w_i = 1 / (1 + e^(s_{i-1} - s_i) / w_{i-1})", "the weight, from the weight before"),
    equation(
        10,
        "w_i = 1 / (1 + e^-(s_i - s_{i-1} + ln w_{i-1}))",
        "the weight's logarithm joins the exponent",
    ),
    equation(11, "w_i = sigmoid(s_i - s_{i-1} + ln w_{i-1})", "the weight is a sigmoid"),
    equation(12, "o_i = o_{i-1} + (v_i - o_{i-1}) w_i", "one multiplication updates the output"),
];
