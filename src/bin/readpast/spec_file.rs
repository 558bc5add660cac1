//! Queue descriptions in files.

use crate::failure::{Failure, Result, usage};
use readpast::QueueSpec;
use readpast::spec::Format;
use std::fs;
use std::path::Path;

/// The description in the file at `path`. Mistakes are told with the file's name.
pub fn read(path: &Path) -> Result<QueueSpec> {
    let text =
        fs::read_to_string(path).map_err(|error| usage(format!("{} cannot be read: {error}", path.display())))?;
    let format = Format::of_file(&path.to_string_lossy()).unwrap_or_else(|| Format::of_text(&text));
    QueueSpec::parse(&text, format).map_err(|error| Failure::Library(error.in_context(path.display())))
}
