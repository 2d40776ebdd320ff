//! Digests by which results and builds are known again, and stored results whose every change shows.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// SHA-256 as `sha256sum` prints it.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Two digits a byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How a sealed object ends: before its digest, after it, and without it.
struct SealLayout {
    before: &'static str,
    after: &'static str,
    end: &'static str,
}

const FILE: SealLayout = SealLayout { before: ",\n  \"content_digest\": \"", after: "\"\n}\n", end: "\n}" };
const LINE: SealLayout = SealLayout { before: ",\"content_digest\":\"", after: "\"}", end: "}" };

impl SealLayout {
    fn seal(&self, text: &str) -> String {
        let SealLayout { before, after, end } = self;
        let fields = text.strip_suffix(end).unwrap_or(text);
        format!("{fields}{before}{}{after}", sha256(text.as_bytes()))
    }

    fn unseal(&self, text: &str) -> Result<String, String> {
        if text.trim().is_empty() {
            return Err("is empty".into());
        }
        let changed =
            || "is cut off, or was changed after it was written: its digest is another one".to_string();
        let (fields, digest) = text.rsplit_once(self.before).ok_or_else(changed)?;
        let whole = fields.to_string() + self.end;
        match digest.strip_suffix(self.after) == Some(sha256(whole.as_bytes()).as_str()) {
            true => Ok(whole),
            false => Err(changed()),
        }
    }
}

/// An object as a file of JSON whose last field, `content_digest`, is the SHA-256 of the object without it.
///
/// # Errors
/// A value that JSON cannot hold.
pub fn sealed(object: &impl Serialize) -> serde_json::Result<String> {
    Ok(FILE.seal(&serde_json::to_string_pretty(object)?))
}

/// The object of a file that [`sealed`] made.
///
/// # Errors
/// A file that is empty, cut off, changed, or of another object.
pub fn unsealed<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(&FILE.unseal(text)?).map_err(|e| e.to_string())
}

/// The same on one line, without its end.
///
/// # Errors
/// As `sealed`.
pub fn sealed_line(object: &impl Serialize) -> serde_json::Result<String> {
    Ok(LINE.seal(&serde_json::to_string(object)?))
}

/// The object of a line that [`sealed_line`] made.
///
/// # Errors
/// As `unsealed`.
pub fn unsealed_line<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    serde_json::from_str(&LINE.unseal(line)?).map_err(|e| e.to_string())
}

/// Writes a file and, in `<path>.sha256`, its digest.
///
/// # Errors
/// If one cannot be written.
pub fn keep(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    flashd_files::write(path, bytes)?;
    seal_file(path, bytes)
}

/// Writes the digest of a file that is there with this content.
///
/// # Errors
/// If it cannot be written.
pub fn seal_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    flashd_files::write(&digest_file(path), sha256(bytes).as_bytes()).map(drop)
}

/// The content of a file that [`keep`] wrote; none if it is missing or another one.
pub fn kept(path: &Path) -> Option<Vec<u8>> {
    let bytes = std::fs::read(path).ok()?;
    let digest = std::fs::read_to_string(digest_file(path)).ok()?;
    (digest == sha256(&bytes)).then_some(bytes)
}

fn digest_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".sha256");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn every_change_of_a_sealed_object_shows() {
        let object = json!({"a": 1.0000000000000002, "b": {"content_digest": "x", "c": []}});
        let (file, line) = (sealed(&object).unwrap(), sealed_line(&object).unwrap());
        assert_eq!(unsealed::<Value>(&file).unwrap(), object);
        assert_eq!(unsealed_line::<Value>(&line).unwrap(), object);
        // The sealed text is JSON.
        let whole: Value = serde_json::from_str(&file).unwrap();
        assert_eq!(whole["content_digest"].as_str().unwrap().len(), 64);
        for i in 0..file.len() {
            assert!(unsealed::<Value>(&file[..i]).is_err(), "{i}");
            let mut changed = file.clone().into_bytes();
            changed[i] ^= 1;
            assert!(unsealed::<Value>(&String::from_utf8(changed).unwrap()).is_err(), "{i}");
        }
        assert_eq!(unsealed::<Value>("\n").unwrap_err(), "is empty");
        assert!(unsealed_line::<Value>(&line[1..]).is_err());
    }

    #[test]
    fn a_kept_file_is_known_by_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert_eq!(kept(&path), None);
        keep(&path, b"whole").unwrap();
        assert_eq!(kept(&path), Some(b"whole".to_vec()));
        std::fs::write(&path, b"").unwrap();
        assert_eq!(kept(&path), None);
    }
}
