//! A folder to work in.

use std::path::PathBuf;

/// An empty folder that nobody else has or had: what an aborted run left behind would be taken for this one's.
/// Who asks for it clears it away.
pub fn folder(what: &str) -> PathBuf {
    tempfile::Builder::new().prefix(&format!("readpast-{what}-")).tempdir().unwrap().keep()
}
