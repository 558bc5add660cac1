//! Every binding does what every other does: the scenarios of `conformance/scenarios`, run in each language on each server
//! at hand, and at the end a table of scenario and language. `conformance/README.md` describes scenarios and adapters.
//!
//! `READPAST_CONFORMANCE_LANGUAGES` lists the languages (`rust` when it is not set), whose adapters are
//! `bindings/<language>/build/conformance`; that of Rust is this program itself. `c@windows` is C's for Windows, in Wine.
//! `READPAST_CONFORMANCE_TABLE` names a file
//! that the table is written to as well. `READPAST_CONFORMANCE_JOBS` is how many scenarios run at once.

mod driver;
mod rust;
mod world;

use driver::{Cell, Place, Program, Scenario, Surroundings, Variables, render};
use libtest_mimic::Arguments;
use serde_json::Value;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};
use support::both::Database;
use world::World;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The end of a language's name whose adapter is a program for Windows.
const WINDOWS: &str = "@windows";

fn main() -> ExitCode {
    if env::var_os(rust::MARK).is_some() {
        return rust::run();
    }
    let arguments = Arguments::from_args();
    let scenarios = driver::load(&Path::new(ROOT).join("tests/conformance/scenarios"));
    let missing = driver::missing(include_str!("../../include/readpast.h"), &scenarios);
    if !missing.is_empty() {
        eprintln!("no scenario expects these statuses: {missing:?}");
        return ExitCode::FAILURE;
    }
    let unproven = driver::unproven(include_str!("../../docs/worker.md"), &scenarios);
    if !unproven.is_empty() {
        eprintln!("no scenario holds languages to these policies of docs/worker.md: {unproven:#?}");
        return ExitCode::FAILURE;
    }
    let chosen: Vec<_> = scenarios.into_iter().filter(|scenario| is_chosen(&arguments, &scenario.name)).collect();
    if arguments.list {
        chosen.iter().for_each(|scenario| println!("{}: test", scenario.name));
        return ExitCode::SUCCESS;
    }
    if chosen.is_empty() {
        return ExitCode::SUCCESS;
    }
    run_all(&chosen)
}

fn is_chosen(arguments: &Arguments, name: &str) -> bool {
    let fits = |filter: &String| if arguments.exact { name == filter } else { name.contains(filter.as_str()) };
    arguments.filter.iter().all(fits) && !arguments.skip.iter().any(fits)
}

/// One cell to be.
struct Job<'a> {
    scenario: &'a Scenario,
    place: Place,
    language: &'a str,
}

fn run_all(scenarios: &[Scenario]) -> ExitCode {
    let begun = Instant::now();
    let languages = env::var("READPAST_CONFORMANCE_LANGUAGES").unwrap_or_else(|_| "rust".to_owned());
    let languages: Vec<_> = languages.split(',').map(|name| name.trim().to_owned()).collect();
    let programs: BTreeMap<_, _> = languages.iter().map(|language| (language.as_str(), program(language))).collect();
    let databases = Database::each();
    let database = |place| databases.iter().find(|database| database.is_sql_server() == (place == Place::SqlServer));
    let place_of = |scenario: &Scenario, place| scenario.places.contains(&place);
    let mut jobs = Vec::new();
    // Language by language, so that the output of a long run has some order.
    for language in &languages {
        for place in Place::ALL {
            if place != Place::Scripted && database(place).is_none() {
                continue;
            }
            let here = scenarios.iter().filter(|scenario| place_of(scenario, place));
            let here = here.filter(|scenario| scenario.on_windows || !language.ends_with(WINDOWS));
            jobs.extend(here.map(|scenario| Job { scenario, place, language }));
        }
    }

    let queue = Mutex::new(jobs.into_iter().enumerate());
    let cells = Mutex::new(Vec::new());
    let threads = env::var("READPAST_CONFORMANCE_JOBS").map_or(3, |text| text.parse().expect("a number"));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some((number, job)) = next else { return };
                    let database = if job.place == Place::Scripted { None } else { database(job.place) };
                    let result = run_one(&job, database, &programs[job.language]);
                    let (scenario, place) = (job.scenario.name.clone(), job.place.name());
                    cells
                        .lock()
                        .unwrap()
                        .push((number, Cell { scenario, place, language: job.language.to_owned(), result }));
                }
            });
        }
    });
    let mut cells = cells.into_inner().unwrap();
    cells.sort_by_key(|(number, _)| *number);
    let cells: Vec<_> = cells.into_iter().map(|(_, cell)| cell).collect();
    report(&cells, &languages, begun.elapsed())
}

