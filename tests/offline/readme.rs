//! The tables and programs on the pages are made from what they describe. `READPAST_UPDATE_README=1` writes them anew.

use crate::tree::{fenced, root};
use readpast::{
    config::{SETTINGS, SettingKind},
    description::{QueueSpec, Storage},
};
use std::{env, fmt::Write as _, fs, path::PathBuf};

fn settings() -> String {
    let mut out = String::from("| key | values | default | meaning |\n|---|---|---|---|\n");
    for setting in &SETTINGS {
        let default = match (setting.kind, setting.default) {
            (SettingKind::ConnectionString, _) if setting.key == "connection" => "(required)".to_owned(),
            (_, "") => "(empty)".to_owned(),
            (_, value) => format!("`{value}`"),
        };
        writeln!(out, "| `{}` | {} | {default} | {} |", setting.key, setting.range(), setting.meaning).unwrap();
    }
    out
}

/// From the header: the comment before each status.
fn statuses() -> String {
    let header = fs::read_to_string(root("include/readpast.h")).unwrap();
    let (header, _) = header.split_once("READPAST_VERSION_").expect("statuses come first");
    let mut out = String::from("| number | status | meaning |\n|---|---|---|\n");
    let mut comment = Vec::new();
    for line in header.lines() {
        if let Some(text) = line.strip_prefix("/// ") {
            comment.push(text);
        } else if let Some(definition) = line.strip_prefix("#define READPAST_") {
            let (name, number) = definition.split_once(' ').unwrap_or_default();
            if number.parse::<i32>().is_ok() {
                writeln!(out, "| {number} | `{name}` | {} |", comment.join(" ")).unwrap();
            }
            comment.clear();
        } else if !line.starts_with("///") {
            comment.clear();
        }
    }
    assert!(out.lines().count() > 25, "the statuses should be found");
    out
}

/// The metrics of a process, whatever queues it has.
fn metrics() -> String {
    let mut out = String::from("| name | kind | meaning |\n|---|---|---|\n");
    for family in readpast::metrics().families() {
        writeln!(out, "| `{}` | {} | {} |", family.name(), family.kind().as_str(), family.help()).unwrap();
    }
    out
}

/// The questions to a queue, each with its arguments and its answer.
fn questions() -> String {
    let mut out = String::new();
    for question in readpast::ask::QUESTIONS {
        writeln!(out, "\n## {}\n\n{}\n", question.name, question.meaning).unwrap();
        if !question.arguments.is_empty() {
            out += "| argument | kind | meaning |\n|---|---|---|\n";
        }
        question.arguments.iter().for_each(|field| out += &row(field, "required"));
        out += if question.arguments.is_empty() { "It takes no arguments.\n\n" } else { "\n" };
        out += "| answer | kind | meaning |\n|---|---|---|\n";
        question.answer.iter().copied().flatten().for_each(|field| out += &row(field, "always"));
    }
    out += "\n## list\n\nThe queues of a schema (`readpast_list`, `readpast list --json`): an array, or a line each, of objects.\n\n";
    out += "| member | kind | meaning |\n|---|---|---|\n";
    readpast::ask::LISTED.iter().for_each(|field| out += &row(field, "always"));
    out + "\n"
}

fn row(field: &readpast::ask::Field, needed: &str) -> String {
    let needed = if field.is_needed { format!(", {needed}") } else { String::new() };
    format!("| `{}` | {}{needed} | {} |\n", field.path, field.kind.as_str(), field.meaning)
}

/// With which the page of a language begins: how its code blocks are marked, and how long it may be.
const FIRST: [(&str, &str, usize); 6] = [
    ("bindings/c/examples/first_queue.c", "c", 42),
    ("bindings/cpp/examples/first_queue.cpp", "cpp", 20),
    ("bindings/csharp/examples/first_queue.cs", "csharp", 24),
    ("bindings/python/examples/first_queue.py", "python", 12),
    ("bindings/go/examples/first_queue/main.go", "go", 46),
    ("bindings/rust/examples/first_queue.rs", "rust", 24),
];

