//! Lays rendered SQL out as a person would: short elements of a list side by side, and short statements in one line. The
//! templates keep one element a line, since most of these stand there under a condition.

/// The longest line that packing makes.
const WIDTH: usize = 140;

/// A line of SQL, as packing sees it.
struct SqlLine {
    indent: usize,
    text: String,
    /// Brackets that it opens and closes, in their order: `(`, `)`, C and E for CASE and END, `$` and N for dollar quotes.
    events: Vec<char>,
    /// Parentheses that it leaves open, and a CASE counts as one.
    depth: i32,
    /// Whether it is all code, and closes no parenthesis that it has not opened.
    whole: bool,
    code: bool,
    begins_in_code: bool,
    /// Whether it begins within a comment.
    in_comment: bool,
}

impl SqlLine {
    /// Moves the line. White space before the text of a comment is a part of that.
    fn move_by(&mut self, by: isize) {
        let text = self.text.trim_start();
        let indent = (self.text.len() - text.len()).saturating_add_signed(by);
        self.text = format!("{:indent$}{text}", "");
    }

    fn is_element(&self) -> bool {
        self.whole && self.depth == 0
    }

    fn fits(&self, more: usize) -> bool {
        self.indent + self.text.chars().count() + more <= WIDTH
    }

    fn join(&mut self, separator: &str, next: &str) {
        self.text.push_str(separator);
        self.text.push_str(next);
    }
}

/// The state of a reader of SQL at the end of a line.
#[derive(Clone, Copy, PartialEq)]
enum Within {
    Code,
    Comment,
    /// A literal or a quoted name, up to this character.
    Quoted(char),
}

/// Packs the lists of `text`; only white space between its words changes.
pub(super) fn pack(text: &str) -> String {
    let mut within = Within::Code;
    let mut lines: Vec<SqlLine> = text.lines().map(|line| read(line, &mut within)).collect();
    indent(&mut lines);
    // One blank line is enough.
    lines.dedup_by(|line, before| line.code && before.code && line.text.is_empty() && before.text.is_empty());
    loop {
        let before = lines.len();
        lines = beside(lines);
        lines = lifted(lines);
        if lines.len() == before {
            break;
        }
    }
    let lines: Vec<_> = lines.iter().map(|line| format!("{:indent$}{}", "", line.text, indent = line.indent)).collect();
    lines.join("\n") + if text.ends_with('\n') { "\n" } else { "" }
}

fn read(line: &str, within: &mut Within) -> SqlLine {
    let begins_in_code = *within == Within::Code;
    let in_comment = *within == Within::Comment;
    // White space within a literal or a comment stays as it is.
    let text = if begins_in_code { line.trim_start() } else { line };
    let mut code = begins_in_code;
    let mut depth = 0;
    let mut least = 0;
    let mut events = Vec::new();
    let mut word = String::new();
    let mut characters = text.chars().chain(std::iter::once(' ')).peekable();
    while let Some(character) = characters.next() {
        match *within {
            Within::Comment => {
                if character == '*' && characters.next_if_eq(&'/').is_some() {
                    *within = Within::Code;
                }
                continue;
            }
            Within::Quoted(end) => {
                // The end stands twice within: `[a]]b]`.
                if character == end && characters.next_if_eq(&end).is_none() {
                    *within = Within::Code;
                }
                continue;
            }
            Within::Code => {}
        }
        if character.is_alphanumeric() || "_@#$".contains(character) {
            word.push(character);
            continue;
        }
        let event = match (word.as_str(), character) {
            ("CASE", _) => Some('C'),
            ("END", _) => Some('E'),
            // The quotes of PostgreSQL around the text of a function; one with a name may be around another.
            ("$$", _) => Some('$'),
            (word, _) if word.len() > 1 && word.starts_with('$') && word.ends_with('$') => Some('N'),
            _ => None,
        };
        word.clear();
        for event in event.into_iter().chain(Some(character).filter(|character| "()".contains(*character))) {
            depth += match event {
                '(' | 'C' => 1,
                '$' | 'N' => 0,
                _ => -1,
            };
            least = least.min(depth);
            events.push(event);
        }
        match character {
            '\'' | '"' => *within = Within::Quoted(character),
            '[' => *within = Within::Quoted(']'),
            '/' if characters.next_if_eq(&'*').is_some() => {
                *within = Within::Comment;
                code = false;
            }
            '-' if characters.peek() == Some(&'-') => {
                code = false;
                break;
            }
            _ => {}
        }
    }
    code &= *within == Within::Code;
    SqlLine {
        indent: line.len() - text.len(),
        text: text.to_owned(),
        events,
        depth,
        whole: code && least == 0,
        code,
        begins_in_code,
        in_comment,
    }
}

