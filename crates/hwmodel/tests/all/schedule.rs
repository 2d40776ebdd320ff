//! Where the dot product has registers.

use flashd_hwmodel::attention::schedule::FrontSchedule;

#[test]
fn every_schedule_has_the_registers_of_the_contract() {
    for schedule in [FrontSchedule::of_rounded_sums, FrontSchedule::of_exact_sums] {
        for levels in 1..=9 {
            let s = schedule(levels);
            assert_eq!(s.registers(), levels as usize - 1, "{levels} levels: {s:?}");
            // At most two levels without a register between them, from three levels on.
            let mut run = 0;
            for registered in &s.after_level {
                run += 1;
                assert!(run <= 2 || levels <= 2, "{levels} levels: {s:?}");
                run = if *registered { 0 } else { run };
            }
        }
    }
    assert_eq!(FrontSchedule::of_rounded_sums(6).after_level, [false, true, false, true, true, true]);
    assert_eq!(FrontSchedule::of_exact_sums(8).delays, 2);
}