fn report(cells: &[Cell], languages: &[String], time: Duration) -> ExitCode {
    let failures: Vec<_> = cells.iter().filter_map(|cell| cell.result.as_ref().err().map(|why| (cell, why))).collect();
    for (cell, why) in &failures {
        println!("FAILED {} in {} on {}\n  {why}\n", cell.scenario, cell.language, cell.place);
    }
    let places =
        [("postgres", "PostgreSQL"), ("sqlserver", "SQL Server"), ("scripted", "Microsoft's driver, scripted faults")];
    let table = render(cells, languages, &places);
    print!("{table}");
    println!("conformance: {} cells, {} failed, {:.1} s", cells.len(), failures.len(), time.as_secs_f64());
    if let Some(file) = env::var_os("READPAST_CONFORMANCE_TABLE") {
        fs::write(&file, table).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn program(language: &str) -> Program {
    // A run that takes longer hangs: a call of a scenario takes seconds, or a minute where a machine has far too much to do.
    let patience = Duration::from_secs(600);
    let may_hang = Arc::new(AtomicBool::new(language.ends_with(WINDOWS)));
    if language == "rust" {
        let path = env::current_exe().expect("this program has a path");
        let environment = vec![(rust::MARK.to_owned(), "1".to_owned())];
        return Program { path, arguments: Vec::new(), environment, in_wine: false, patience, may_hang };
    }
    if let Some(language) = language.strip_suffix(WINDOWS) {
        let built = format!("{ROOT}/bindings/{language}/build/windows/conformance");
        // A program, or a script that starts in Wine what runs it.
        let (path, arguments) = match Path::new(&built) {
            script if script.exists() => (script.to_owned(), Vec::new()),
            _ => (Path::new(ROOT).join(".ci/wine.sh"), vec![format!("{built}.exe")]),
        };
        // Wine ends a program without a word; what it complains of is shown with what fails.
        let environment = vec![("WINEDEBUG".to_owned(), "err+all,fixme-all".to_owned())];
        return Program { path, arguments, environment, in_wine: true, patience, may_hang };
    }
    let path = Path::new(ROOT).join("bindings").join(language).join("build/conformance");
    Program { path, arguments: Vec::new(), environment: Vec::new(), in_wine: false, patience, may_hang }
}

/// A panic is a mistake in the scenario, or a server that fails: it fails the cell, not the others.
fn run_one(job: &Job, database: Option<&Database>, program: &Program) -> Result<(), String> {
    static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let complaints: PathBuf = env::temp_dir().join(format!("readpast-conformance-{}-{number}", process::id()));
    let result = catch_unwind(AssertUnwindSafe(|| {
        let mut world = World::new(job.scenario, job.place, job.language.trim_end_matches(WINDOWS), database);
        driver::run(&job.scenario.steps, program, &mut world, &complaints)
    }));
    // It is not there if no adapter was started.
    let _ = fs::remove_file(&complaints);
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("the driver gave up: {}", text.unwrap_or_default()))
    })
}

impl Surroundings for World<'_> {
    fn variables(&mut self) -> &mut Variables {
        &mut self.variables
    }

    fn spell(&self, column: &str) -> String {
        self.spell(column)
    }

    fn complete(&self, settings: &Value) -> Value {
        self.complete(settings)
    }

    fn act(&mut self, what: &str, step: &Value) -> Result<Option<Value>, String> {
        self.act(what, step)
    }
}
