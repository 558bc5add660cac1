//! A configuration file that the command finds by itself is used only if no stranger can have written it.

use crate::shell::{Done, Shell, with};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::Path;
use std::process::Command;
use support::limit::patience;

/// An account that is neither ours nor root.
const STRANGER: u32 = 65_534;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Only root may give a file away, so that only root can test what belongs to somebody else.
fn may_give_away() -> bool {
    rustix::process::geteuid().is_root()
}

fn give_away(path: &Path) {
    lchown(path, Some(STRANGER), None).unwrap();
}

/// `stats` in `folder`, with or without a connection of the caller's own.
fn stats(shell: &Shell, folder: &Path, is_connected: bool, more: &[&str]) -> Done {
    let arguments = [&["stats", "Mail"], more].concat();
    let mut command = if is_connected { shell.command(&arguments) } else { shell.bare(&arguments) };
    Done::of(command.current_dir(folder).output().unwrap())
}

fn is_refused(done: &Done, words: &[&str]) {
    done.says(2, &["readpast.toml was found, and is refused", "--config"]);
    done.says(2, words);
}

/// A folder with a configuration that works.
fn folder(shell: &Shell, name: &str) -> (std::path::PathBuf, std::path::PathBuf) {
    let folder = shell.folder.join(name);
    fs::create_dir(&folder).unwrap();
    mode(&folder, 0o700);
    let file = folder.join("readpast.toml");
    fs::write(&file, format!("connection = '{}'\n{}", shell.db.connection(), patience())).unwrap();
    mode(&file, 0o600);
    (folder, file)
}

#[test]
fn a_configuration_that_others_may_write_is_refused() {
    let shell = Shell::new();
    let (place, file) = folder(&shell, "open");
    stats(&shell, &place, false, &[]).says(0, &[]);
    for bits in [0o602, 0o666] {
        mode(&file, bits);
        let remedy = "chmod go-w readpast.toml";
        for is_connected in [false, true] {
            is_refused(&stats(&shell, &place, is_connected, &[]), &[&format!("mode {bits:03o}"), remedy]);
        }
    }
    mode(&file, 0o600);
    for bits in [0o707, 0o777] {
        mode(&place, bits);
        is_refused(&stats(&shell, &place, false, &[]), &["its folder .", &format!("mode {bits:03o}"), "chmod go-w ."]);
        // The caller has named it, and so has looked where it is.
        stats(&shell, &place, false, &["--config", "readpast.toml"]).says(0, &[]);
    }
    // As /tmp: nobody takes a file of ours away there.
    mode(&place, 0o1777);
    stats(&shell, &place, false, &[]).says(0, &[]);
}

/// Debian and Ubuntu give each user a group of the same name, and a umask that lets it write.
#[test]
fn a_group_that_has_the_user_alone_may_write_and_another_may_not() {
    let shell = Shell::new();
    let (place, file) = folder(&shell, "group");
    mode(&file, 0o620);
    mode(&place, 0o775);
    let name = |of: &str| Command::new("id").args([of, "-n"]).output().unwrap().stdout;
    if name("-g") == name("-u") {
        stats(&shell, &place, false, &["--allow-readable-secrets"]).says(0, &[]);
    }
    if !may_give_away() {
        return;
    }
    let of_others = Some(1);
    chown(&file, None, of_others).unwrap();
    is_refused(&stats(&shell, &place, false, &["--allow-readable-secrets"]), &["mode 620", "chmod go-w readpast.toml"]);
    mode(&file, 0o600);
    stats(&shell, &place, false, &[]).says(0, &[]);
    chown(&place, None, of_others).unwrap();
    is_refused(&stats(&shell, &place, false, &[]), &["its folder .", "mode 775", "chmod go-w ."]);
}

