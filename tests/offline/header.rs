//! The header: that it is what the source says, and that C and C++ compilers, and the tools of other languages, take it.
#![allow(unsafe_code, reason = "the texts that C functions return")]

mod made;

use crate::tree::root;
use readpast::ffi;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, mem};

fn header() -> String {
    fs::read_to_string(root("include/readpast.h")).expect("the header is there")
}

/// The names and values of all macros that are plain numbers.
fn number_macros(header: &str) -> Vec<(&str, i64)> {
    header
        .lines()
        .filter_map(|line| line.strip_prefix("#define ")?.split_once(' '))
        .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
        .collect()
}

/// A function's declaration on one line, and the comment before it.
struct Function {
    declaration: String,
    comment: String,
}

impl Function {
    fn name(&self) -> &str {
        self.declaration.split('(').next().and_then(|before| before.split([' ', '*']).next_back()).unwrap()
    }
}

/// All functions, in order.
fn functions(header: &str) -> Vec<Function> {
    let (_, body) = header.split_once("extern \"C\" {").expect("functions are for C++ too");
    let mut functions = Vec::new();
    let (mut comment, mut declaration, mut in_struct) = (String::new(), String::new(), false);
    for line in body.lines() {
        if line.starts_with("///") {
            comment = comment + line + "\n";
        } else if in_struct || line.is_empty() || line.starts_with(['#', '/', '}']) || line.starts_with("typedef ") {
            in_struct = (in_struct && !line.starts_with('}')) || line.ends_with('{');
            comment.clear();
        } else {
            declaration = (declaration + " " + line.trim()).trim_start().to_owned();
            if let Some(whole) = declaration.strip_suffix(';') {
                functions.push(Function { declaration: whole.to_owned(), comment: mem::take(&mut comment) });
                declaration.clear();
            }
        }
    }
    functions
}

fn succeed(output: &Output, what: &str) {
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn it_is_what_the_source_says() {
    let path = root("include/readpast.h");
    let made = made::header(&root(""));

    if env::var_os("READPAST_UPDATE_HEADER").is_some() {
        // Others read it meanwhile.
        let whole = scratch("made.h");
        fs::write(&whole, &made).unwrap();
        fs::rename(&whole, &path).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == made,
        "include/readpast.h is not what src/ffi says; READPAST_UPDATE_HEADER=1 cargo test --test offline header:: writes it anew"
    );
}

/// A file of the C API that has no section would be missing in the header without a word.
#[test]
fn every_file_has_its_section() {
    for entry in fs::read_dir(root("src/ffi")).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path.file_name().unwrap().to_str().unwrap().strip_suffix(".rs") else { continue };
        let text = fs::read_to_string(&path).unwrap();
        let seen_by_c = text.contains("#[unsafe(no_mangle)]") || text.contains("\npub const READPAST_");
        assert_eq!(made::files().filter(|file| *file == name).count(), usize::from(seen_by_c), "{name}");
    }
}

#[test]
fn every_name_carries_the_prefix() {
    let header = header();
    for line in header.lines() {
        if let Some(rest) = line.strip_prefix("#define ") {
            assert!(rest.starts_with("READPAST_"), "{line}");
        }
        if let Some(rest) = line.strip_prefix("} ") {
            assert!(rest.starts_with("readpast_") || rest.starts_with(' '), "{line}");
        }
        if line.starts_with("typedef ") && line.ends_with(';') {
            assert!(line.contains(" readpast_"), "{line}");
        }
    }
    let functions = functions(&header);
    assert!(functions.len() > 35, "all are found");
    for function in &functions {
        assert!(function.name().starts_with("readpast_"), "{}", function.declaration);
    }
}

#[test]
fn every_function_says_what_convention_asks() {
    for function in functions(&header()) {
        let Function { declaration, comment } = &function;
        assert!(declaration.starts_with("void ") || comment.contains("/// *Returns*:"), "{declaration}");
        if declaration.starts_with("readpast_status ") && function.name() != "readpast_error_status" {
            assert!(declaration.ends_with(", readpast_error *err)"), "{declaration}");
        }
        let handles = ["config", "queue", "batch", "receipts", "renewal", "events", "worker", "text"];
        let gives = handles.iter().any(|kind| {
            declaration.contains(&format!("readpast_{kind} *")) || declaration.starts_with(&format!("readpast_{kind} "))
        });
        if gives || declaration.starts_with("const char *") {
            assert!(comment.contains("/// *Ownership*: "), "{declaration}");
        }
    }
}

#[test]
fn numbers_of_statuses_are_unique_and_named() {
    let header = header();
    let (statuses, _) = header.split_once("READPAST_VERSION_").expect("statuses come first");
    let statuses = number_macros(statuses);
    assert!(statuses.len() > 30, "{statuses:?}");
    for (name, number) in &statuses {
        assert_eq!(statuses.iter().filter(|(_, other)| other == number).count(), 1, "{name} is {number}");
        let told = ffi::readpast_status_name(i32::try_from(*number).unwrap());
        // SAFETY: status names are never NULL and live for ever.
        assert_eq!(unsafe { CStr::from_ptr(told) }.to_str(), Ok(*name));
    }
}

