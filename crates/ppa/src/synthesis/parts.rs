//! Which function a part of a core has, by the instance path in the emitted Verilog.

use crate::figures::CorePart;

/// The function of the cells of an instance, given by the names on its path from (not including) the top.
///
/// In an array the first name is a core's; the parts of all cores count together. In a core, `score` and `weight` are the
/// scalar path, but for the dot product in the former; `group` holds the lanes. In both, reciprocal and final scale are the
/// division.
pub fn part(path: &[&str]) -> CorePart {
    let Some(top) = path.first().map(|name| name.strip_prefix("u_").unwrap_or(name)) else {
        return CorePart::Control;
    };
    // One of an array's cores.
    if top.strip_prefix("core_").is_some_and(|index| index.parse::<usize>().is_ok()) {
        return part(&path[1..]);
    }
    let names = |wanted: &str| path.iter().any(|name| name.contains(wanted));
    match top {
        _ if top.starts_with("score_fused") || top.starts_with("score_dot") => CorePart::DotProduct,
        _ if top.starts_with("score") || top.starts_with("weight") => match names("reciprocal") {
            true => CorePart::Division,
            false => CorePart::Weight,
        },
        _ if top.starts_with("group") => match names("scale") {
            true => CorePart::Division,
            false => CorePart::OutputUpdate,
        },
        _ => CorePart::Control,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_parts() {
        assert_eq!(part(&["u_group_0", "u_lane_12", "u_scale"]), CorePart::Division);
        assert_eq!(part(&["u_group_0", "u_lane_12", "u_sum"]), CorePart::OutputUpdate);
        assert_eq!(part(&["u_weight", "u_sum_reciprocal"]), CorePart::Division);
        assert_eq!(part(&["u_weight", "u_sum"]), CorePart::Weight);
        assert_eq!(part(&["u_weight_softmax"]), CorePart::Weight);
        assert_eq!(part(&["u_score_base_2"]), CorePart::Weight);
        assert_eq!(part(&["u_score_fused", "u_tree_rest_0", "u_sum_0"]), CorePart::DotProduct);
        assert_eq!(part(&["u_score_dot"]), CorePart::DotProduct);
        assert_eq!(part(&["u_core_1", "u_group_0", "u_lane_12", "u_sum"]), CorePart::OutputUpdate);
        assert_eq!(part(&["u_core_1"]), CorePart::Control);
        assert_eq!(part(&["u_kept"]), CorePart::Control);
        assert_eq!(part(&[]), CorePart::Control);
        assert_eq!(part(&["u_k_special"]), CorePart::Control);
    }
}