fn program(path: &str, language: &str, longest: usize) -> String {
    let source = fs::read_to_string(root(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(source.lines().count() <= longest, "{path}: it takes {longest} lines at most");
    format!("```{language}\n{source}```\n")
}

/// The README of the language that a path lies in.
fn page_of(path: &str) -> String {
    format!("{}/README.md", path.split("/examples/").next().unwrap())
}

/// A worker over somebody else's driver, as `tests/callers` runs it.
const CALLERS: [(&str, &str); 5] = [
    ("tests/callers/psycopg_transfer.py", "python"),
    ("tests/callers/pgx/transfer.go", "go"),
    ("tests/callers/jdbc/Transfer.java", "java"),
    ("tests/callers/node/transfer.js", "js"),
    ("tests/callers/pyodbc_transfer.py", "python"),
];

#[test]
fn copies_on_the_pages_are_up_to_date() {
    let mut copies: Vec<_> = [("settings", settings()), ("statuses", statuses()), ("metrics", metrics())]
        .map(|(name, text)| ("docs/reference.md".to_owned(), name.to_owned(), text))
        .into();
    let keys = readpast::description::reference();
    copies.extend(keys.into_iter().map(|(name, text)| ("sql/SPEC.md".to_owned(), name.to_owned(), text)));
    copies.push(("docs/ask.md".to_owned(), "questions".to_owned(), questions()));
    let (python, language, longest) = FIRST[3];
    copies.push(("README.md".to_owned(), python.to_owned(), program(python, language, longest)));
    copies.extend(
        FIRST.map(|(path, language, longest)| (page_of(path), path.to_owned(), program(path, language, longest))),
    );
    for (typed, language) in
        [("bindings/python/examples/typed.py", "python"), ("bindings/cpp/examples/typed.cpp", "cpp")]
    {
        copies.push((page_of(typed), typed.to_owned(), program(typed, language, 46)));
    }
    let callers = CALLERS.map(|(path, language)| (path.to_owned(), program(path, language, 60)));
    copies.extend(callers.map(|(path, text)| ("docs/developer.md".to_owned(), path, text)));
    for (page, path, language) in [
        ("python", "tests/callers/shop.py", "python"),
        ("python", "tests/callers/django_shop/checkout.py", "python"),
        ("python", "bindings/python/data/src/readpast_data/django/task.toml", "toml"),
        ("java", "tests/callers/jdbc/Shop.java", "java"),
    ] {
        let text = program(path, language, 26);
        copies.push((format!("bindings/{page}/data/README.md"), path.to_owned(), text));
    }
    for (server, language) in [("sql_server", "tsql"), ("postgres", "sql")] {
        let path = format!("tests/documents/queue_four.{server}.sql");
        let text = program(&path, language, 80);
        copies.push(("sql/ADOPT.md".to_owned(), path, text));
    }
    for (page, name, text) in copies {
        let before = fs::read_to_string(root(&page)).unwrap();
        let begin = format!("<!-- {name} -->\n");
        let (head, rest) = before.split_once(&begin).unwrap_or_else(|| panic!("{page}: no {begin}"));
        let (_, tail) = rest.split_once("<!-- end -->").unwrap();
        let after = format!("{head}{begin}{text}<!-- end -->{tail}");
        if env::var_os("READPAST_UPDATE_README").is_some() {
            fs::write(root(&page), after).unwrap();
        } else {
            assert!(
                before == after,
                "{page} is out of date: READPAST_UPDATE_README=1 cargo test --test offline readme::"
            );
        }
    }
}

/// The pages that people read.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<_> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "bindings/README.md"]
            .iter()
            .chain(&["tests/conformance/README.md"])
            .map(|page| root(page))
            .collect();
    pages.extend(FIRST.map(|(path, ..)| root(&page_of(path))));
    for folder in ["docs", "sql"] {
        let files = fs::read_dir(root(folder)).unwrap().map(|file| file.unwrap().path());
        pages.extend(files.filter(|file| file.extension().is_some_and(|extension| extension == "md")));
    }
    pages
}

/// The lines of a page, without those of its code blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut within = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        within ^= is_fence;
        !within && !is_fence
    })
}

