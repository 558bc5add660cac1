//! The cost of the library above ODBC itself: the time of claim and settle through it, against a C program of ours
//! (`raw_odbc.c`) that makes the same calls by hand, on the same table.
//!
//! Why: a programmer who could write the ODBC calls should lose nothing by taking the library. Its own work, which is
//! JSON, UTF-8, checks, the pool, may take 5 % more wall time at most.
//!
//! How to read it: one run, in which short rounds of the two take turns and change who is first; a figure is the median
//! time of a claim and its settle, and the ratio is the median of the ratios of neighbouring rounds. Below 1 the library
//! is the faster one.

mod common;

use common::{Server, median, show, verdict};
use readpast::{
    Dialect,
    ident::Identifier,
    item::{Action, Settlement},
    queue::Queue,
};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

/// Items a call, calls a round, rounds.
const CASES: [(u32, u32, usize); 3] = [(1, 40, 41), (100, 4, 81), (500, 2, 31)];

fn main() {
    Server::each("overhead", |server| {
        server.install("Bench");
        // The same parameters as the C program sends: it names the lease too, which saves the server a look.
        let queue = server.open("Bench", &[("lease.ms", "60000")]);
        let mut raw = Raw::start(server);
        println!("  {:<34}{:>12}{:>12}", "claim and settle, by items a call", "raw ODBC", "readpast");
        for (year, (items, calls, rounds)) in (2000..).zip(CASES) {
            let rounds = server.scaled(rounds as u32 * 10).max(30) as usize / 10;
            server.fill("Bench", "Pending", year, items * calls * (rounds as u32 + 2) * 2);
            server.settle_down("Bench");
            // The first round of each warms it up.
            raw.round(items, calls);
            round(&queue, items, calls);
            let times: Vec<_> = (0..rounds)
                .map(|i| {
                    if i % 2 == 0 {
                        (raw.round(items, calls), round(&queue, items, calls))
                    } else {
                        let library = round(&queue, items, calls);
                        (raw.round(items, calls), library)
                    }
                })
                .collect();
            let middle = |of: fn(&(Duration, Duration)) -> Duration| {
                let all = times.iter().map(|pair| of(pair).as_secs_f64()).collect();
                show(Duration::from_secs_f64(median(all)) / calls)
            };
            println!("  {items:<34}{:>12}{:>12}", middle(|pair| pair.0), middle(|pair| pair.1));
            let ratio = median(times.iter().map(|(raw, library)| library.as_secs_f64() / raw.as_secs_f64()).collect());
            verdict(
                &format!("readpast against raw ODBC, {items} a call"),
                &format!("{ratio:.3} x"),
                "<= 1.05 x",
                ratio <= 1.05,
            );
        }
    });
}

fn round(queue: &Queue, items: u32, calls: u32) -> Duration {
    let begun = Instant::now();
    for _ in 0..calls {
        let batch = queue.claim(items, Duration::ZERO).unwrap();
        assert_eq!(batch.len(), items as usize);
        let settlements: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        queue.settle(&settlements, None).unwrap();
    }
    begun.elapsed()
}

/// The C program.
struct Raw {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Raw {
    fn start(server: &Server) -> Self {
        let program = common::compile("raw_odbc", &["-lodbc"]);
        let dialect = if server.is_sql_server() { Dialect::SqlServer } else { Dialect::Postgres };
        let schema = Identifier::new("schema", "readpast").unwrap();
        let calls = dialect.calls(&schema, &common::spec("Bench")).unwrap();
        // The driver's settings that the library asks for too.
        let connection = format!("{}BoolsAsChar=0;UseServerSidePrepare=1;LFConversion=0;", server.scratch());
        let connection = if server.is_sql_server() { server.scratch() } else { &connection };
        let mut child = Command::new(program)
            .args([connection, &calls.claim, &calls.settle, "raw"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { orders: child.stdin.take(), answers, child }
    }

    fn round(&mut self, items: u32, calls: u32) -> Duration {
        writeln!(self.orders.as_ref().unwrap(), "{items} {calls}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let [ns, done] = line.split_whitespace().collect::<Vec<_>>().try_into().expect("the C program failed");
        assert_eq!(done, (items * calls).to_string());
        Duration::from_nanos(ns.parse().unwrap())
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        drop(self.orders.take());
        self.child.wait().unwrap();
    }
}