#[test]
fn a_configuration_of_a_stranger_is_refused() {
    if !may_give_away() {
        return;
    }
    let shell = Shell::new();
    let (place, file) = folder(&shell, "stranger");
    let driver = place.join("evil.so");
    let evil = format!("connection = 'Driver={};Server=x'\n", driver.display());
    for (text, is_connected) in [(evil.as_str(), false), ("schema = 'evil_schema'\n", true), ("worker = 'x'\n", true)] {
        fs::write(&file, text).unwrap();
        give_away(&file);
        let done = stats(&shell, &place, is_connected, &[]);
        is_refused(&done, &["belongs to another user (uid 65534)", "chown 0 readpast.toml"]);
        assert!(!done.err.contains("evil"), "{done:?}");
    }
    // In a sticky folder too, where anybody may put a file.
    mode(&place, 0o1777);
    is_refused(&stats(&shell, &place, true, &[]), &["uid 65534"]);
    mode(&place, 0o755);
    // The folder's owner can put any file of ours there.
    fs::write(&file, patience()).unwrap();
    lchown(&file, Some(0), None).unwrap();
    stats(&shell, &place, true, &[]).says(0, &[]);
    give_away(&place);
    is_refused(&stats(&shell, &place, true, &[]), &["its folder . belongs to another user"]);
    // Nor is what belongs to a stranger in the user's own folder.
    let home = shell.folder.join(".config/readpast/config.toml");
    give_away(&home);
    stats(&shell, &shell.folder, true, &[]).says(2, &["config.toml was found, and is refused", "uid 65534"]);
}

#[test]
fn a_link_is_as_trusted_as_all_that_it_leads_through() {
    let shell = Shell::new();
    let (target_folder, target) = folder(&shell, "target");
    let (place, file) = folder(&shell, "place");
    fs::remove_file(&file).unwrap();
    symlink(&target, &file).unwrap();
    stats(&shell, &place, false, &[]).says(0, &[]);
    mode(&target, 0o622);
    is_refused(&stats(&shell, &place, false, &[]), &["mode 622"]);
    mode(&target, 0o600);
    mode(&target_folder, 0o777);
    is_refused(&stats(&shell, &place, false, &[]), &["target (mode 777)"]);
    mode(&target_folder, 0o700);
    if may_give_away() {
        give_away(&file);
        is_refused(&stats(&shell, &place, false, &[]), &["the link readpast.toml belongs to another user"]);
    }
}

#[test]
fn a_connection_file_that_a_found_configuration_names_is_looked_at_as_well() {
    let shell = Shell::new();
    let (place, file) = folder(&shell, "names");
    let connection = shell.write("names/connection", &shell.db.connection());
    fs::write(&file, format!("connection_file = 'connection'\n{}", patience())).unwrap();
    mode(&connection, 0o600);
    stats(&shell, &place, false, &[]).says(0, &[]);
    for found in [true, false] {
        mode(&connection, 0o602);
        let more: &[&str] = if found { &[] } else { &["--config", "readpast.toml"] };
        let done = stats(&shell, &place, false, &[more, &["--allow-readable-secrets"]].concat());
        if found {
            done.says(2, &["connection was found, and is refused", "mode 602", "--connection-file"]);
        } else {
            done.says(0, &[]);
        }
    }
    if may_give_away() {
        mode(&connection, 0o600);
        give_away(&connection);
        stats(&shell, &place, false, &[]).says(2, &["connection was found, and is refused", "uid 65534"]);
    }
}

/// An empty or relative path would make a file of the current folder the user's own.
#[test]
fn a_folder_of_the_user_is_an_absolute_path() {
    let shell = Shell::new();
    for folder in ["readpast", ".config/readpast"] {
        fs::create_dir_all(shell.folder.join(folder)).unwrap();
        shell.write(&format!("{folder}/config.toml"), "schema = 'elsewhere'\n");
    }
    for (config, home) in [("", ""), (".", ".")] {
        let mut command = shell.command(&["stats", "Mail"]);
        command.env("XDG_CONFIG_HOME", config).env("HOME", home);
        Done::of(command.output().unwrap()).says(0, &[]);
    }
}

/// A name in the environment is as good as an option.
#[test]
fn a_connection_file_in_the_environment_may_lie_anywhere() {
    let shell = Shell::new();
    let (place, _) = folder(&shell, "shared");
    let connection = shell.write("shared/connection", &with(&shell, &[]));
    mode(&connection, 0o600);
    mode(&place, 0o777);
    let mut command = shell.bare(&["stats", "Mail"]);
    command.env("READPAST_CONNECTION_FILE", &connection);
    Done::of(command.output().unwrap()).says(0, &[]);
}
