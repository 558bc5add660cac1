//! Servers that cannot write.

use super::assert_says;
use readpast::error::ErrorKind;
use readpast::item::Action;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use support::database::as_on_a_standby;
use support::folder::folder;
use support::scratch::{Scratch, administer, all, item};

/// A default of read-only does not disturb: the session sets it off.
#[test]
fn a_database_that_is_read_only_by_default_is_written_all_the_same() {
    let scratch = Scratch::new();
    administer(&format!("ALTER DATABASE {} SET default_transaction_read_only = on", scratch.name));
    scratch.open(&[]).enqueue(&[item("a")], None).unwrap();
}

/// A standby, on which the queue can be opened but not used: each function runs as if there.
#[test]
fn a_server_that_is_read_only() {
    let scratch = Scratch::new();
    for function in ["add_job_set_trx", "next_job_set_trx"] {
        scratch.run(&as_on_a_standby(&format!("readpast.{function}")));
    }
    let queue = scratch.open(&[]);
    let words = ["read-only transaction", "writable"];
    assert_says(queue.enqueue(&[item("a")], None), ErrorKind::Storage, &words);
    assert_says(queue.claim(1, Duration::ZERO), ErrorKind::Storage, &words);
}

/// A file system of one megabyte; gone with it.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where one cannot be made: that takes root, and a container that lets root mount.
    fn new(owner: &str) -> Option<Self> {
        let path = folder("small-disk");
        if !run("mount", &["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs"], &path) {
            std::fs::remove_dir(&path).unwrap();
            return None;
        }
        let disk = Self(path);
        assert!(run("chown", &[&format!("{owner}:")], &disk.0));
        Some(disk)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if run("umount", &[], &self.0) {
            std::fs::remove_dir(&self.0).unwrap();
        }
    }
}

/// Runs a program on a path; says whether it succeeded.
fn run(program: &str, arguments: &[&str], path: &Path) -> bool {
    Command::new(program).args(arguments).arg(path).status().is_ok_and(|status| status.success())
}

/// Where no small disk can be made there is still what SQL Server says of a full one, in `faults`.
#[test]
fn a_disk_that_is_full() {
    let owner = std::env::var("READPAST_PG_USER").ok();
    let Some(disk) = owner.and_then(|owner| SmallDisk::new(&owner)) else {
        eprintln!("not run: this needs root, and the cluster of .ci/with_cluster.sh on this machine");
        return;
    };
    let scratch = Scratch::new();
    let tablespace = format!("{}_small", scratch.name);
    administer(&format!("CREATE TABLESPACE {tablespace} LOCATION '{}'", disk.0.display()));
    scratch.run(&format!("ALTER TABLE readpast.job SET TABLESPACE {tablespace}"));
    let queue = scratch.open(&[]);
    queue.enqueue(&[item("first")], None).unwrap();

    // Digits without much of a pattern, which the server cannot compress away.
    let long: String = (0..50_000).map(|_| uuid::Uuid::now_v7().simple().to_string()).collect();
    let full = queue.enqueue(&vec![item(&long); 3], None);
    assert_says(full, ErrorKind::Storage, &["No space left on device", "make room"]);

    // All of it was rolled back, and what needs no room goes on.
    let batch = queue.claim(10, Duration::ZERO).unwrap();
    assert_eq!(batch.len(), 1);
    queue.settle(&all(&batch, Action::Complete), None).unwrap();
    drop((queue, scratch));
    administer(&format!("DROP TABLESPACE {tablespace}"));
}
