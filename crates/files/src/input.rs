//! Files that are named by a user. A pipe would wait for a writer and a device may never end: both are refused.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Opens a regular file; its length is in bytes.
///
/// # Errors
/// Whatever the operating system reports, and a path that is something else: a folder, a pipe, a device.
pub fn open(path: &Path) -> Result<(File, u64)> {
    // Before it is opened: that waits where the path is a pipe.
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok((File::open(path)?, metadata.len()))
}

/// Reads a whole regular file.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let (mut file, length) = open(path)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole regular file of text.
///
/// # Errors
/// As [`open`], and bytes that are not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read(path)?).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not text in UTF-8"))
}

/// An error of JSON: the path of the field, the problem, line and column, as far as they are known.
pub type JsonError = serde_path_to_error::Error<serde_json::Error>;

/// Reads a value from JSON.
///
/// # Errors
/// Text that is not JSON, an object with two fields of one name, or a field with a value of another kind: names field, line and column.
pub fn from_json<T: DeserializeOwned>(text: &str) -> std::result::Result<T, JsonError> {
    // The whole text first: a mistake of the syntax is then never taken for one of the content.
    let whole: std::result::Result<serde_json::Value, _> = serde_json::from_str(text);
    whole.map_err(|e| JsonError::new(serde_path_to_error::Track::new().path(), e))?;
    let read = &mut serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize::<_, Distinct>(read)?;
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text))
}

/// Any JSON whose objects have no two fields of one name: of two, readers take one and say nothing.
struct Distinct;

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Distinct, D::Error> {
        deserializer.deserialize_any(Distinct)
    }
}

impl<'de> Visitor<'de> for Distinct {
    type Value = Distinct;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_str<E>(self, _: &str) -> std::result::Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_unit<E>(self) -> std::result::Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Distinct, A::Error> {
        while items.next_element::<Distinct>()?.is_some() {}
        Ok(Distinct)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> std::result::Result<Distinct, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            if names.contains(&name) {
                return Err(A::Error::custom(format!("field `{name}` is there twice; one is needed")));
            }
            names.insert(name);
            fields.next_value::<Distinct>()?;
        }
        Ok(Distinct)
    }
}

/// Reads a value from one of JSON's that is in memory.
///
/// # Errors
/// A field with a value of another kind: names it.
pub fn from_value<T: DeserializeOwned>(value: serde_json::Value) -> std::result::Result<T, JsonError> {
    serde_path_to_error::deserialize(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_is_refused_without_being_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        for path in [folder.path(), &pipe, Path::new("/dev/zero")] {
            assert_eq!(read(path).unwrap_err().to_string(), "it is not a regular file", "{path:?}");
        }
        let text = folder.path().join("text");
        std::fs::write(&text, b"\xff").unwrap();
        assert_eq!(read(&text).unwrap(), b"\xff");
        assert_eq!(read_text(&text).unwrap_err().to_string(), "it is not text in UTF-8");
    }

    #[test]
    fn errors_of_json_name_the_field_and_the_place() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Inner {
            #[allow(dead_code)]
            size: u32,
        }
        #[derive(Debug, serde::Deserialize)]
        struct Outer {
            #[allow(dead_code)]
            parts: Vec<Inner>,
        }
        let error = |text: &str| from_json::<Outer>(text).unwrap_err().to_string();
        assert_eq!(
            error("{\"parts\": [{\"size\": 1},\n {\"size\": \"x\"}]}"),
            "parts[1].size: invalid type: string \"x\", expected u32 at line 2 column 13"
        );
        assert_eq!(
            error("{\"parts\": [{\"size\": 1},\n {\"size\": 2, \"size\": 3}]}"),
            "parts[1]: field `size` is there twice; one is needed at line 2 column 19"
        );
        assert_eq!(error("{\"parts\": 3,}"), "trailing comma at line 1 column 13");
        assert_eq!(error("{\"parts\": []} x"), "trailing characters at line 1 column 15");
    }
}