/// Indents lines within a parenthesis or a CASE four places behind the line that opens it, and puts its end below that line's
/// beginning: parts of a template have the indents of their own file.
fn indent(lines: &mut [SqlLine]) {
    /// An open bracket: its character, the place where its line begins, and the shift of the lines within it.
    struct Open(char, usize, Option<isize>);
    let mut open: Vec<Open> = Vec::new();
    for line in lines {
        let closes = match open.last() {
            Some(Open('(', ..)) => line.text.starts_with(')'),
            Some(Open('C', ..)) => line.text.starts_with("END"),
            _ => false,
        };
        match open.last_mut() {
            // The rest of a comment moves with its first line; that of a literal is text.
            Some(Open(_, _, Some(by))) if line.in_comment => line.move_by(*by),
            _ if !line.begins_in_code || line.text.is_empty() => {}
            Some(Open(_, at, _)) if closes => line.indent = *at,
            Some(Open('(' | 'C', at, by)) => {
                let by = *by.get_or_insert(*at as isize + 4 - line.indent as isize);
                line.indent = line.indent.saturating_add_signed(by).max(*at + 4);
            }
            // A quoted body begins anew.
            _ => {}
        }
        for event in &line.events {
            match event {
                '$' | 'N' => match open.iter().rposition(|open| open.0 == *event) {
                    Some(quoted) => open.truncate(quoted),
                    None => open.push(Open(*event, line.indent, None)),
                },
                '(' | 'C' => open.push(Open(*event, line.indent, None)),
                ')' => {
                    if open.last().is_some_and(|open| open.0 == '(') {
                        open.pop();
                    }
                }
                _ => {
                    if open.last().is_some_and(|open| open.0 == 'C') {
                        open.pop();
                    }
                }
            }
        }
    }
}

/// Joins elements of a list that stand below one another.
fn beside(lines: Vec<SqlLine>) -> Vec<SqlLine> {
    let mut packed: Vec<SqlLine> = Vec::with_capacity(lines.len());
    let mut rest = lines.into_iter().peekable();
    while let Some(line) = rest.next() {
        let ends = line.text.ends_with(',') || rest.peek().is_none_or(|next| next.indent <= line.indent);
        match packed.last_mut() {
            Some(last)
                if (last.text.ends_with(',') || line.text.starts_with("AND "))
                    && last.indent == line.indent
                    && last.is_element()
                    && line.is_element()
                    && ends
                    && last.fits(1 + line.text.chars().count()) =>
            {
                last.join(" ", &line.text);
            }
            Some(last)
                if last.indent == line.indent && declares(last) && declares(&line) && last.fits(line.text.len()) =>
            {
                last.text.truncate(last.text.len() - 1);
                last.join(",", line.text.trim_start_matches("DECLARE"));
            }
            _ => packed.push(line),
        }
    }
    packed
}

/// Whether it declares variables without a value: one with a value may use another's, which a server has to know before.
fn declares(line: &SqlLine) -> bool {
    let text = &line.text;
    line.is_element()
        && text.starts_with("DECLARE @")
        && text.ends_with(';')
        && !text.contains('=')
        && !text.contains(" TABLE ")
}

/// Joins a line that stands alone between a head and its end, or below a head, to the head.
fn lifted(lines: Vec<SqlLine>) -> Vec<SqlLine> {
    let mut packed: Vec<SqlLine> = Vec::with_capacity(lines.len());
    let mut rest = lines.into_iter().peekable();
    while let Some(line) = rest.next() {
        let alone = rest.peek().is_none_or(|next| next.indent < line.indent);
        let Some(head) = packed.last_mut() else {
            packed.push(line);
            continue;
        };
        let below = head.code && head.indent < line.indent && line.is_element() && alone;
        if below && head.depth == 1 && head.text.ends_with('(') {
            let end = rest.next_if(|end| {
                end.code
                    && end.indent == head.indent
                    && end.depth == -1
                    && end.text.starts_with(')')
                    && head.fits(line.text.chars().count() + end.text.chars().count())
            });
            if let Some(end) = end {
                head.join("", &line.text);
                head.join("", &end.text);
                head.depth = 0;
                continue;
            }
        }
        let takes = takes_its_list(&head.text)
            || (line.text.starts_with("ON ") && is_join(&head.text))
            || (line.text.starts_with("WITH (") && (head.text.starts_with("FROM ") || is_join(&head.text)))
            || (head.text.starts_with("IF ") && head.is_element() && is_short_step(&line.text));
        let ends = rest.peek().is_none_or(|next| next.indent <= head.indent && next.text != "ELSE");
        if below && takes && ends && head.fits(1 + line.text.chars().count()) {
            head.join(" ", &line.text);
            continue;
        }
        packed.push(line);
    }
    packed
}

