//! The owner of a file, and others who may write it, by its mode.

use super::Doubt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The bits by which the group and others may write.
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// A pipe that nobody writes holds nobody up.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

pub fn doubt_of_file(file: &File, path: &Path) -> io::Result<Option<Doubt>> {
    let about = file.metadata()?;
    let path = path.display();
    Ok(stranger(&about, me()).map_or_else(
        || {
            let why = format!("others may write it (mode {:03o})", about.mode() & 0o7777);
            let is_open = about.mode() & OTHERS_WRITE != 0;
            is_open.then(|| Doubt { why, remedy: format!("chmod go-w {path}") })
        },
        |owner| {
            let why = format!("it belongs to another user (uid {owner})");
            Some(Doubt { why, remedy: format!("chown {} {path}", me()) })
        },
    ))
}

pub fn doubt_of_folder(folder: &Path) -> io::Result<Option<Doubt>> {
    let about = fs::metadata(folder)?;
    let folder = folder.display();
    if let Some(owner) = stranger(&about, me()) {
        let why = format!("its folder {folder} belongs to another user (uid {owner})");
        return Ok(Some(Doubt { why, remedy: "move it into a folder of yours".to_owned() }));
    }
    let why = format!("others may write its folder {folder} (mode {:03o})", about.mode() & 0o7777);
    Ok(is_open(about.mode()).then(|| Doubt { why, remedy: format!("chmod go-w {folder}") }))
}

pub fn doubt_of_link(link: &Path) -> io::Result<Option<Doubt>> {
    let owner = stranger(&fs::symlink_metadata(link)?, me());
    Ok(owner.map(|owner| Doubt {
        why: format!("the link {} belongs to another user (uid {owner})", link.display()),
        remedy: format!("chown -h {} {}", me(), link.display()),
    }))
}

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The owner, unless that is us or root.
fn stranger(about: &Metadata, me: u32) -> Option<u32> {
    Some(about.uid()).filter(|owner| *owner != me && *owner != 0)
}

/// Whether others may take a file of a folder away, and so put another in its place.
fn is_open(mode: u32) -> bool {
    mode & OTHERS_WRITE != 0 && mode & STICKY == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sticky_folder_keeps_files_from_strangers() {
        for (mode, expected) in
            [(0o40_755, false), (0o40_700, false), (0o40_775, true), (0o40_757, true), (0o41_777, false)]
        {
            assert_eq!(is_open(mode), expected, "{mode:o}");
        }
    }
}
