//! The file in which a command writes its directive: READPAST_DIRECTIVE names it.
//!
//! Output of a command is often text that it was given: an item's, a server's. If it were obeyed, the author of that text would
//! decide what becomes of the item. A file has to be written on purpose. It is one line in every shell and language, on
//! Linux and on Windows alike, where a command gets no other file descriptors than three.
//!
//! The command makes the file. So one that is there and empty is no mistake of ours: a disk was full, say.

use super::directive::{self, Directive};
use crate::failure::{Result, usage};
use crate::trust;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, process};
use uuid::Uuid;

/// The variable that names the file.
pub const VARIABLE: &str = "READPAST_DIRECTIVE";

/// The folder of a worker's slips, which is nobody else's. It goes with the worker.
pub struct Slips {
    folder: PathBuf,
    count: AtomicU64,
}

impl Slips {
    /// Makes the folder, in memory if the system has a place there.
    pub fn begin() -> Result<Self> {
        let mut places: Vec<_> = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).into_iter().collect();
        places.push(env::temp_dir());
        if cfg!(target_os = "linux") {
            // A container may have nothing else that can be written.
            places.push(PathBuf::from("/dev/shm"));
        }
        // Nobody can have made it before us, nor guess it.
        let name = format!("readpast-{}-{}", process::id(), Uuid::now_v7().simple());
        let mut why = String::new();
        for place in places.iter().filter(|place| place.is_absolute()) {
            let folder = place.join(&name);
            let made = match trust::doubt_of_folder(place) {
                Ok(Some(doubt)) => Err(doubt.why),
                Ok(None) => make(&folder).map_err(|error| format!("{}: {error}", place.display())),
                Err(error) => Err(format!("{}: {error}", place.display())),
            };
            match made {
                Ok(()) => return Ok(Self { folder, count: AtomicU64::new(0) }),
                Err(error) => why = format!("{why}\n  {error}"),
            }
        }
        let variable = if cfg!(windows) { "TMP" } else { "TMPDIR" };
        Err(usage(format!("there is no folder for the commands' directives; {variable} can name one{why}")))
    }

    /// The slip of one command.
    ///
    /// # Errors
    /// When the folder is no longer ours, or is gone and cannot be made again.
    pub fn next(&self) -> io::Result<Slip> {
        // A cleaner of old files takes a folder that was empty for days, and its name is known then.
        if !is_ours(&self.folder)? {
            make(&self.folder)?;
        }
        // Never one twice: what an earlier command left running may still write.
        Ok(Slip(self.folder.join(self.count.fetch_add(1, Ordering::Relaxed).to_string())))
    }
}

impl Drop for Slips {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(unix)]
fn make(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;

    DirBuilder::new().mode(0o700).create(folder)
}

/// It gets the access list of the folder that it is in, which other users have no rights in but to add files.
#[cfg(windows)]
fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().create(folder)
}

