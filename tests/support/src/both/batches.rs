//! Scripts of others, as SQL Server's own tools cut them.

/// The statements of a script: what stands between lines that say GO.
pub fn statements(script: &str) -> Vec<String> {
    let lines: Vec<_> = script.lines().collect();
    let batches = lines.split(|line| line.trim_end() == "GO").map(|lines| lines.join("\n").trim().to_owned());
    batches.filter(|batch| !batch.is_empty()).collect()
}
