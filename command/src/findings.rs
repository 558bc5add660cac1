//! Findings as text and as JSON.

use crate::failure::Result;
use crate::output::{Output, note_lines};
use crate::printable::one_line;
use readpast::doctor::{Finding, Severity};

/// Prints findings, each with its remedy below it.
pub fn print(findings: &[Finding], out: &Output) -> Result<()> {
    findings.iter().try_for_each(|finding| out.text(&format!("{}\n", shown(finding))))
}

/// The same on standard error.
pub fn note_all(findings: &[Finding]) {
    findings.iter().for_each(|finding| note_lines(&shown(finding)));
}

/// A finding, with its remedy below it.
pub fn shown(finding: &Finding) -> String {
    let what = one_line(&format!("{}: {}", finding.object, finding.what));
    let line = format!("{:<8}{:<12}{what}", finding.severity.as_str(), finding.check);
    if finding.remedy.is_empty() {
        return line;
    }
    format!("{line}\n{:20}-> {}", "", one_line(&finding.remedy))
}

/// How many have this severity.
pub fn count(findings: &[Finding], severity: Severity) -> usize {
    findings.iter().filter(|finding| finding.severity == severity).count()
}
