//! Queues of other software, on the tables that its own migrations make: found and named, adopted by the description that comes with
//! readpast, and worked on as ADOPT.md says of each: beside its own workers, in their place, or only looked at.

mod beside;
mod figures;
mod instead;
mod on_sql_server;

pub use beside::DELAYED_JOB;

use readpast::description::{EXAMPLES, OTHERS};
use readpast::discover::discover;
use readpast::item::Action;
use readpast::{Queue, QueueSpec, adopt, install};
use std::env;
use std::time::Duration;
use support::scratch::{Scratch, all, text};

/// A queue of other software.
pub struct Software {
    /// Its name, as `discover` knows it, and the description's.
    name: &'static str,
    spec: &'static str,
    /// Its tables, with rows in every state; `{n}` of them wait.
    pub tables: &'static str,
    /// Its worker's look for one job: it takes it, and returns its key.
    take: &'static str,
    /// Its end of the job with the key `{id}`.
    finish: &'static str,
    /// A look at the table when all is done, and the answer.
    after: [&'static str; 2],
}

/// How many rows wait: `READPAST_OTHERS_ITEMS`, or some hundreds.
fn items() -> usize {
    env::var("READPAST_OTHERS_ITEMS").map_or(600, |items| items.parse().unwrap())
}

/// Makes its tables, with their rows.
pub fn make(scratch: &Scratch, tables: &str) {
    let tables = tables.replace("{n}", &items().to_string());
    tables.split("\n\n").for_each(|statement| scratch.run(statement));
}

fn text_of(name: &str) -> &'static str {
    let (_, text) = EXAMPLES.iter().chain(OTHERS).find(|(other, _)| *other == name).unwrap();
    text
}

/// A database with its tables, and its queue: adopted by the description.
fn adopted(software: &Software, verdict: &str) -> (Scratch, QueueSpec) {
    let scratch = Scratch::empty();
    make(&scratch, software.tables);
    scratch.run("CREATE TABLE public.done (id text NOT NULL, who text NOT NULL)");
    let spec =
        QueueSpec::from_text(text_of(software.spec)).unwrap_or_else(|error| panic!("{}: {error}", software.spec));

    // A look at the database names it, and proposes a description that can be adopted.
    let report = discover(&scratch.config(&[])).unwrap();
    let found = report.tables.iter().find(|table| table.system == Some(software.name));
    let found = found.unwrap_or_else(|| panic!("{} is not among {:#?}", software.name, report.tables));
    assert!(found.verdict.unwrap().starts_with(verdict), "{found:#?}");
    let proposed = QueueSpec::from_text(found.description.as_ref().unwrap()).unwrap();
    for spec in [&proposed, &spec] {
        let plan = adopt::plan(&scratch.config(&[]), spec).unwrap();
        assert!(plan.is_possible(), "{}: {:#?}", software.spec, plan.findings);
    }
    install(&scratch.config(&[]), Some(&spec)).unwrap();
    (scratch, spec)
}

fn open(scratch: &Scratch, spec: &QueueSpec, worker: &str) -> Queue {
    Queue::open(&scratch.config(&[("worker", worker)]), spec.queue.as_str()).unwrap()
}

/// Works as the software does until it finds nothing; how many it did.
fn work_as_it_does(scratch: &Scratch, software: &Software) -> usize {
    let mut session = scratch.session();
    let take = format!("WITH taken (id) AS ({}) SELECT id FROM taken", software.take);
    // It goes one by one: of very many it does its part, and leaves the rest to others.
    for done in 0..2_000 {
        let rows = session.execute(&take, &[]).unwrap();
        if rows.is_empty() {
            return done;
        }
        let id = text(&rows);
        session.execute(&format!("INSERT INTO public.done VALUES ('{id}', 'its own')"), &[]).unwrap();
        session.execute(&software.finish.replace("{id}", &id), &[]).unwrap();
    }
    2_000
}

/// Works until nothing is left.
fn work(scratch: &Scratch, spec: &QueueSpec, worker: &str) {
    let queue = open(scratch, spec, worker);
    let mut session = scratch.session();
    loop {
        let batch = queue.claim(u32::try_from(items() / 15).unwrap().min(1000), Duration::ZERO).unwrap();
        if batch.is_empty() {
            return;
        }
        let rows: Vec<_> = batch.iter().map(|item| format!("('{}', '{worker}')", item.key())).collect();
        session.execute(&format!("INSERT INTO public.done VALUES {}", rows.join(", ")), &[]).unwrap();
        let outcomes = queue.settle(&all(&batch, Action::Complete), None).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.answer == readpast::item::Answer::Ok), "{outcomes:?}");
    }
}

/// Each that waited was done once, and the table is as the software knows it.
fn is_done(scratch: &Scratch, software: &Software, spec: &QueueSpec) {
    let done = scratch.look("SELECT concat_ws(' ', count(*), count(DISTINCT id)) FROM public.done");
    assert_eq!(done, format!("{} {}", items(), items()), "{}", software.spec);
    let [look, answer] = software.after;
    assert_eq!(scratch.look(look), answer.replace("{n}", &items().to_string()), "{}", software.spec);
    let left = open(scratch, spec, "looks").claim(1, Duration::ZERO).unwrap();
    assert!(left.is_empty(), "{}", software.spec);
}
