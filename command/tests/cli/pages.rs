//! Blocks of the pages, run as they stand there, each page in a folder and a database of its own. Before a block of code stands
//! `<!-- file: NAME -->` if the block is written to that file, or `<!-- run: TEXT -->` if it is run and must print that text (or `<!-- run: -->`): `sh`
//! by a shell, `sql` by psql.

use crate::shell::Shell;
use std::fs;
use std::path::Path;

struct Block<'a> {
    /// `file` or `run`, and its argument.
    mark: (&'a str, &'a str),
    language: &'a str,
    code: &'a str,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let marks = page.match_indices("<!-- ").map(|(at, mark)| &page[at + mark.len()..]);
    let marked = marks.filter(|rest| rest.starts_with("file: ") || rest.starts_with("run:"));
    let block = |rest| -> Option<Block<'_>> {
        let (mark, rest) = str::split_once(rest, " -->\n```")?;
        let (language, rest) = rest.split_once('\n')?;
        Some(Block {
            mark: mark.split_once(':').map(|(mark, argument)| (mark, argument.trim()))?,
            language,
            code: rest.split_once("```")?.0,
        })
    };
    marked.map(|rest| block(rest).unwrap_or_else(|| panic!("no block: {rest:.60}"))).collect()
}

fn run(shell: &Shell, Block { mark, language, code }: &Block<'_>) {
    let mut command = match (mark.0, *language) {
        ("file", _) => {
            shell.write(mark.1, code);
            return;
        }
        (_, "sh") => {
            let mut sh = shell.program("sh");
            sh.args(["-euc", code]);
            sh
        }
        (_, "sql") => {
            let file = shell.write("block.sql", code);
            let mut psql = shell.program("psql");
            psql.args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname", &conninfo(shell), "--file"]);
            psql.arg(file);
            psql
        }
        (_, language) => panic!("nothing runs {language}"),
    };
    let output = command.output().unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{code}\n{told}");
    assert!(told.contains(mark.1), "{code}\ndoes not print {:?}: {told}", mark.1);
}

/// The database as psql names it.
fn conninfo(shell: &Shell) -> String {
    let connection = shell.db.connection();
    let parts = connection.split(';').filter_map(|part| part.split_once('='));
    let named = parts.filter_map(|(name, value)| {
        let names =
            [("server", "host"), ("port", "port"), ("database", "dbname"), ("uid", "user"), ("pwd", "password")];
        let (_, name) = names.iter().find(|(odbc, _)| name.eq_ignore_ascii_case(odbc))?;
        Some(format!("{name}={value}"))
    });
    named.collect::<Vec<_>>().join(" ")
}

#[test]
fn blocks_of_the_pages_run_as_they_stand_there() {
    let mut count = 0;
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let page = fs::read_to_string(&path).unwrap();
        let blocks = blocks(&page);
        if !blocks.is_empty() {
            let shell = Shell::empty();
            blocks.iter().for_each(|block| run(&shell, block));
            count += blocks.len();
        }
    }
    assert!(count >= 20, "the blocks should be found, not {count}");
}
