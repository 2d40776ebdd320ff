//! Clean-up of the cache.
//!
//! Only what this program makes is removed: entries named by a digest, in the folders of their kind, that hold
//! nothing but the files of that kind. An entry is first given the name of an unfinished one, so that a removal
//! that is interrupted leaves no entry that looks complete.

use super::cache::{Cache, DIGESTS, MAKING};
use std::fs::{Metadata, read_dir, symlink_metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Days without use after which finished work is removed.
pub const KEPT_DAYS: u64 = 60;
/// Bytes beyond which the work that was not used for longest is removed.
pub const KEPT_BYTES: u64 = 8 << 30;
/// Days since the last use before which nothing is removed for its size: other runs may be using it.
pub const SPARED_DAYS: u64 = 7;

/// Whether a file of a name may be part of an entry.
type IsPart = fn(&str) -> bool;

/// Kinds of entries and the names of their files.
const KINDS: [(&str, IsPart); 3] = [
    ("modules", |name| name.ends_with(".json")),
    ("netlists", |name| ["netlist.v", "netlist.json"].contains(&name)),
    ("timing", |name| name.starts_with("script") || name.starts_with("report")),
];
/// Folder of unpacked Liberty files.
const LIBRARIES: &str = "libraries";
/// Digits of a digest in the name of an entry, and in the name of an unpacked file.
const DIGITS: (usize, usize) = (64, 16);

/// Entries removed by a clean-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Entries, unpacked libraries and unfinished folders.
    pub entries: usize,
    /// Their size, bytes.
    pub bytes: u64,
}

/// Something that may be removed.
struct CacheEntry {
    path: PathBuf,
    /// Whether it is a complete entry: a folder that counts for the size.
    complete: bool,
    bytes: u64,
    used: SystemTime,
}

impl Cache {
    /// Removes entries not used for [`KEPT_DAYS`], then the least recently used until [`KEPT_BYTES`] are left, but
    /// none used in the last [`SPARED_DAYS`]. Entries that cannot be removed stay: a cache that is too large is no
    /// failure.
    pub fn clean(&self) -> Removed {
        self.clean_at(SystemTime::now(), KEPT_BYTES)
    }

    fn clean_at(&self, now: SystemTime, kept_bytes: u64) -> Removed {
        let mut entries = self.entries();
        entries.sort_by_key(|entry| entry.used);
        let mut kept: u64 = entries.iter().filter(|entry| entry.complete).map(|entry| entry.bytes).sum();
        let mut removed = Removed::default();
        let days = |days: u64| Duration::from_secs(days * 24 * 3600);
        for entry in entries {
            // A time in the future counts as just used.
            let unused = now.duration_since(entry.used).unwrap_or_default();
            let unfinished = !entry.complete && entry.path.is_dir();
            let remove = unused > days(KEPT_DAYS)
                || unused > days(SPARED_DAYS) && (unfinished || entry.complete && kept > kept_bytes);
            if remove && discard(&entry) {
                kept -= if entry.complete { entry.bytes } else { 0 };
                removed.entries += 1;
                removed.bytes += entry.bytes;
            }
        }
        removed
    }

    /// Everything in the cache that is ours.
    fn entries(&self) -> Vec<CacheEntry> {
        let mut entries = Vec::new();
        for (kind, is_part) in KINDS {
            for (path, name, metadata) in children(&self.folder().join(kind)) {
                let complete = name.len() == DIGITS.0 && is_digest(&name);
                if !metadata.is_dir() || !(complete || name.starts_with(MAKING)) {
                    continue;
                }
                let (Some(bytes), Ok(used)) = (size(&path, is_part), metadata.modified()) else { continue };
                entries.push(CacheEntry { path, complete, bytes, used });
            }
        }
        for (path, name, metadata) in children(&self.folder().join(LIBRARIES)) {
            let ours = name.split_once('_').is_some_and(|(d, _)| d.len() == DIGITS.1 && is_digest(d));
            if let (true, true, Ok(used)) = (ours, metadata.is_file(), metadata.modified()) {
                entries.push(CacheEntry { path, complete: false, bytes: metadata.len(), used });
            }
        }
        entries
    }
}

fn is_digest(name: &str) -> bool {
    name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Contents of a folder, links not followed; nothing if there is no such folder, or if it is a link itself.
fn children(folder: &Path) -> Vec<(PathBuf, String, Metadata)> {
    if !symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir()) {
        return Vec::new();
    }
    let listed = read_dir(folder).into_iter().flatten().flatten();
    listed
        .filter_map(|child| {
            let name = child.file_name().into_string().ok()?;
            Some((child.path(), name, symlink_metadata(child.path()).ok()?))
        })
        .collect()
}

