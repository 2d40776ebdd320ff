//! Netlists for tests: emitted Verilog mapped plainly, where Yosys and a library are installed.

use super::Netlist;
use crate::Target;
use crate::liberty::Library;
use flashd_generator::unit_file;
use flashd_hwmodel::units::FormatUnit;
use flashd_spec::config::{ArrayConfig, CoreConfig};
use flashd_spec::format::Format;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A design mapped by Yosys.
pub(crate) struct MappedDesign {
    pub top: String,
    pub json: PathBuf,
    pub library: Library,
    // Deletes the files when dropped.
    _folder: tempfile::TempDir,
}

impl MappedDesign {
    pub(crate) fn netlist(&self) -> Netlist {
        Netlist::read(&self.top, &[&self.json], &self.library).unwrap()
    }
}

/// A unit in library cells; nothing, with a message, where a tool is missing.
pub(crate) fn map_unit(unit: FormatUnit, format: Format) -> Option<MappedDesign> {
    let file = unit_file(unit, format, 8).unwrap();
    map(file.name.trim_end_matches(".v"), &file.text)
}

/// A core in library cells; nothing, with a message, where a tool is missing.
pub(crate) fn map_core(config: &CoreConfig) -> Option<MappedDesign> {
    map_target(&config.clone().into())
}

/// An array, likewise.
pub(crate) fn map_array(config: &ArrayConfig) -> Option<MappedDesign> {
    map_target(&config.clone().into())
}

fn map_target(target: &Target) -> Option<MappedDesign> {
    map(&target.name(), &target.verilog().unwrap().1)
}

fn map(top: &str, text: &str) -> Option<MappedDesign> {
    let path = ["/usr", "/usr/local"]
        .map(|prefix| Path::new(prefix).join("share/qflow/tech/osu018/osu018_stdcells.lib"))
        .into_iter()
        .find(|path| path.exists());
    let Some(path) = path else {
        eprintln!("skipped: no osu018 library (Debian package qflow-tech-osu018)");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let (verilog, json) = (folder.path().join("design.v"), folder.path().join("netlist.json"));
    std::fs::write(&verilog, text).unwrap();
    let library = path.display();
    let script = format!(
        "read_verilog -noautowire {}; synth -top {top}; dfflibmap -liberty {library}; abc -liberty {library}; \
         opt_clean; write_json {}",
        verilog.display(),
        json.display()
    );
    match Command::new("yosys").args(["-q", "-p", &script]).output() {
        Err(_) => {
            eprintln!("skipped: no yosys in PATH (Debian package yosys)");
            None
        }
        Ok(run) => {
            assert!(run.status.success(), "yosys: {}", String::from_utf8_lossy(&run.stderr));
            let library = Library::read(&path).unwrap();
            Some(MappedDesign { top: top.to_string(), json, library, _folder: folder })
        }
    }
}
