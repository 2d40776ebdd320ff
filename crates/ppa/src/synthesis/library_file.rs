//! The cell library: where it is, and the cells with a special role.

use super::adders::FullAdder;
use super::cache::{self, Digest};
use super::clock_gates::GateCell;
use crate::PpaError;
use crate::liberty::{Cell, CellFunction, Library};
use flate2::read::MultiGzDecoder;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Path of the default library below a prefix.
const DEFAULT_LIBRARY: &str = "share/qflow/tech/osu018/osu018_stdcells.lib";
/// Prefixes of installations.
const PREFIXES: [&str; 2] = ["/usr", "/usr/local"];
/// Assumed load of an output, in input capacitances of the smallest inverter.
const OUTPUT_LOAD: f64 = 4.0;

/// A Liberty file, read, as the tools get it.
#[derive(Clone, Debug)]
pub struct CellLibrary {
    /// The file that was given.
    pub path: PathBuf,
    /// The text that the tools read, in the cache: plain, without the cells that they may not use.
    pub(crate) for_tools: PathBuf,
    /// Name of the file that was given, without its folder.
    pub file: String,
    /// SHA-256 of the file that was given, as `sha256sum` prints it.
    pub sha256: String,
    /// Whether it is the default library.
    pub is_default: bool,
    /// Patterns of the cells that the user leaves out.
    pub dont_use: Vec<String>,
    /// Parsed.
    pub cells: Library,
    /// Digest of the text.
    pub(crate) digest: String,
    /// Cells with a role, by name.
    pub(crate) roles: Roles,
}

/// Cells with a role.
#[derive(Clone, Debug)]
pub(crate) struct Roles {
    /// Buffer assumed to drive an input.
    pub driver: String,
    /// Output pin of that buffer.
    pub driver_pin: String,
    /// Assumed load of an output, F.
    pub load: f64,
    /// Full-adder cell.
    pub full_adder: Option<FullAdder>,
    /// Yosys commands that replace constants by tie cells.
    pub constants: String,
    /// Clock gate that takes the place of enables, if they are wanted.
    pub clock_gate: Option<GateCell>,
}

impl CellLibrary {
    /// Reads the library `file` (Liberty, plain or packed as `.gz` or `.xz`), or the default one, and writes the tools' copy
    /// into `cache`.
    ///
    /// # Errors
    /// As [`CellLibrary::without`].
    pub fn open(file: Option<&Path>, cache: &Path) -> Result<Self, PpaError> {
        Self::without(file, cache, &[])
    }

