//! Where a label goes: beside its point, where it covers least.

/// A rectangle of pixels, edges included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Box2 {
    /// Smallest x.
    pub left: i32,
    /// Smallest y.
    pub top: i32,
    /// Largest x.
    pub right: i32,
    /// Largest y.
    pub bottom: i32,
}

impl Box2 {
    /// A square around a point.
    pub fn around((x, y): (i32, i32), reach: i32) -> Box2 {
        Box2 { left: x - reach, top: y - reach, right: x + reach, bottom: y + reach }
    }

    /// The rectangle that two points span; a line along an axis spans itself.
    pub fn between(a: (i32, i32), b: (i32, i32)) -> Box2 {
        Box2 { left: a.0.min(b.0), top: a.1.min(b.1), right: a.0.max(b.0), bottom: a.1.max(b.1) }
    }

    /// Its point that is nearest to another.
    pub fn nearest(&self, (x, y): (i32, i32)) -> (i32, i32) {
        (x.clamp(self.left, self.right), y.clamp(self.top, self.bottom))
    }

    fn overlaps(&self, other: &Box2) -> bool {
        self.left <= other.right
            && other.left <= self.right
            && self.top <= other.bottom
            && other.top <= self.bottom
    }

    fn contains(&self, other: &Box2) -> bool {
        self.left <= other.left
            && other.right <= self.right
            && self.top <= other.top
            && other.bottom <= self.bottom
    }
}

/// Distances of labels from their points that are tried, pixels.
const DISTANCES: [i32; 6] = [16, 30, 46, 64, 84, 110];

/// A place for a label of `size` beside `at`: inside `inside` if it fits, over as few of `taken` as possible, near.
pub fn place((x, y): (i32, i32), (width, height): (i32, i32), inside: Box2, taken: &[Box2]) -> Box2 {
    let mut best = None;
    for distance in DISTANCES {
        let columns = [x - distance - width, x - width / 2, x + distance];
        let rows = [y + distance - height / 2, y - distance - height / 2, y - height / 2];
        for (left, top) in columns.iter().flat_map(|&left| rows.map(|top| (left, top))) {
            let label = Box2 { left, top, right: left + width, bottom: top + height };
            let over = taken.iter().filter(|other| other.overlaps(&label)).count();
            let cost = (!inside.contains(&label), over);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, label));
            }
        }
    }
    best.map_or(Box2::around((x, y), height), |(_, label)| label)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSIDE: Box2 = Box2 { left: 0, top: 0, right: 400, bottom: 300 };

    #[test]
    fn a_label_stays_inside_and_covers_nothing() {
        let taken: Vec<Box2> = (0..10).map(|i| Box2::around((20 + 40 * i, 150), 5)).collect();
        for at in [(20, 150), (180, 150), (380, 150), (0, 0), (400, 300)] {
            let label = place(at, (90, 16), INSIDE, &taken);
            assert!(INSIDE.contains(&label), "{at:?} {label:?}");
            assert!(!taken.iter().any(|other| other.overlaps(&label)), "{at:?} {label:?}");
            assert_eq!((label.right - label.left, label.bottom - label.top), (90, 16));
        }
    }

    #[test]
    fn the_nearest_of_free_places() {
        let label = place((200, 150), (40, 16), INSIDE, &[]);
        let (x, y) = label.nearest((200, 150));
        assert!((x - 200).abs().max((y - 150).abs()) <= DISTANCES[0]);
        // Nothing is free: the least covered place, still inside.
        let everything = [Box2 { left: -500, top: -500, right: 900, bottom: 900 }];
        assert!(INSIDE.contains(&place((200, 150), (40, 16), INSIDE, &everything)));
    }
}
