//! Where the dot product has registers.

use flashd_hwmodel::attention::schedule::FrontSchedule;

#[test]
fn every_schedule_has_the_registers_of_the_contract() {
    for rounded in [true, false] {
        for levels in 1..=9 {
            let s = FrontSchedule::new(rounded, levels);
            assert_eq!(s.registers(), levels as usize - 1, "{rounded}, {levels} levels: {s:?}");
            // At most two levels without a register between them, from three levels on.
            let mut run = 0;
            for registered in &s.after_level {
                run += 1;
                assert!(run <= 2 || levels <= 2, "{rounded}, {levels} levels: {s:?}");
                run = if *registered { 0 } else { run };
            }
        }
    }
    assert_eq!(FrontSchedule::new(true, 6).after_level, [false, true, false, true, true, true]);
    assert_eq!(FrontSchedule::new(false, 8).delays, 2);
}
