//! The cost of a call through the C ABI that needs no database: reading a claimed batch. Measured by a C program
//! (`c_abi.c`) that is linked to the shared object, so that nothing is inlined that a caller in C would not get inlined.
//!
//! Why: bindings call these functions for every column of every item. A handle is a number that is looked up and checked
//! at each call, and that must stay below 100 ns.
//!
//! How to read it: nanoseconds a call, the median of 201 rounds of 20,000 calls. There is a database only to claim from.

mod common;

use common::{Server, verdict};
use std::process::Command;

fn main() {
    let program = common::compile("c_abi", &["-lreadpast"]);
    Server::each("c abi", |server| {
        server.install("Bench");
        server.fill("Bench", "Pending", 2000, 100);
        let output = Command::new(&program).args([server.scratch(), "Bench"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let (name, time) = line.split_once(' ').unwrap();
            verdict(name, &format!("{time} ns"), "< 100 ns", time.parse::<f64>().unwrap() < 100.0);
        }
    });
}