/// Bytes in an entry; `None` if it holds anything that is no part of one.
fn size(folder: &Path, is_part: IsPart) -> Option<u64> {
    let listed = read_dir(folder).ok()?.collect::<Result<Vec<_>, _>>().ok()?;
    listed.iter().try_fold(0, |sum, child| {
        let metadata = symlink_metadata(child.path()).ok()?;
        let is_ours = |name: &str| name == DIGESTS || is_part(name);
        let ours = metadata.is_file() && child.file_name().to_str().is_some_and(is_ours);
        ours.then_some(sum + metadata.len())
    })
}

/// Removes an entry unless it has been used in the meantime.
fn discard(entry: &CacheEntry) -> bool {
    let used = symlink_metadata(&entry.path).and_then(|metadata| metadata.modified());
    if used.ok() != Some(entry.used) {
        return false;
    }
    if !entry.path.is_dir() {
        return std::fs::remove_file(&entry.path).is_ok();
    }
    let name = entry.path.file_name().unwrap_or_default().to_string_lossy();
    let aside = match entry.complete {
        true => entry.path.with_file_name(format!("{MAKING}_removed_{name}")),
        false => entry.path.clone(),
    };
    let moved = !entry.complete || std::fs::rename(&entry.path, &aside).is_ok();
    moved && std::fs::remove_dir_all(&aside).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    /// A folder or file of a cache, unused for some days.
    fn put(cache: &Cache, path: &str, file: Option<&str>, days: u32) -> PathBuf {
        let path = cache.folder().join(path);
        match file {
            Some(file) => {
                fs::create_dir_all(&path).unwrap();
                fs::write(path.join(file), [0; 100]).unwrap();
            }
            None => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, [0; 100]).unwrap();
            }
        }
        age(&path, days);
        path
    }

    fn age(path: &Path, days: u32) {
        fs::File::open(path).unwrap().set_modified(SystemTime::now() - DAY * days).unwrap();
    }

    fn digest(digit: char) -> String {
        digit.to_string().repeat(64)
    }

    #[test]
    fn old_or_surplus_entries_go_and_used_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path())).unwrap();
        let old = put(&cache, &format!("modules/{}", digest('a')), Some("candidates.json"), 61);
        let unfinished = put(&cache, "timing/.makingXyz", Some("script.tcl"), 8);
        let library = put(&cache, &format!("libraries/{}_x.lib", "0".repeat(16)), None, 61);
        let month = put(&cache, &format!("netlists/{}", digest('b')), Some("netlist.v"), 30);
        let fortnight = put(&cache, &format!("timing/{}", digest('c')), Some("report"), 14);
        let fresh = put(&cache, &format!("timing/{}", digest('d')), Some("report"), 1);
        // 300 bytes are left without the old one: one entry must go for a bound of 200, the oldest.
        assert_eq!(cache.clean_at(SystemTime::now(), 200), Removed { entries: 4, bytes: 400 });
        assert!([&old, &unfinished, &library, &month].iter().all(|path| !path.exists()));
        assert!(fortnight.exists() && fresh.exists());
        // Entries used in the last week stay whatever the bound is.
        assert_eq!(cache.clean_at(SystemTime::now(), 0).entries, 1);
        assert!(!fortnight.exists() && fresh.exists());
        assert_eq!(fs::read_dir(folder.path().join("timing")).unwrap().count(), 1);
    }

    #[test]
    fn use_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path())).unwrap();
        let make =
            |path: &Path| fs::write(path.join("report"), "").map_err(crate::PpaError::file("write", path));
        let entry = cache.entry("timing", &digest('a'), make).unwrap();
        age(&entry, 70);
        cache.entry("timing", &digest('a'), |_| panic!("is there")).unwrap();
        assert_eq!(cache.clean(), Removed::default());
        age(&entry, 70);
        assert_eq!(cache.clean().entries, 1);
        assert!(!entry.exists());
    }

    #[test]
    fn foreign_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path())).unwrap();
        let mixed = put(&cache, &format!("modules/{}", digest('a')), Some("candidates.json"), 99);
        fs::write(mixed.join("thesis.tex"), "").unwrap();
        age(&mixed, 99);
        let others = [
            mixed,
            put(&cache, "modules/notes", Some("a.json"), 99),
            put(&cache, &format!("photos/{}", digest('b')), Some("a.json"), 99),
            put(&cache, &format!("modules/{}", digest('c')), None, 99),
            put(&cache, "libraries/mine.lib", None, 99),
        ];
        // A link into a foreign folder.
        #[cfg(unix)]
        {
            let target = put(&cache, "elsewhere", Some("report"), 99);
            fs::create_dir_all(folder.path().join("timing")).unwrap();
            std::os::unix::fs::symlink(&target, folder.path().join("timing").join(digest('d'))).unwrap();
        }
        assert_eq!(cache.clean_at(SystemTime::now(), 0), Removed::default());
        assert!(others.iter().all(|path| path.exists()));
        assert!(folder.path().join("elsewhere/report").exists());
    }
}
