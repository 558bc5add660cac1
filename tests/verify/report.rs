//! The report: one file that its reader can send on. It holds no connection string and no data but our own.

use readpast::item::{Rows, Value};
use std::fmt::{Display, Write as _};
use std::{fs, io};

#[derive(Default)]
pub struct Report {
    text: String,
    /// Facts that are not as they should be.
    deviations: Vec<String>,
    /// Facts that this server or login does not let us look at.
    unseen: Vec<String>,
}

impl Report {
    pub fn chapter(&mut self, title: &str) {
        println!("{title}");
        let _ = write!(self.text, "\n## {title}\n\n");
    }

    pub fn line(&mut self, line: impl Display) {
        let _ = writeln!(self.text, "{line}");
    }

    /// A line that says whether something is as it should be.
    pub fn expect(&mut self, is_so: bool, line: impl Display) {
        let line = line.to_string();
        self.line(format!("- {} {line}", if is_so { "ok:" } else { "**NOT SO**:" }));
        if !is_so {
            self.deviations.push(line);
        }
    }

    /// A fact that could not be looked at is reported, and is no failure.
    pub fn unseen(&mut self, what: &str, why: impl Display) {
        self.line(format!("- not to be had: {what}: {why}"));
        self.unseen.push(what.to_owned());
    }

    pub fn block(&mut self, text: &str) {
        let _ = writeln!(self.text, "```\n{text}\n```");
    }

    pub fn rows(&mut self, rows: &Rows, columns: usize) {
        for row in 0..rows.len() {
            let cells: Vec<_> = (0..columns).map(|column| cell(rows, row, column)).collect();
            self.line(format!("- {}", cells.join(" | ")));
        }
    }

    /// Writes it; says whether all is as it should be.
    pub fn write(&self, path: &str) -> io::Result<bool> {
        let list = |items: &[String], none: &str| match items {
            [] => format!("- {none}\n"),
            items => items.iter().map(|item| format!("- {item}\n")).collect(),
        };
        let head = format!(
            "# readpast {} on a real SQL Server\n\nNot as it should be:\n\n{}\nNot to be had on this server:\n\n{}",
            env!("CARGO_PKG_VERSION"),
            list(&self.deviations, "nothing"),
            list(&self.unseen, "nothing")
        );
        fs::write(path, format!("{head}{}", self.text))?;
        Ok(self.deviations.is_empty())
    }
}

pub fn cell(rows: &Rows, row: usize, column: usize) -> String {
    match rows.value(row, column) {
        Value::Text(text) => text.to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Null => String::new(),
        other => format!("{other:?}"),
    }
}
