//! The owner of a file, and others who may write it, by its access list.

use super::Doubt;
use crate::windows::access::{About, me, text_of};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;
use windows::Win32::Foundation::{GENERIC_ALL, GENERIC_WRITE};
use windows::Win32::Security::{DACL_SECURITY_INFORMATION, OWNER_SECURITY_INFORMATION};
use windows::Win32::Storage::FileSystem::{
    DELETE, FILE_APPEND_DATA, FILE_DELETE_CHILD, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT,
    FILE_WRITE_DATA, READ_CONTROL, WRITE_DAC, WRITE_OWNER,
};

/// The system, administrators, the file's maker or owner (the owner is checked), and the installer of Windows.
const TRUSTED: [&str; 5] = [
    "S-1-5-18",
    "S-1-5-32-544",
    "S-1-3-0",
    "S-1-3-4",
    "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464",
];

/// Rights by which others make a file their own. In a folder they may add files, which are theirs, but not remove one.
const ON_FILE: u32 = FILE_WRITE_DATA.0 | FILE_APPEND_DATA.0 | GENERIC_WRITE.0 | DELETE.0 | ALWAYS;
const ON_FOLDER: u32 = FILE_DELETE_CHILD.0 | ALWAYS;
const ALWAYS: u32 = GENERIC_ALL.0 | WRITE_DAC.0 | WRITE_OWNER.0;

pub fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub fn doubt_of_file(file: &File, path: &Path) -> io::Result<Option<Doubt>> {
    doubt(file, "it", path, ON_FILE)
}

pub fn doubt_of_folder(folder: &Path) -> io::Result<Option<Doubt>> {
    let handle = looked_at(folder, FILE_FLAG_BACKUP_SEMANTICS.0)?;
    doubt(&handle, "its folder", folder, ON_FOLDER)
}

pub fn doubt_of_link(link: &Path) -> io::Result<Option<Doubt>> {
    let handle = looked_at(link, FILE_FLAG_BACKUP_SEMANTICS.0 | FILE_FLAG_OPEN_REPARSE_POINT.0)?;
    doubt(&handle, "the link", link, ALWAYS)
}

fn looked_at(path: &Path, flags: u32) -> io::Result<File> {
    OpenOptions::new().access_mode(READ_CONTROL.0).custom_flags(flags).open(path)
}

fn doubt(file: &File, what: &str, path: &Path, rights: u32) -> io::Result<Option<Doubt>> {
    let about = About::of(file, DACL_SECURITY_INFORMATION | OWNER_SECURITY_INFORMATION)?;
    let (me, owner, path) = (me()?, about.owner()?, path.display());
    let is_trusted = |account: &str| account == me || TRUSTED.contains(&account);
    if !is_trusted(&owner) {
        let why = format!("{what} ({path}) belongs to another user ({owner})");
        return Ok(Some(Doubt { why, remedy: format!("icacls \"{path}\" /setowner \"%USERNAME%\"") }));
    }
    let is_others = |account| !text_of(account).is_ok_and(|account| is_trusted(&account));
    let why = || format!("{what} ({path}) may be written by others");
    let all = if rights == ON_FOLDER { "(OI)(CI)F" } else { "F" };
    let remedy =
        || format!("icacls \"{path}\" /inheritance:r /grant:r \"%USERNAME%:{all}\" \"BUILTIN\\Administrators:{all}\"");
    Ok(about.grants(rights, is_others)?.then(|| Doubt { why: why(), remedy: remedy() }))
}
