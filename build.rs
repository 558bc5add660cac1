//! Takes in the SQL files: `FILES` of each server, in `$OUT_DIR/<server>.rs`, from what lies below `sql/<server>`.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let root = env::var("CARGO_MANIFEST_DIR")?;
    let out = env::var("OUT_DIR")?;
    for server in ["sql_server", "postgres"] {
        let folder = Path::new(&root).join("sql").join(server);
        let mut list = String::from("&[\n");
        take_in(&folder, "", &mut list)?;
        list.push_str("]\n");
        fs::write(Path::new(&out).join(format!("{server}.rs")), list)?;
    }
    Ok(())
}

/// Appends the files below `folder`, whose names begin with `prefix`, in the order of their names.
fn take_in(folder: &Path, prefix: &str, list: &mut String) -> Result<(), Box<dyn Error>> {
    // A file that comes or goes changes its folder.
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let name = format!("{prefix}{}", name.to_str().ok_or("a file's name is not UTF-8")?);
        if path.is_dir() {
            take_in(&path, &format!("{name}/"), list)?;
        } else if name.ends_with(".sql") {
            list.push_str(&format!("    ({name:?}, include_str!({path:?})),\n"));
        }
    }
    Ok(())
}
