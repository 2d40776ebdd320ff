//! Ports as they are printed.

use crate::elaborate::{Child, Signal};
use flashd_hwmodel::rtl::TagKind;

/// A port as it is printed: elements packed into one bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Vector {
    pub(super) name: String,
    pub(super) output: bool,
    pub(super) width: u32,
    pub(super) elements: usize,
}

impl Vector {
    pub(super) fn bits(&self) -> u32 {
        self.width * self.elements as u32
    }
}

pub(super) fn vectors(ports: &[Signal]) -> Vec<Vector> {
    let mut vectors: Vec<Vector> = Vec::new();
    for port in ports {
        match vectors.last_mut() {
            Some(last) if port.index.is_some_and(|i| i > 0) && last.name == port.name => last.elements += 1,
            _ => vectors.push(Vector {
                name: port.name.clone(),
                output: port.output,
                width: port.width,
                elements: 1,
            }),
        }
    }
    vectors
}

pub(super) fn is_register(child: &Child) -> bool {
    matches!(child.module.tag.kind, TagKind::Register { .. })
}