/// Whether a line begins a clause and has nothing else yet.
fn takes_its_list(text: &str) -> bool {
    let top = |rest: &str| rest.is_empty() || (rest.starts_with(" TOP (") && rest.ends_with(')'));
    matches!(text, "SET" | "WHERE" | "ON" | "RETURNING") || text.strip_prefix("SELECT").is_some_and(top)
}

/// Whether a statement is short enough to stand behind its condition.
fn is_short_step(text: &str) -> bool {
    text.ends_with(';') && ["SET ", "RETURN", "BREAK", "THROW", "ROLLBACK "].iter().any(|step| text.starts_with(step))
}

fn is_join(text: &str) -> bool {
    text.starts_with("INNER JOIN ") || text.starts_with("LEFT JOIN ") || text.starts_with(") AS ")
}

#[cfg(test)]
mod tests {
    use super::pack;

    #[test]
    fn short_elements_stand_side_by_side() {
        assert_eq!(pack("SELECT\n    a,\n    b\nFROM t\n"), "SELECT a, b\nFROM t\n");
        assert_eq!(pack("f (\n    a,\n    b\n) x"), "f (a, b) x");
        assert_eq!(pack("INNER JOIN t AS q\n    ON q.a = b\nWHERE\n    x"), "INNER JOIN t AS q ON q.a = b\nWHERE x");
        assert_eq!(
            pack("DECLARE @a int;\nDECLARE @b int;\nDECLARE @c int = 1;"),
            "DECLARE @a int, @b int;\nDECLARE @c int = 1;"
        );
        assert_eq!(pack("IF @a = 1\n    THROW 1, 'a', 1;\nSET @b = 1;"), "IF @a = 1 THROW 1, 'a', 1;\nSET @b = 1;");
        assert_eq!(
            pack("IF @a = 1\n    SET @b = 1;\nELSE\n    SET @b = 2;"),
            "IF @a = 1\n    SET @b = 1;\nELSE\n    SET @b = 2;"
        );
        assert_eq!(pack("WHERE\n    a = 1\n    AND b = 2\nORDER BY a"), "WHERE a = 1 AND b = 2\nORDER BY a");
        let wide = format!("SELECT\n    {},\n    b\n", "a".repeat(140));
        assert_eq!(pack(&wide), wide);
    }

    #[test]
    fn an_element_of_several_lines_stays_as_it_is() {
        for text in [
            "SELECT\n    a,\n    CASE\n        WHEN b THEN 1\n    END AS c,\n    d\nFROM t",
            "SELECT\n    a,\n    f(\n        x\n        + y\n    )",
            "SELECT\n    a,\n    b\n        AS c",
            "SELECT\n    a, /* why */\n    b",
            "SELECT\n    a,\n    -- why\n    b",
        ] {
            assert_eq!(pack(text), text);
        }
    }

    #[test]
    fn parts_stand_where_what_holds_them_stands() {
        let loose =
            "SELECT\n            CASE WHEN CASE\n    WHEN a\n        THEN b\nEND <= c THEN 1\n            END\nFROM t";
        let mended = "SELECT\n            CASE WHEN CASE\n                WHEN a\n                    THEN b\n            END <= c THEN 1\n            END\nFROM t";
        assert_eq!(pack(loose), mended);
        assert_eq!(
            pack("f (\n        a /* x\n        y */\n      + b\n        )"),
            "f (\n    a /* x\n    y */\n    + b\n)"
        );
        assert_eq!(pack("f (\n        N'x\n  y'\n)"), "f (\n    N'x\n  y'\n)");
        assert_eq!(pack("f(N'{\n  }');\nEND IF;"), "f(N'{\n  }');\nEND IF;");
    }

    #[test]
    fn the_text_of_a_function_begins_anew() {
        let text = "EXECUTE REPLACE($made$\nCREATE FUNCTION f()\nAS $$\nBEGIN\nEND;\n$$;\n$made$, 'a', 'b');";
        assert_eq!(pack(text), text);
    }

    #[test]
    fn text_and_comments_keep_every_blank() {
        for text in [
            "SET @a = N'{\n    1,\n    2\n}';",
            "/*\n    a,\n    b\n*/",
            "x = [a\n    (b,\n    c],",
            "N'it''s (',\n  b",
            "[a]]'] = N'\n    1,\n    2,\n    3\n'",
        ] {
            assert_eq!(pack(text), text);
        }
    }
}
