//! Files that the command finds by itself: one that a stranger may have put there is not used. Its settings choose the driver,
//! and a driver is code that runs as the caller.
//!
//! The open file is examined, and not its name: a name may lead elsewhere a moment later. A file of ours (or of the system's
//! administrator) that others cannot write is trusted, in a folder in which others cannot put another of our files under its
//! name. In a sticky folder, as /tmp, they cannot: there they can only add files, and those are theirs.

#[cfg(unix)]
mod of_unix;
#[cfg(windows)]
mod of_windows;

#[cfg(unix)]
use of_unix as system;
#[cfg(windows)]
use of_windows as system;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// As many links lead to a file as the system itself would follow.
const MOST_LINKS: usize = 40;

/// Why a file is not trusted, and the remedy.
#[derive(Debug, PartialEq, Eq)]
pub struct Doubt {
    pub why: String,
    pub remedy: String,
}

/// Opens a file; returns the reason for which its content may be a stranger's.
pub fn open(path: &Path) -> io::Result<(File, Option<Doubt>)> {
    let file = system::open(path)?;
    let doubt = doubt(path, &file)?;
    Ok((file, doubt))
}

/// Returns the reason for which a stranger may take files of ours out of a folder.
pub fn doubt_of_folder(folder: &Path) -> io::Result<Option<Doubt>> {
    system::doubt_of_folder(folder)
}

fn doubt(path: &Path, file: &File) -> io::Result<Option<Doubt>> {
    if !file.metadata()?.is_file() {
        let remedy = "put a plain file in its place".to_owned();
        return Ok(Some(Doubt { why: "it is no plain file".to_owned(), remedy }));
    }
    if let Some(doubt) = system::doubt_of_file(file, path)? {
        return Ok(Some(doubt));
    }
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        let folder = match place.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        if let Some(doubt) = system::doubt_of_folder(&folder)? {
            return Ok(Some(doubt));
        }
        if !place.symlink_metadata()?.is_symlink() {
            return Ok(None);
        }
        if let Some(doubt) = system::doubt_of_link(&place)? {
            return Ok(Some(doubt));
        }
        place = folder.join(place.read_link()?);
    }
    Err(io::Error::other("too many links lead to it"))
}
