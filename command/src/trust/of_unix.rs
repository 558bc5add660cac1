//! The owner of a file, and others who may write it, by its mode.

use super::Doubt;
use nix::unistd::{Gid, Group, Uid, User};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Opens without waiting: a pipe without a writer would block.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

pub fn doubt_of_file(file: &File, path: &Path) -> io::Result<Option<Doubt>> {
    let about = file.metadata()?;
    let path = path.display();
    Ok(stranger(&about, me()).map_or_else(
        || {
            let why = format!("others may write it (mode {:03o})", about.mode() & 0o7777);
            others_write(&about).then(|| Doubt { why, remedy: format!("chmod go-w {path}") })
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
    Ok((others_write(&about) && !is_sticky(about.mode()))
        .then(|| Doubt { why, remedy: format!("chmod go-w {folder}") }))
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

/// Whether users beside its owner may write it. Debian and Ubuntu give each user a group of the same name, and a umask that lets
/// it write: the group has no other members.
fn others_write(about: &Metadata) -> bool {
    let mode = about.mode();
    mode & OTHERS_WRITE != 0 || mode & GROUP_WRITES != 0 && !is_private(about.uid(), about.gid())
}

/// Whether the user is a group's only member: it is the user's first, of the same name, without other members. An unanswered
/// question counts as no.
fn is_private(user: u32, group: u32) -> bool {
    let (Ok(Some(user)), Ok(Some(group))) =
        (User::from_uid(Uid::from_raw(user)), Group::from_gid(Gid::from_raw(group)))
    else {
        return false;
    };
    user.gid == group.gid && user.name == group.name && group.mem.iter().all(|member| *member == user.name)
}

/// Whether users cannot remove the files of others in such a folder, and so put another in their place.
fn is_sticky(mode: u32) -> bool {
    mode & STICKY != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_the_same_name_is_private_and_others_are_not() {
        assert!(is_private(0, 0), "root's own");
        let of_others = Group::from_name("daemon").unwrap().unwrap().gid.as_raw();
        assert!(!is_private(0, of_others) && !is_private(u32::MAX - 7, 0));
    }
}
