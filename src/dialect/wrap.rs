//! Keeps rendered lines within the length that the SQL is linted for: how long a line gets depends on other people's names.

/// The longest line.
const WIDTH: usize = 120;

/// Before these words a line is broken rather than elsewhere.
const WORDS: [&str; 8] = ["WHEN", "THEN", "ELSE", "AND", "OR", "FROM", "WHERE", "AS"];

/// `script` with every longer line broken at spaces outside of names and texts.
pub(super) fn wrapped(script: &str) -> String {
    let mut out = String::with_capacity(script.len() + script.len() / 32);
    let mut inside = Inside::Code;
    for line in script.split_inclusive('\n') {
        inside = wrap(line, inside, &mut out);
    }
    out
}

/// What a character belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    Comment,
    /// A name or a text, up to this character.
    Quoted(char),
}

/// Appends `line`, which begins `inside` something, and says inside what it ends.
fn wrap(line: &str, mut inside: Inside, out: &mut String) -> Inside {
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let (mut start, mut width, mut before) = (0, 0, ' ');
    // The last places for a break, with the width up to there: a good one, and one at all.
    let (mut good, mut possible) = (None, None);
    for (at, c) in line.char_indices() {
        let mut counted = 1;
        if c == ' ' && at > indent && !matches!(inside, Inside::Quoted(_)) {
            let next = line[at + 1..].split([' ', '(']).next().unwrap_or_default();
            possible = Some((at, width));
            if inside == Inside::Comment || before == ',' || WORDS.contains(&next) {
                good = possible;
            }
        }
        if let (true, Some((place, up_to))) = (width >= WIDTH && c != '\n', good.or(possible)) {
            out.push_str(&line[start..place]);
            out.push('\n');
            let indent = if inside == Inside::Comment { indent } else { indent + 4 };
            out.extend(std::iter::repeat_n(' ', indent));
            start = place + 1;
            // The space at the break is in neither line; it may be the character at hand.
            width = indent + width - up_to;
            counted = 0;
            (good, possible) = (None, None);
        }
        inside = match (inside, c) {
            (Inside::Code, '\'' | '"') => Inside::Quoted(c),
            (Inside::Code, '[') => Inside::Quoted(']'),
            (Inside::Quoted(end), c) if c == end => Inside::Code,
            (Inside::Code, '*') if before == '/' => Inside::Comment,
            (Inside::Comment, '/') if before == '*' => Inside::Code,
            (state, _) => state,
        };
        before = c;
        width += counted;
    }
    out.push_str(&line[start..]);
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_outside_of_names_and_texts() {
        let name = format!("[{}]", "a b ".repeat(20));
        let text = format!("'{}'", "it''s, AND ".repeat(6));
        let script = format!("/* {} */\n    SELECT {name}, {text}, {name} AS x\nFROM t;\n", "word ".repeat(40));
        let wrapped = wrapped(&script);
        assert!(wrapped.contains(&name) && wrapped.contains(&text));
        assert!(wrapped.lines().all(|line| line.chars().count() <= WIDTH), "{wrapped}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&wrapped), words(&script));
        assert_eq!(super::wrapped(&wrapped), wrapped);
    }

    #[test]
    fn a_line_may_be_broken_where_it_gets_too_long() {
        let script = format!("/*\n{} {}\n*/\n", "a".repeat(WIDTH), "b".repeat(9));
        assert_eq!(wrapped(&script), format!("/*\n{}\n{}\n*/\n", "a".repeat(WIDTH), "b".repeat(9)));
    }
}
