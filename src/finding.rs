//! A finding of a check of a database, for a person: object, fact and remedy.

use std::fmt;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// As it should be, or worth knowing.
    Ok,
    /// It works, but less well or less safely than it could.
    Warning,
    /// It does not work.
    Error,
}

impl Severity {
    /// `ok`, `warning` or `error`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The name of the check, in a word or two that stay the same from version to version: `column`, `index`, `clock`.
    pub check: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// Its object: a table, a column, a procedure, the server.
    pub object: String,
    /// The fact.
    pub what: String,
    /// The remedy; empty where there is none to take.
    pub remedy: String,
}

impl Finding {
    /// A finding in order.
    pub(crate) fn ok(check: &'static str, object: impl Into<String>, what: impl Into<String>) -> Self {
        Self { check, severity: Severity::Ok, object: object.into(), what: what.into(), remedy: String::new() }
    }

    /// A warning.
    pub(crate) fn warning(
        check: &'static str,
        object: impl Into<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let severity = Severity::Warning;
        Self { check, severity, object: object.into(), what: what.into(), remedy: remedy.into() }
    }

    /// An error.
    pub(crate) fn error(
        check: &'static str,
        object: impl Into<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Error, ..Self::warning(check, object, what, remedy) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}] {}: {}", self.severity, self.check, self.object, self.what)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}
