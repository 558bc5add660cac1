//! Files that may hold the connection string.

use crate::failure::{Failure, Result, usage};
use crate::global::Global;
use crate::trust;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The text of a file, and who else may read it.
pub struct SecretFile {
    path: PathBuf,
    pub text: String,
    /// How others may read it, if they may.
    exposure: Option<String>,
}

impl SecretFile {
    /// A file that the caller has named.
    pub fn read(path: &Path) -> Result<Self> {
        Self::of(path, File::open(path).map_err(|error| cannot_read(path, &error))?)
    }

    /// A file that was found by itself, and must not be a stranger's; `option` would name it.
    pub fn found(path: &Path, option: &str) -> Result<Self> {
        let (file, doubt) = trust::open(path).map_err(|error| cannot_read(path, &error))?;
        let Some(trust::Doubt { why, remedy }) = doubt else { return Self::of(path, file) };
        let path = path.display();
        Err(usage(format!(
            "{path} was found, and is refused: {why}; settings can make readpast run another user's code\n  {remedy}\n  \
             or, if you trust what it says, {option} {path}"
        )))
    }

    fn of(path: &Path, mut file: File) -> Result<Self> {
        let cannot = |error: std::io::Error| cannot_read(path, &error);
        let exposure = exposure(&file).map_err(cannot)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(cannot)?;
        // Windows programs begin text with a byte order mark.
        let text = text.strip_prefix('\u{feff}').map(ToOwned::to_owned).unwrap_or(text);
        Ok(Self { path: path.to_owned(), text, exposure })
    }

    /// Checks that others cannot read a file with a secret.
    pub fn keeps_secret(&self, global: &Global) -> Result<()> {
        let Some(how) = self.exposure.as_ref().filter(|_| !global.allow_readable_secrets) else { return Ok(()) };
        let path = self.path.display();
        Err(usage(format!(
            "{path} holds the connection, and others may read it{how}\n  {}\n  or, if that is not possible, \
             --allow-readable-secrets",
            remedy(&path.to_string()),
        )))
    }
}

fn cannot_read(path: &Path, error: &std::io::Error) -> Failure {
    usage(format!("{} cannot be read: {error}", path.display()))
}

#[cfg(unix)]
fn exposure(file: &File) -> std::io::Result<Option<String>> {
    use std::os::unix::fs::MetadataExt;

    let about = file.metadata()?;
    let is_own = about.uid() == rustix::process::geteuid().as_raw();
    // A pipe has no other readers.
    let is_exposed = about.is_file() && is_exposed(about.mode(), is_own);
    Ok(is_exposed.then(|| format!(" (mode {:03o})", about.mode() & 0o7777)))
}

#[cfg(windows)]
fn exposure(file: &File) -> std::io::Result<Option<String>> {
    let is_exposed = file.metadata()?.is_file() && crate::windows::access::is_public(file)?;
    Ok(is_exposed.then(|| " (its access list admits all users)".to_owned()))
}

#[cfg(unix)]
fn remedy(path: &str) -> String {
    format!("chmod 600 {path}")
}

#[cfg(windows)]
fn remedy(path: &str) -> String {
    format!("icacls \"{path}\" /inheritance:r /grant:r \"%USERNAME%:R\"")
}

#[cfg(unix)]
/// Whether others have a right on a file. We may read one of another owner (root, say) by its group.
fn is_exposed(mode: u32, is_own: bool) -> bool {
    mode & 0o007 != 0 || (is_own && mode & 0o070 != 0)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn files_that_others_may_read_are_exposed() {
        for (mode, is_own, expected) in [
            (0o100_600, true, false),
            (0o100_400, true, false),
            (0o100_644, true, true),
            (0o100_660, true, true),
            (0o100_640, true, true),
            (0o100_640, false, false),
            (0o100_444, false, true),
        ] {
            assert_eq!(is_exposed(mode, is_own), expected, "{mode:o}");
        }
    }
}
