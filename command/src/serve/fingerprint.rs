//! Errors that differ only in numbers and identifiers are one group.

/// The text with `#` in the place of each number, time, address and hexadecimal identifier.
pub fn fingerprint(text: &str) -> String {
    text.split_inclusive(|c: char| c.is_whitespace() || "\"'()[]{}<>,;=/".contains(c)).map(without_numbers).collect()
}

/// A word and the character that ends it. A UUID or an address is one number, and `r12` a name with a number in it.
fn without_numbers(piece: &str) -> String {
    let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
    let end = &piece[word.len()..];
    let has_digit = word.contains(|c: char| c.is_numeric());
    if has_digit && word.chars().all(|c| c.is_ascii_hexdigit() || "-:.+TZ".contains(c)) {
        return format!("#{end}");
    }
    let mut out = String::with_capacity(piece.len());
    for c in word.chars() {
        if !c.is_numeric() {
            out.push(c);
        } else if !out.ends_with('#') {
            out.push('#');
        }
    }
    out + end
}

/// The longest part of a fingerprint that stands in each text of its group: what a search can look for.
pub fn common(fingerprint: &str) -> &str {
    fingerprint.split('#').max_by_key(|part| part.chars().count()).unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_identifiers_make_no_difference() {
        for (text, expected) in [
            ("550 no such mailbox", "# no such mailbox"),
            ("order 17 of r12 failed", "order # of r# failed"),
            ("id 6f9619ff-8b86-d011-b42d-00cf4fc964ff is taken", "id # is taken"),
            ("at 2026-11-21T08:30:00.123Z it ended.", "at # it ended."),
            ("10.0.0.7:5432 refused (exit status 1)", "# refused (exit status #)"),
            ("boom 100%", "boom #%"),
            ("a bad face", "a bad face"),
            ("défaut ⁇ 3", "défaut ⁇ #"),
            ("", ""),
        ] {
            assert_eq!(fingerprint(text), expected, "{text}");
        }
    }

    #[test]
    fn the_common_part_stands_in_each_text() {
        assert_eq!(common("order # of r# failed"), "failed");
        assert_eq!(common("# no such mailbox"), "no such mailbox");
        assert_eq!(common("#"), "");
    }
}