/// Whether a folder is there, and is as we have made it.
fn is_ours(folder: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(folder) {
        Ok(about) if about.is_dir() && is_private(&about) => Ok(true),
        Ok(_) => Err(io::Error::other(format!("the folder {} was replaced by somebody", folder.display()))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn is_private(about: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    about.uid() == rustix::process::geteuid().as_raw() && about.mode() & 0o077 == 0
}

#[cfg(windows)]
fn is_private(_: &fs::Metadata) -> bool {
    true
}

/// The file that one command may write. It is gone when this is dropped.
pub struct Slip(PathBuf);

impl Slip {
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The directive that was written, if one was.
    ///
    /// # Errors
    /// Why what was written is none.
    pub fn read(&self) -> std::result::Result<Option<Directive>, String> {
        let cannot = |error: io::Error| format!("its file cannot be read: {error}");
        let file = match open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot(error)),
        };
        if !file.metadata().map_err(cannot)?.is_file() {
            return Err("it is not in a plain file".to_owned());
        }
        let mut bytes = Vec::new();
        file.take(directive::LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(cannot)?;
        match bytes.as_slice() {
            _ if bytes.len() > directive::LONGEST => Err(format!("it is longer than {} bytes", directive::LONGEST)),
            // As PowerShell 5 writes text.
            [0xff, 0xfe, text @ ..] => directive::of(&utf16(text)?).map(Some),
            [0xef, 0xbb, 0xbf, text @ ..] | text => {
                let text = directive::utf8(text)?;
                if text.trim().is_empty() { Err("its file is empty".to_owned()) } else { directive::of(text).map(Some) }
            }
        }
    }
}

impl Drop for Slip {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Neither a link to elsewhere nor a pipe that nobody writes is what was meant.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)
}

#[cfg(windows)]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

fn utf16(text: &[u8]) -> std::result::Result<String, String> {
    let (units, rest) = text.as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    let text: std::result::Result<String, _> = char::decode_utf16(units).collect();
    text.ok().filter(|_| rest.is_empty()).ok_or_else(|| "it is not UTF-16".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use readpast::Action;

    fn said(bytes: &[u8]) -> std::result::Result<Option<Directive>, String> {
        let slips = Slips::begin().unwrap();
        let slip = slips.next().unwrap();
        fs::write(slip.path(), bytes).unwrap();
        slip.read()
    }

    #[test]
    fn a_directive_is_read_as_each_shell_writes_it() {
        let fail = Directive { action: Some(Action::Fail), error: Some("né".to_owned()), ..Directive::default() };
        let text = r#"{"action": "fail", "error": "né"}"#;
        let utf16: Vec<u8> = "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        for bytes in
            [text.as_bytes(), format!("\u{feff}{text} \r\n").as_bytes(), format!("{text}\n").as_bytes(), &utf16]
        {
            assert_eq!(said(bytes), Ok(Some(Directive { ..clone(&fail) })), "{bytes:?}");
        }
        assert_eq!(said(b"{}"), Ok(Some(Directive::default())));
    }

    fn clone(of: &Directive) -> Directive {
        Directive { action: of.action, error: of.error.clone(), ..Directive::default() }
    }

    #[test]
    fn a_file_that_is_no_directive_says_why() {
        for (bytes, why) in [
            (&b""[..], "empty"),
            (b" \n", "empty"),
            (b"{", "not JSON"),
            (b"{} {}", "not JSON"),
            (b"[]", "an object"),
            (b"{\"action\": \"explode\"}", "explode"),
            (b"{\"acton\": \"fail\"}", "acton"),
            (b"{\"readpast\": {}}", "readpast"),
            (b"{\"delay_ms\": \"5\"}", "delay_ms"),
            (b"{\"set\": [5]}", "set"),
            (b"{\"error\": \"caf\xe9\"}", "not UTF-8 (byte 0xe9"),
            (b"\xff\xfe{\0}", "UTF-16"),
            (&b" ".repeat(directive::LONGEST + 1), "longer than"),
        ] {
            let error = said(bytes).unwrap_err();
            assert!(error.contains(why), "{why}: {error}");
        }
    }

    #[test]
    fn nothing_is_left_of_a_slip_and_of_a_worker() {
        let slips = Slips::begin().unwrap();
        let (one, other) = (slips.next().unwrap(), slips.next().unwrap());
        assert_ne!(one.path(), other.path());
        assert_eq!(one.read(), Ok(None));
        fs::write(one.path(), "{}").unwrap();
        let (path, folder) = (one.path().to_owned(), slips.folder.clone());
        drop(one);
        assert!(!path.exists() && folder.exists());
        fs::write(other.path(), "{}").unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert!(slips.next().is_ok() && folder.exists(), "it was cleared away and is made again");
        drop(slips);
        assert!(!folder.exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_somebody_has_put_in_the_place_of_ours_is_not_used() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let slips = Slips::begin().unwrap();
        fs::set_permissions(&slips.folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(slips.next().is_err());
        fs::remove_dir_all(&slips.folder).unwrap();
        symlink("/", &slips.folder).unwrap();
        assert!(slips.next().is_err());
        fs::remove_file(&slips.folder).unwrap();
        // Links and pipes are not followed, and hold nobody up.
        let slip = slips.next().unwrap();
        symlink("/etc/hostname", slip.path()).unwrap();
        assert!(slip.read().is_err());
        fs::remove_file(slip.path()).unwrap();
        assert!(process::Command::new("mkfifo").arg(slip.path()).status().unwrap().success());
        assert!(slip.read().unwrap_err().contains("plain file"));
    }
}