/// The places of a page that a link can name: its headings, as hosts of repositories make anchors of them, and `<a id>`.
fn anchors(page: &str) -> Vec<String> {
    let headings = prose(page).filter(|line| line.starts_with('#'));
    let slug = |heading: &str| {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        text.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c)).collect::<String>().replace(' ', "-")
    };
    let named = page.split("<a id=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
    headings.map(slug).chain(named).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let links = prose(&text).flat_map(|line| line.split("](").skip(1));
        for link in links.map(|rest| rest.split(')').next().unwrap()) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let page = page.display();
            count += 1;
            if link.starts_with("http") {
                continue;
            }
            assert!(target.exists(), "{page}: {link}");
            if !anchor.is_empty() && path.ends_with(".md") | path.is_empty() {
                let there = anchors(&fs::read_to_string(&target).unwrap());
                assert!(there.iter().any(|name| name == anchor), "{page}: {link}");
            }
        }
    }
    assert!(count > 100, "the links should be found");
}

#[test]
fn the_readme_can_be_read_to_its_end() {
    let lines = fs::read_to_string(root("README.md")).unwrap().lines().count();
    assert!(lines <= 160, "README.md has {lines} lines; what is looked up belongs to docs/");
}

/// Folders and files of the source that the page about the architecture names.
#[test]
fn the_architecture_is_that_of_the_source() {
    let page = fs::read_to_string(root("ARCHITECTURE.md")).unwrap();
    let mut modules: Vec<_> = fs::read_to_string(root("src/lib.rs"))
        .unwrap()
        .lines()
        .filter_map(|line| Some(line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';')?.to_owned()))
        .collect();
    modules.retain(|module| !page.contains(&format!("`{module}`")) && !page.contains(&format!("`src/{module}`")));
    assert!(modules.is_empty(), "ARCHITECTURE.md does not name {modules:?}");
    for path in page.split('`').skip(1).step_by(2) {
        let is_path = path.contains('/') && !path.contains(['<', '{', '*']);
        assert!(!is_path || root(path).exists(), "ARCHITECTURE.md: {path}");
    }
}

/// The code blocks of a page that are in one language, line by line.
fn snippets(page: &str, language: &str) -> Vec<String> {
    let blocks = fenced(&fs::read_to_string(root(page)).unwrap(), language);
    assert!(!blocks.is_empty(), "{page} has {language}");
    blocks.iter().flat_map(|block| block.lines()).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn paths_on_the_page_about_tables_exist() {
    for command in snippets("sql/ADOPT.md", "sh") {
        for path in command.split(' ').filter(|word| word.starts_with("sql/")) {
            assert!(root(path).exists(), "{command}");
        }
    }
}

/// The parts of a description that the page prints are one: the test reads it, with what stands before it on the page.
#[test]
fn descriptions_on_the_page_about_tables_are_read() {
    let blocks = fenced(&fs::read_to_string(root("sql/ADOPT.md")).unwrap(), "toml");
    let (lifecycle, others): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|block| block.contains("\"LeaseUntil\""));
    for block in &others {
        // A part that shows only the table.
        let before =
            if block.starts_with("[table]") { "queue = 'Q'\ncolumns = [{ name = 'c', type = 'text' }]\n" } else { "" };
        QueueSpec::from_toml(&format!("{before}{block}")).unwrap_or_else(|error| panic!("{error}: {block}"));
    }
    assert!(others.len() > 2, "the blocks are found");
    let file = fs::read_to_string(root("sql/specs/simple_queue.toml")).unwrap();
    let changed: Vec<_> =
        file.lines().map(|line| if line.starts_with("lifecycle") { lifecycle[0].trim() } else { line }).collect();
    let spec = QueueSpec::from_toml(&changed.join("\n")).unwrap();
    let Storage::Table(table) = spec.storage else { panic!("it has a table") };
    assert!(table.lifecycle.lease_until.is_some());
}
