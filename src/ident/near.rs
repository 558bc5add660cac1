//! Finds the nearest name: an unknown name is often a misspelt one.

/// The most bytes of a text to compare; longer ones match no name, and comparing takes the product of the two lengths.
const MOST_BYTES: usize = 1024;

/// The name among `names` that is most like `wanted`; `None` when none is like it at all.
pub(crate) fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if wanted.len() > MOST_BYTES {
        return None;
    }
    let bare = |name: &str| name.replace(['_', '.', ' ', '"'], "").to_lowercase();
    let wanted = bare(wanted);
    let most = (wanted.chars().count() / 3).clamp(1, 3);
    names
        .into_iter()
        .map(|name| (distance(&wanted, &bare(name)), name))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, name)| name)
}

/// The nearest name, as a question to put after `wanted` in a message; empty when none is like it.
pub(crate) fn did_you_mean<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(wanted, names).map_or_else(String::new, |name| format!(" (did you mean {name:?}?)"))
}

/// How many characters must be added, left out or changed to turn one into the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_recognized() {
        let names = ["in_process", "start_date", "end_date", "id"];
        assert_eq!(nearest("InProcess", names), Some("in_process"));
        assert_eq!(nearest("strat_date", names), Some("start_date"));
        assert_eq!(nearest("ix", names), Some("id"));
        assert_eq!(nearest("Recipient", names), None);
        assert_eq!(did_you_mean("end_dat", names), " (did you mean \"end_date\"?)");
        assert_eq!(did_you_mean("Recipient", names), "");
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(nearest(&format!("id{}", ".".repeat(MOST_BYTES)), names), None);
    }
}