#[test]
fn versions_agree() {
    let header = header();
    let number = |name: &str| number_macros(&header).iter().find(|(n, _)| *n == name).expect(name).1;
    let version = format!(
        "{}.{}.{}",
        number("READPAST_VERSION_MAJOR"),
        number("READPAST_VERSION_MINOR"),
        number("READPAST_VERSION_PATCH")
    );
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    // SAFETY: the version is never NULL and lives for ever.
    assert_eq!(unsafe { CStr::from_ptr(ffi::readpast_version()) }.to_str(), Ok(&*version));
    assert_eq!(number("READPAST_ABI"), i64::from(ffi::readpast_abi()));
    let port = fs::read_to_string(root("bindings/c/package/vcpkg/readpast/vcpkg.json")).expect("the port is there");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&port).expect("JSON")["version"],
        version,
        "the port of vcpkg"
    );
    let pom = fs::read_to_string(root("bindings/java/data/pom.xml")).expect("the package of Java is there");
    assert!(
        pom.contains(&format!("<artifactId>readpast-data</artifactId>\n  <version>{version}<")),
        "the package of Java"
    );
    if version.starts_with("0.") {
        assert_eq!(number("READPAST_ABI"), number("READPAST_VERSION_MINOR"), "before 1.0 each minor version is an ABI");
    }
}

/// cffi reads no directive but `#define NAME number`, and `extern "C"` not at all; its users strip the rest by line. So
/// nothing of the kind may stand within a declaration.
#[test]
fn directives_stand_apart_from_declarations() {
    let header = header();
    let mut inside = false;
    for line in header.lines() {
        assert!(!(inside && line.starts_with('#')), "{line}");
        assert!(!line.ends_with('\\'), "{line}");
        assert!(!line.starts_with("static"), "{line}");
        inside = match line {
            _ if line.starts_with("typedef struct {") => true,
            _ if line.starts_with('}') => false,
            _ => inside,
        };
    }
}

#[test]
fn compilers_take_it_alone_and_twice() {
    let c = "#include <readpast.h>\n#include <readpast.h>\nint readpast_test(void) { return (int)sizeof(readpast_queue); }\n";
    for (compiler, standards, suffix) in [
        ("gcc", ["c99", "c11"], "c"),
        ("clang", ["c99", "c11"], "c"),
        ("g++", ["c++17", "c++20"], "cpp"),
        ("clang++", ["c++17", "c++20"], "cpp"),
    ] {
        for standard in standards {
            compile(compiler, &[&format!("-std={standard}"), "-fsyntax-only"], c, suffix);
        }
    }
}

/// Each `_INIT` macro names every field, and gives what the fields' comments say.
#[test]
fn initialisers_are_complete() {
    let header = header();
    let structs = header.lines().filter_map(|line| line.strip_prefix("#define READPAST_")?.split_once("_INIT "));
    let names: Vec<_> = structs.map(|(name, _)| (format!("readpast_{}", name.to_lowercase()), name)).collect();
    let sized = header.lines().filter(|line| line.trim() == "size_t struct_size;").count();
    assert_eq!(names.len(), sized, "each struct that says its size has an initialiser");

    let mut program = String::from("#include <readpast.h>\nint main(void) {\n");
    for (kind, name) in &names {
        program += &format!("{{ {kind} v = READPAST_{name}_INIT; if (v.struct_size != sizeof v) return 1; }}\n");
        program +=
            &format!("{{ {kind} v[3] = {{READPAST_{name}_INIT}}; if (v[0].struct_size != sizeof v[0]) return 1; }}\n");
    }
    program += "readpast_new_item item = READPAST_NEW_ITEM_INIT; readpast_settlement s = READPAST_SETTLEMENT_INIT;\n";
    program += "return item.delay_ms == -1 && s.delay_ms == -1 && !s.key && !s.due ? 0 : 1;\n}\n";
    for (compiler, standard, suffix) in [("gcc", "-std=c99", "c"), ("g++", "-std=c++17", "cpp")] {
        let binary = scratch(&format!("init_{suffix}"));
        compile(compiler, &[standard, "-o", binary.to_str().unwrap()], &program, suffix);
        succeed(&Command::new(&binary).output().unwrap(), "initialisers");
    }
}

/// A file of this run of the tests.
fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("header_{}_{name}", std::process::id()))
}

/// Compiles a program that includes the header, with every warning an error. A compiler that is not there is passed over.
fn compile(compiler: &str, options: &[&str], program: &str, suffix: &str) {
    // Tests run side by side: each program has a file of its own.
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let source = scratch(&format!("{}.{suffix}", MADE.fetch_add(1, Ordering::Relaxed)));
    fs::write(&source, program).unwrap();
    let output = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-I"])
        .arg(root("include"))
        .args(options)
        .arg(&source)
        .output();
    match output {
        Ok(output) => succeed(&output, &format!("{compiler} {options:?}")),
        Err(error) => assert!(!["gcc", "g++"].contains(&compiler), "{compiler}: {error}"),
    }
}
