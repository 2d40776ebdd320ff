//! The compound operators of words against their definitions.

use flashd_hwmodel::word::{Num, Word, all_stages};

/// `Num` with the trait's own definitions of the compound operators.
fn by_definition(x: Num, amount: Num, fill: Num) -> (Num, [(Num, Num); 3]) {
    #[derive(Clone, Debug)]
    struct Plain(Num);
    impl Word for Plain {
        fn constant(w: u32, v: u64) -> Self {
            Plain(Num::new(w, v))
        }
        fn width(&self) -> u32 {
            self.0.width()
        }
        fn named(self, _: &str) -> Self {
            self
        }
        fn and(&self, o: &Self) -> Self {
            Plain(self.0.and(&o.0))
        }
        fn or(&self, o: &Self) -> Self {
            Plain(self.0.or(&o.0))
        }
        fn xor(&self, o: &Self) -> Self {
            Plain(self.0.xor(&o.0))
        }
        fn not(&self) -> Self {
            Plain(self.0.not())
        }
        fn add(&self, o: &Self) -> Self {
            Plain(self.0.add(&o.0))
        }
        fn sub(&self, o: &Self) -> Self {
            Plain(self.0.sub(&o.0))
        }
        fn mul(&self, o: &Self) -> Self {
            Plain(self.0.mul(&o.0))
        }
        fn shl(&self, o: &Self) -> Self {
            Plain(self.0.shl(&o.0))
        }
        fn shr(&self, o: &Self) -> Self {
            Plain(self.0.shr(&o.0))
        }
        fn slice(&self, l: u32, w: u32) -> Self {
            Plain(self.0.slice(l, w))
        }
        fn concat(&self, o: &Self) -> Self {
            Plain(self.0.concat(&o.0))
        }
        fn eq(&self, o: &Self) -> Self {
            Plain(Word::eq(&self.0, &o.0))
        }
        fn lt(&self, o: &Self) -> Self {
            Plain(self.0.lt(&o.0))
        }
        fn slt(&self, o: &Self) -> Self {
            Plain(self.0.slt(&o.0))
        }
        fn any(&self) -> Self {
            Plain(self.0.any())
        }
        fn all(&self) -> Self {
            Plain(self.0.all())
        }
        fn select(&self, t: &Self, o: &Self) -> Self {
            Plain(self.0.select(&t.0, &o.0))
        }
        fn lookup(&self, e: &[u64], w: u32) -> Self {
            Plain(self.0.lookup(e, w))
        }
    }
    let (p, amount, fill) = (Plain(x), Plain(amount), Plain(fill));
    let stages = all_stages(x.width());
    let normalised = [
        p.normalise(),
        p.normalise_by(stages, Some(&amount), Some(&fill)),
        p.normalise_by(stages.min(1), None, Some(&fill)),
    ];
    (p.shift_right_sticky(&amount).0, normalised.map(|(shifted, count)| (shifted.0, count.0)))
}

#[test]
fn compound_operators_equal_their_definitions() {
    for width in 1..=9u32 {
        for value in 0..1u64 << width {
            for amount_bits in 1..=5 {
                for amount in 0..1u64 << amount_bits {
                    let (x, a) = (Num::new(width, value), Num::new(amount_bits, amount));
                    for fill in [0, 1].map(|bit| Num::new(1, bit)) {
                        let (sticky, normalised) = by_definition(x, a, fill);
                        assert_eq!(x.shift_right_sticky(&a), sticky, "{x:?} >> {a:?}");
                        let stages = all_stages(width);
                        let own = [
                            x.normalise(),
                            x.normalise_by(stages, Some(&a), Some(&fill)),
                            x.normalise_by(stages.min(1), None, Some(&fill)),
                        ];
                        assert_eq!(own, normalised, "{x:?} within {a:?}, {fill:?} comes in");
                    }
                }
            }
        }
    }
}