    /// The same without the cells whose names match one of the patterns.
    ///
    /// # Errors
    /// A missing file, with the package to install; a file that is not Liberty, or lacks a NAND, an inverter, a
    /// buffer or a flip-flop; a pattern that matches no cell.
    pub fn without(file: Option<&Path>, cache: &Path, patterns: &[String]) -> Result<Self, PpaError> {
        let path = match file {
            Some(file) => file.to_path_buf(),
            None => default_library()?,
        };
        let bytes = flashd_files::read(&path).map_err(PpaError::file("read", &path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let sha256 = cache::sha256(&bytes);
        let bytes = unpacked(&path, bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut cells = Library::from_text(&path, &text)?;
        let problem = |detail| PpaError::Library { path: path.clone(), detail };
        for pattern in patterns {
            let wrong = |what: String| problem(format!("--dont-use {pattern}: {what}"));
            let glob = glob::Pattern::new(pattern).map_err(|e| wrong(format!("is no pattern: {e}")))?;
            if cells.leave_out(&glob) == 0 {
                return Err(wrong(format!("matches none of the {} cells", cells.cells.len())));
            }
        }
        let roles = roles(&cells).map_err(problem)?;
        let text = cells.prepared(&path, &text)?;
        let digest = Digest::new().field("library", &text).finish();
        let for_tools = kept(&path, &digest, &text, cache)?;
        let dont_use = patterns.to_vec();
        Ok(CellLibrary {
            dont_use,
            path,
            for_tools,
            file: name,
            sha256,
            is_default: file.is_none(),
            cells,
            digest,
            roles,
        })
    }

    /// The same with clock gates in place of enables.
    ///
    /// # Errors
    /// A library without a clock gate for the rising edge.
    pub fn with_clock_gates(mut self) -> Result<Self, PpaError> {
        let Some(gate) = GateCell::of(&self.cells) else {
            let detail = "has no clock gate for the rising edge, clock_gating_integrated_cell : \"latch_posedge\" or one with a test pin; \
                          leave out --clock-gates, or take a library that has one"
                .to_string();
            return Err(PpaError::Library { path: self.path, detail });
        };
        self.roles.clock_gate = Some(gate);
        Ok(self)
    }

    /// One unit of time of the file, ns.
    pub(crate) fn time_unit_ns(&self) -> f64 {
        self.cells.units.time * 1e9
    }

    /// A capacitance in F, in units of the file.
    pub(crate) fn load_units(&self, farad: f64) -> f64 {
        farad / self.cells.units.capacitance
    }

    /// Wire capacitance of nets in timing and power, in words.
    pub fn wires(&self) -> String {
        match &self.cells.default_wire_load {
            Some(model) => {
                format!("wire load model {}, the library's default, in timing and power", model.name)
            }
            None => "nothing: the library has no default wire load model".to_string(),
        }
    }

    /// Whether a clock reaches the cell.
    pub(crate) fn is_clocked(&self, cell: &str) -> bool {
        self.is_flip_flop(cell) || self.is_clock_gate(cell)
    }

    pub(crate) fn is_clock_gate(&self, cell: &str) -> bool {
        self.cells.cell(cell).is_some_and(|c| c.clock_gate().is_some())
    }

    pub(crate) fn is_flip_flop(&self, cell: &str) -> bool {
        self.cells.cell(cell).is_some_and(|c| matches!(c.kind, CellFunction::FlipFlop(_)))
    }

    /// Area of the smallest two-input NAND, and its name.
    pub(crate) fn nand2(&self) -> (f64, String) {
        self.cells.nand2().map_or((f64::NAN, String::new()), |cell| (cell.area, cell.name.clone()))
    }
}

fn default_library() -> Result<PathBuf, PpaError> {
    let candidates = PREFIXES.map(|prefix| Path::new(prefix).join(DEFAULT_LIBRARY));
    candidates.iter().find(|path| path.is_file()).cloned().ok_or_else(|| PpaError::MissingLibrary {
        searched: candidates.map(|path| path.display().to_string()).join(" and "),
    })
}

/// First bytes of packed files.
const GZIP: &[u8] = b"\x1f\x8b";
const XZ: &[u8] = b"\xfd7zXZ\0";
/// Most bytes of an unpacked library: ten times the largest that we know.
const MOST_BYTES: u64 = 1 << 30;

/// The bytes of a file, unpacked if its name or its first bytes say that it is packed: `.xz`, or `.gz`, as ASAP7 is published.
fn unpacked(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, PpaError> {
    let is = |ending: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ending));
    let mut text = Vec::new();
    let (kind, read) = if is("gz") || bytes.starts_with(GZIP) {
        ("a gzip", MultiGzDecoder::new(&bytes[..]).take(MOST_BYTES + 1).read_to_end(&mut text))
    } else if is("xz") || bytes.starts_with(XZ) {
        ("an xz", lzma_rust2::XzReader::new(&bytes[..], true).take(MOST_BYTES + 1).read_to_end(&mut text))
    } else {
        return Ok(bytes);
    };
    let problem = |detail| PpaError::Library { path: path.to_path_buf(), detail };
    match read {
        Err(e) => Err(problem(format!("cannot be unpacked, expected {kind} file: {e}"))),
        Ok(_) if text.len() as u64 > MOST_BYTES => {
            Err(problem(format!("is more than {MOST_BYTES} bytes when unpacked, which no library is")))
        }
        Ok(_) => Ok(text),
    }
}

/// The text of a library, unpacked if it is packed.
///
/// # Errors
/// A file that cannot be read or unpacked.
pub fn library_text(path: &Path) -> Result<String, PpaError> {
    let bytes = flashd_files::read(path).map_err(PpaError::file("read", path))?;
    let bytes = unpacked(path, bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Puts the text for the tools into the cache; one that is there with other contents is damaged, and replaced.
fn kept(path: &Path, digest: &str, text: &str, cache: &Path) -> Result<PathBuf, PpaError> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = std::path::absolute(cache.join("libraries")).map_err(PpaError::file("find", cache))?;
    let target = folder.join(format!("{}_{stem}", &digest[..16]));
    if std::fs::read(&target).is_ok_and(|bytes| bytes == text.as_bytes()) {
        cache::touch(&target);
        return Ok(target);
    }
    flashd_files::create_folder(&folder).map_err(PpaError::file("create", &folder))?;
    flashd_files::write(&target, text.as_bytes()).map_err(PpaError::file("write", &target))
}

fn roles(library: &Library) -> Result<Roles, String> {
    let left_out = match library.cells.iter().filter(|cell| cell.dont_use).count() {
        0 => String::new(),
        n => format!(
            "; {n} cells are left out: they have no area or a second supply, or the library or --dont-use says so"
        ),
    };
    let need = |what: &str| {
        format!(
            "the library has no {what}; mapping needs a NAND of two inputs, an inverter, a buffer and a flip-flop{left_out}"
        )
    };
    library.nand2().ok_or_else(|| need("two-input NAND"))?;
    let is_flip_flop = |cell: &Cell| matches!(cell.kind, CellFunction::FlipFlop(_)) && cell.is_usable();
    library.cells.iter().find(|cell| is_flip_flop(cell)).ok_or_else(|| need("flip-flop"))?;
    let inverters = library.inverters();
    let inverter = inverters.first().ok_or_else(|| need("inverter"))?;
    let buffers = library.buffers();
    // Not the weakest buffer: ports are usually driven by something sized for them.
    let driver = buffers.get(1).or(buffers.first()).ok_or_else(|| need("buffer"))?;
    let pin = inverter.inputs().next().ok_or_else(|| need("inverter with an input"))?;
    let driver_pin = driver.outputs().next().ok_or_else(|| need("buffer with an output"))?;
    let constants = match (library.tie(true), library.tie(false)) {
        (Some((high, high_pin)), Some((low, low_pin))) => {
            format!("hilomap -singleton -hicell {} {high_pin} -locell {} {low_pin}\n", high.name, low.name)
        }
        _ => String::new(),
    };
    Ok(Roles {
        driver: driver.name.clone(),
        driver_pin: driver_pin.name.clone(),
        load: OUTPUT_LOAD * pin.capacitance,
        full_adder: FullAdder::of(library),
        constants,
        clock_gate: None,
    })
}
