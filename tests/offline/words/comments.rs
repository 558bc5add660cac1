//! The comments of a file in any of the repository's languages, and the names of its tests.

/// A comment, a test's name in words, or a line of the changelog.
pub struct Text {
    pub line: usize,
    pub text: String,
}

/// How a language writes comments: to the end of a line, and between two marks.
struct Marks {
    line: &'static [&'static str],
    block: &'static [(&'static str, &'static str)],
}

fn marks(path: &str, text: &str) -> Option<Marks> {
    const SLASHES: [&str; 13] = ["rs", "c", "h", "cc", "cpp", "hpp", "cs", "go", "java", "js", "mjs", "in", "mod"];
    const HASHES: [&str; 8] = ["sh", "mk", "awk", "toml", "yml", "yaml", "cfg", "supp"];
    let name = path.rsplit('/').next().unwrap();
    let ending = name.rsplit_once('.').map_or(name, |(_, ending)| ending);
    Some(match ending {
        "sql" => Marks { line: &["--"], block: &[("/*", "*/"), ("{#", "#}")] },
        "py" => Marks { line: &["#"], block: &[("\"\"\"", "\"\"\"")] },
        _ if SLASHES.contains(&ending) => Marks { line: &["//"], block: &[("/*", "*/")] },
        _ if HASHES.contains(&ending) || name == "Makefile" || text.starts_with("#!") => {
            Marks { line: &["#"], block: &[] }
        }
        _ => return None,
    })
}

pub fn texts(path: &str, text: &str) -> Vec<Text> {
    if path == "CHANGELOG.md" {
        let lines = text.lines().enumerate().filter_map(|(at, line)| Some((at, line.trim().strip_prefix("- ")?)));
        return lines.map(|(at, line)| Text { line: at + 1, text: line.to_owned() }).collect();
    }
    let Some(marks) = marks(path, text) else { return Vec::new() };
    let mut found = comments(&marks, text);
    found.extend(tests(path, text));
    found
}

/// Comments in lines that follow each other are one.
fn comments(marks: &Marks, text: &str) -> Vec<Text> {
    let mut found: Vec<Text> = Vec::new();
    let (mut within, mut last) = (None, 0);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(end) = within {
            let comment = &mut found.last_mut().unwrap().text;
            comment.push_str(&format!(" {}", plain(line.split(end).next().unwrap())));
            within = Some(end).filter(|end| !line.contains(end));
            continue;
        }
        if line.starts_with("#!") {
            continue;
        }
        if let Some(rest) = marks.line.iter().find_map(|mark| line.strip_prefix(mark)) {
            if last + 1 == number && last > 0 && !is_part(rest) {
                found.last_mut().unwrap().text.push_str(&format!(" {}", plain(rest)));
            } else {
                found.push(Text { line: number, text: plain(rest) });
            }
            last = number;
            continue;
        }
        let block = marks.block.iter().find_map(|(begin, end)| {
            let (before, rest) = line.split_once(begin)?;
            (before.is_empty() || is_code(before)).then_some((rest, *end))
        });
        let behind = marks.line.iter().find_map(|mark| {
            let (before, rest) = line.split_once(&format!(" {mark} "))?;
            is_code(before).then_some(rest)
        });
        if let Some((rest, end)) = block {
            found.push(Text { line: number, text: plain(rest.split(end).next().unwrap()) });
            within = Some(end).filter(|end| !rest.contains(end));
        } else if let Some(rest) = behind {
            found.push(Text { line: number, text: plain(rest) });
        }
    }
    found
}

/// Whether a line begins a part of its own in C#'s documentation: a parameter, the result, an exception.
fn is_part(rest: &str) -> bool {
    let rest = rest.trim_start_matches(['/', ' ']);
    ["<param ", "<returns>", "<exception ", "<typeparam ", "<remarks>"].iter().any(|tag| rest.starts_with(tag))
}

/// Whether a comment may begin after this part of a line: it stands in no text.
fn is_code(before: &str) -> bool {
    ['"', '\'', '`'].iter().all(|quote| before.matches(*quote).count() % 2 == 0)
}

/// A line of a comment without its marks and the tags of C#.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut is_tag = false;
    for c in line.trim_matches(['/', '!', '*', '#', '-', ' ']).chars() {
        is_tag = (is_tag || c == '<') && c != '>';
        if !is_tag && c != '>' {
            out.push(c);
        }
    }
    out
}

/// The names of tests, in words: `fn what_is_it`, `def test_what_is_it`, `func TestWhatIsIt`, `public void WhatIsIt`.
fn tests<'a>(path: &'a str, text: &'a str) -> impl Iterator<Item = Text> + 'a {
    let mut is_test = false;
    (1..).zip(text.lines()).filter_map(move |(line, code)| {
        let code = code.trim();
        if ["#[test]", "#[tokio::test", "[Fact", "[Theory", "[Test", "@Test"].iter().any(|mark| code.starts_with(mark))
        {
            is_test = true;
            return None;
        }
        let name = if let Some(body) = code.strip_prefix("(\"").filter(|_| path.starts_with("tests/capability")) {
            // A body in its list: `("lease::what_is_it", what_is_it)`.
            body.split_once("::")?.1.split('"').next()?
        } else if path.ends_with(".py") {
            code.trim_start_matches("async ").strip_prefix("def test_")?
        } else if path.ends_with(".go") {
            code.strip_prefix("func Test")?
        } else if is_test && (code.contains("fn ") || code.starts_with("public ")) {
            is_test = false;
            code.split('(').next()?.rsplit(' ').next()?
        } else {
            return None;
        };
        Some(Text { line, text: in_words(name.split('(').next()?) })
    })
}

/// `WhatIsIt` and `what_is_it` as `what is it`.
fn in_words(name: &str) -> String {
    name.chars().fold(String::new(), |mut words, c| {
        if c.is_uppercase() || c == '_' {
            words.push(' ');
        }
        words.extend(c.to_lowercase().filter(|c| *c != '_'));
        words
    })
}
