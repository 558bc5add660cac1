//! The file in which a command writes its directive: READPAST_DIRECTIVE names it.
//!
//! Output of a command is often text from elsewhere: an item's, a server's. If it were obeyed, the author of that text would
//! decide about the item. A file has to be written on purpose. It is one line in every shell and language, on Linux and on
//! Windows alike, where a command gets no other file descriptors than three.
//!
//! The command makes the file. So an empty one is a fault of the command: its disk was full, say.

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

/// The folder of a worker's directive files, which no other user can write. It goes with the worker.
pub struct DirectiveFolder {
    folder: PathBuf,
    count: AtomicU64,
}

impl DirectiveFolder {
    /// Makes the folder, in memory if the system has a place there.
    pub fn begin() -> Result<Self> {
        let mut places: Vec<_> = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).into_iter().collect();
        places.push(env::temp_dir());
        if cfg!(target_os = "linux") {
            // A container may have no other writable place.
            places.push(PathBuf::from("/dev/shm"));
        }
        // No other user can have made it before us, nor guess it.
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

    /// The file of one command.
    ///
    /// # Errors
    /// When the folder is no longer ours, or is gone and cannot be made again.
    pub fn next(&self) -> io::Result<DirectiveFile> {
        // A cleaner of old files removes a folder that was empty for days, and its name is known then.
        if !is_ours(&self.folder)? {
            make(&self.folder)?;
        }
        // A name is never reused: a child of an earlier command may still write.
        Ok(DirectiveFile(self.folder.join(self.count.fetch_add(1, Ordering::Relaxed).to_string())))
    }
}

impl Drop for DirectiveFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(unix)]
fn make(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;

    DirBuilder::new().mode(0o700).create(folder)
}

/// Makes the folder. It inherits its parent's access list, in which other users may at most add files.
#[cfg(windows)]
fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().create(folder)
}

/// Whether a folder is there, unchanged since we made it.
fn is_ours(folder: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(folder) {
        Ok(about) if about.is_dir() && is_private(&about) => Ok(true),
        Ok(_) => Err(io::Error::other(format!("another user has replaced the folder {}", folder.display()))),
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

/// The file that one command may write. The drop removes it.
pub struct DirectiveFile(PathBuf);

impl DirectiveFile {
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The directive, if the command wrote one.
    ///
    /// # Errors
    /// Why the file's text is none.
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
            // PowerShell 5 writes text like this.
            [0xff, 0xfe, text @ ..] => directive::of(&utf16(text)?).map(Some),
            [0xef, 0xbb, 0xbf, text @ ..] | text => {
                let text = directive::utf8(text)?;
                if text.trim().is_empty() { Err("its file is empty".to_owned()) } else { directive::of(text).map(Some) }
            }
        }
    }
}

impl Drop for DirectiveFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Opens a plain file: neither a link to elsewhere nor a pipe without a writer.
#[cfg(unix)]
pub fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)
}

#[cfg(windows)]
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

pub fn utf16(text: &[u8]) -> std::result::Result<String, String> {
    let (units, rest) = text.as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    let text: std::result::Result<String, _> = char::decode_utf16(units).collect();
    text.ok().filter(|_| rest.is_empty()).ok_or_else(|| "it is not UTF-16".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use readpast::Action;

    fn directive_of(bytes: &[u8]) -> std::result::Result<Option<Directive>, String> {
        let folder = DirectiveFolder::begin().unwrap();
        let file = folder.next().unwrap();
        fs::write(file.path(), bytes).unwrap();
        file.read()
    }

    #[test]
    fn a_directive_is_read_as_each_shell_writes_it() {
        let fail = Directive { action: Some(Action::Fail), error: Some("né".to_owned()), ..Directive::default() };
        let text = r#"{"action": "fail", "error": "né"}"#;
        let utf16: Vec<u8> = "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        for bytes in
            [text.as_bytes(), format!("\u{feff}{text} \r\n").as_bytes(), format!("{text}\n").as_bytes(), &utf16]
        {
            assert_eq!(directive_of(bytes), Ok(Some(Directive { ..clone(&fail) })), "{bytes:?}");
        }
        assert_eq!(directive_of(b"{}"), Ok(Some(Directive::default())));
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
            let error = directive_of(bytes).unwrap_err();
            assert!(error.contains(why), "{why}: {error}");
        }
    }

    #[test]
    fn nothing_is_left_of_a_directive_file_and_of_a_worker() {
        let folder = DirectiveFolder::begin().unwrap();
        let (one, other) = (folder.next().unwrap(), folder.next().unwrap());
        assert_ne!(one.path(), other.path());
        assert_eq!(one.read(), Ok(None));
        fs::write(one.path(), "{}").unwrap();
        let (path, place) = (one.path().to_owned(), folder.folder.clone());
        drop(one);
        assert!(!path.exists() && place.exists());
        fs::write(other.path(), "{}").unwrap();
        fs::remove_dir_all(&place).unwrap();
        assert!(folder.next().is_ok() && place.exists(), "it was cleared away and is made again");
        drop(folder);
        assert!(!place.exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_folder_is_not_used() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = DirectiveFolder::begin().unwrap();
        fs::set_permissions(&folder.folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(folder.next().is_err());
        fs::remove_dir_all(&folder.folder).unwrap();
        symlink("/", &folder.folder).unwrap();
        assert!(folder.next().is_err());
        fs::remove_file(&folder.folder).unwrap();
        // Links and pipes are not followed, and block nothing.
        let file = folder.next().unwrap();
        symlink("/etc/hostname", file.path()).unwrap();
        assert!(file.read().is_err());
        fs::remove_file(file.path()).unwrap();
        assert!(process::Command::new("mkfifo").arg(file.path()).status().unwrap().success());
        assert!(file.read().unwrap_err().contains("plain file"));
    }
}
