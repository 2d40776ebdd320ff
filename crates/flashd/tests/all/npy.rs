//! `.npy` files without the program's own reader and writer.

use std::path::Path;

/// A matrix as a `.npy` file holds it, rows of d elements.
#[derive(Clone)]
pub struct Rows {
    pub d: usize,
    pub x: Vec<f64>,
}

impl Rows {
    pub fn read(path: &Path) -> Rows {
        let bytes = std::fs::read(path).unwrap();
        let (header, data) = bytes[10..].split_at(usize::from(bytes[8]) + 256 * usize::from(bytes[9]));
        let header = std::str::from_utf8(header).unwrap();
        assert!(header.contains("'<f4'") && header.contains("'fortran_order': False"), "{header}");
        let shape = header.split(['(', ')']).nth(1).unwrap();
        let d = shape.split(',').nth(1).unwrap().trim().parse().unwrap();
        let element = |x: &[u8]| f64::from(f32::from_le_bytes(x.try_into().unwrap()));
        Rows { d, x: data.chunks(4).map(element).collect() }
    }

    /// The same numbers in every run, by a linear congruence, in steps of 1/64 from -2 on.
    pub fn random(seed: u64, rows: usize, d: usize) -> Rows {
        let mut state = seed;
        let mut element = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) % 256) as f64 / 64.0 - 2.0
        };
        Rows { d, x: (0..rows * d).map(|_| element()).collect() }
    }

    pub fn write(&self, path: &Path) {
        let mut header = format!(
            "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}",
            self.x.len() / self.d,
            self.d
        );
        while (header.len() + 11) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(self.x.iter().flat_map(|&x| (x as f32).to_le_bytes()));
        std::fs::write(path, bytes).unwrap();
    }

    pub fn row(&self, i: usize) -> &[f64] {
        &self.x[i * self.d..][..self.d]
    }

    pub fn rows(&self) -> usize {
        self.x.len() / self.d
    }
}
