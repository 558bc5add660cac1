//! Files that may hold the connection string.

use crate::failure::{Result, usage};
use crate::global::Global;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What stood in a file, and who else may read it.
pub struct SecretFile {
    path: PathBuf,
    pub text: String,
    mode: u32,
    is_exposed: bool,
}

impl SecretFile {
    pub fn read(path: &Path) -> Result<Self> {
        let cannot = |error: std::io::Error| usage(format!("{} cannot be read: {error}", path.display()));
        let mut file = fs::File::open(path).map_err(cannot)?;
        let about = file.metadata().map_err(cannot)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(cannot)?;
        // A pipe is nobody else's.
        let is_exposed =
            about.is_file() && is_exposed(about.mode(), about.uid() == rustix::process::geteuid().as_raw());
        Ok(Self { path: path.to_owned(), text, mode: about.mode() & 0o7777, is_exposed })
    }

    /// It is used as a secret: others must not be able to read it.
    pub fn keeps_secret(&self, global: &Global) -> Result<()> {
        if !self.is_exposed || global.allow_readable_secrets {
            return Ok(());
        }
        Err(usage(format!(
            "{0} holds the connection, and others may read it (mode {1:03o})\n  chmod 600 {0}\n  or, where its mode cannot be \
             helped, --allow-readable-secrets",
            self.path.display(),
            self.mode,
        )))
    }
}

/// Whether others have a right on a file. One that belongs to somebody else (root, say) may be ours to read by its group.
fn is_exposed(mode: u32, is_own: bool) -> bool {
    mode & 0o007 != 0 || (is_own && mode & 0o070 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_may_read_is_exposed() {
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
