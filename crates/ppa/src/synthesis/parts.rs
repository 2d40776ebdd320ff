//! Which function a part of a core has, by the instance path in the emitted Verilog.

use crate::figures::Part;

/// The function of the cells of an instance, given by the names on its path from (not including) the top.
///
/// In an array the first name is a core's; the parts of all cores count together. In a core, `score` and `weight` are the
/// scalar path, but for the dot product in the former; `group` holds the lanes. In both, reciprocal and final scale are the
/// division.
pub fn part(path: &[&str]) -> Part {
    let Some(top) = path.first().map(|name| name.strip_prefix("u_").unwrap_or(name)) else {
        return Part::Control;
    };
    // One of an array's cores.
    if top.strip_prefix("core_").is_some_and(|index| index.parse::<usize>().is_ok()) {
        return part(&path[1..]);
    }
    let names = |wanted: &str| path.iter().any(|name| name.contains(wanted));
    match top {
        _ if top.starts_with("score_fused") || top.starts_with("score_dot") => Part::DotProduct,
        _ if top.starts_with("score") || top.starts_with("weight") => match names("reciprocal") {
            true => Part::Division,
            false => Part::Weight,
        },
        _ if top.starts_with("group") => match names("scale") {
            true => Part::Division,
            false => Part::OutputUpdate,
        },
        _ => Part::Control,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_parts() {
        assert_eq!(part(&["u_group_0", "u_lane_12", "u_scale"]), Part::Division);
        assert_eq!(part(&["u_group_0", "u_lane_12", "u_sum"]), Part::OutputUpdate);
        assert_eq!(part(&["u_weight", "u_sum_reciprocal"]), Part::Division);
        assert_eq!(part(&["u_weight", "u_sum"]), Part::Weight);
        assert_eq!(part(&["u_weight_softmax"]), Part::Weight);
        assert_eq!(part(&["u_score_base_2"]), Part::Weight);
        assert_eq!(part(&["u_score_fused_0", "u_tree_rest_0", "u_sum_0"]), Part::DotProduct);
        assert_eq!(part(&["u_score_dot"]), Part::DotProduct);
        assert_eq!(part(&["u_core_1", "u_group_0", "u_lane_12", "u_sum"]), Part::OutputUpdate);
        assert_eq!(part(&["u_core_1"]), Part::Control);
        assert_eq!(part(&["u_kept_0"]), Part::Control);
        assert_eq!(part(&[]), Part::Control);
        assert_eq!(part(&["u_k_special"]), Part::Control);
    }
}
