//! What checks have found, as text and as JSON.

use crate::failure::Result;
use crate::output::Output;
use crate::printable::printable;
use readpast::doctor::{Finding, Severity};
use serde_json::{Value, json};

/// Prints them, each with its remedy below it.
pub fn print(findings: &[Finding], out: &Output) -> Result<()> {
    for finding in findings {
        let what = printable(&format!("{}: {}", finding.object, finding.what));
        out.text(&format!("{:<8}{:<12}{what}\n", finding.severity.as_str(), finding.check))?;
        if !finding.remedy.is_empty() {
            out.text(&format!("{:20}-> {}\n", "", printable(&finding.remedy)))?;
        }
    }
    Ok(())
}

/// The same for programs.
pub fn documents(findings: &[Finding]) -> Vec<Value> {
    let document = |finding: &Finding| {
        json!({
            "check": finding.check,
            "severity": finding.severity.as_str(),
            "object": finding.object,
            "what": finding.what,
            "remedy": finding.remedy,
        })
    };
    findings.iter().map(document).collect()
}

/// How many of them matter so much.
pub fn count(findings: &[Finding], severity: Severity) -> usize {
    findings.iter().filter(|finding| finding.severity == severity).count()
}
