//! The table of scenario and language.

use std::fmt::Write;

/// The outcome of one scenario in one language.
#[derive(Debug, Clone)]
pub struct Cell {
    pub scenario: String,
    pub place: &'static str,
    pub language: String,
    /// `Err` says what went wrong.
    pub result: Result<(), String>,
}

/// One table for each place: a row for each scenario, a column for each language, and their counts below.
pub fn render(cells: &[Cell], languages: &[String], places: &[(&'static str, &str)]) -> String {
    let mut out = String::new();
    for (place, title) in places {
        let here: Vec<_> = cells.iter().filter(|cell| cell.place == *place).collect();
        if here.is_empty() {
            continue;
        }
        let mut scenarios: Vec<&str> = Vec::new();
        for cell in &here {
            if !scenarios.contains(&cell.scenario.as_str()) {
                scenarios.push(&cell.scenario);
            }
        }
        let first = scenarios.iter().map(|name| name.len()).max().unwrap_or(0).max(title.len());
        let rows = scenarios.iter().map(|scenario| {
            let columns = languages.iter().map(|language| {
                let cell = here.iter().find(|cell| cell.scenario == *scenario && cell.language == *language);
                cell.map_or("-", |cell| if cell.result.is_ok() { "ok" } else { "FAILED" })
            });
            (*scenario, columns.map(str::to_owned).collect::<Vec<_>>())
        });
        let counts = languages.iter().map(|language| {
            let column: Vec<_> = here.iter().filter(|cell| cell.language == *language).collect();
            format!("{}/{}", column.iter().filter(|cell| cell.result.is_ok()).count(), column.len())
        });
        let rows: Vec<_> = std::iter::once((*title, languages.to_vec()))
            .chain(rows)
            .chain(std::iter::once(("", counts.collect())))
            .collect();
        for (name, columns) in rows {
            let mut line = format!("{name:first$}");
            for (index, column) in columns.iter().enumerate() {
                let width = languages[index].len().max(7);
                write!(line, "  {column:width$}").expect("text takes all");
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out.push('\n');
    }
    out
}
