//! A worker process that begins some items and holds them until it is over, and the signals that it gets.
#![allow(unsafe_code, reason = "signals are libc's")]

use readpast::engine::{Begin, Engine, Taken, WorkerTerms};
use readpast::item::{Action, Answer, Batch, Settlement};
use readpast::queue::Queue;
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;
use std::{env, thread};
use support::both::Database;
use support::folder::folder;
use support::limit::{HOLDS, patient_with, until};

/// The environment variable that makes this program a worker, and says what to do.
pub const ORDER: &str = "READPAST_LIFELINE_WORKER";

/// A lease that is over in no test: what comes back before has another reason.
pub const LEASE: (&str, &str) = ("lease.ms", "86400000");

/// The process, and its folder.
pub struct Worker {
    child: Child,
    pub name: String,
    folder: PathBuf,
}

impl Worker {
    /// A process that has begun `begins` items and claimed others ahead.
    pub fn start(database: &Database, name: &str, begins: usize, settings: &[(&str, &str)]) -> Self {
        let worker = Self::run(database, name, begins, settings);
        until("the process has begun its items", || worker.folder.join("begun").exists());
        worker
    }

    /// A process that works on one item after the other.
    pub fn drain(database: &Database, name: &str, settings: &[(&str, &str)]) -> Self {
        Self::run(database, name, 0, settings)
    }

    /// The keys of the items that it began.
    pub fn drained(&self) -> Vec<String> {
        let noted = fs::read_to_string(self.folder.join("drained")).unwrap_or_default();
        noted.lines().map(str::to_owned).collect()
    }

    fn run(database: &Database, name: &str, begins: usize, settings: &[(&str, &str)]) -> Self {
        let folder = folder("lifeline");
        let settings = [&[("worker", name), LEASE, HOLDS], settings].concat();
        // Places have connections of their own.
        let is_over_places = settings.iter().any(|(key, _)| key.starts_with("places."));
        let connection = (!is_over_places).then(|| database.connection());
        let order = json!({"connection": connection, "settings": settings, "begins": begins, "folder": folder});
        let child = Command::new(env::current_exe().unwrap()).env(ORDER, order.to_string()).spawn().unwrap();
        Self { child, name: name.to_owned(), folder }
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn stop(&self) {
        self.signal(libc::SIGSTOP);
    }

    pub fn go_on(&self) {
        self.signal(libc::SIGCONT);
    }

    fn signal(&self, signal: i32) {
        // SAFETY: it touches no memory. The child has not been waited for, so its number is not another's.
        let sent = unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
        assert_eq!(sent, 0);
    }

    /// Ends its items; the answers to that, as the process has them.
    pub fn end(mut self) -> String {
        fs::write(self.folder.join("over"), "").unwrap();
        assert!(self.child.wait().unwrap().success());
        fs::read_to_string(self.folder.join("ended")).unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
        _ = fs::remove_dir_all(&self.folder);
    }
}

/// The whole life of the process.
pub fn run(order: &str) {
    let order: Value = serde_json::from_str(order).unwrap();
    let folder = Path::new(order["folder"].as_str().unwrap());
    let pairs = order["settings"].as_array().unwrap().iter();
    let mut settings: Vec<_> = pairs.map(|pair| (pair[0].as_str().unwrap(), pair[1].as_str().unwrap())).collect();
    settings.extend(order["connection"].as_str().map(|connection| ("connection", connection)));
    let config = patient_with(&settings);
    let queue = Queue::open(&config, "Job").unwrap();
    let engine = Engine::new(&queue, WorkerTerms::default());
    if order["begins"] == 0 {
        return drain(&engine, folder);
    }
    let begun: Vec<_> = (0..order["begins"].as_u64().unwrap()).map(|_| begin(&engine)).collect();
    fs::write(folder.join("begun"), "").unwrap();
    while !folder.join("over").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    let ends: Vec<_> =
        begun.iter().flat_map(Batch::iter).map(|item| Settlement::new(&item, Action::Complete)).collect();
    let is_lost = |batch: &Batch| batch.iter().any(|item| engine.is_lost(item.key(), item.attempt()));
    let lost = begun.iter().filter(|batch| is_lost(batch)).count();
    assert!(engine.end(&ends).iter().all(|answer| *answer == Answer::Ok));
    engine.close(Duration::from_secs(600)).unwrap();
    let figures = engine.figures();
    let mut file = OpenOptions::new().create(true).append(true).open(folder.join("ended")).unwrap();
    write!(file, "{} settled, {lost} lost", figures.settled).unwrap();
}

fn drain(engine: &Engine, folder: &Path) {
    let mut noted = OpenOptions::new().create(true).append(true).open(folder.join("drained")).unwrap();
    loop {
        let batch = begin(engine);
        let item = batch.get(0).unwrap();
        writeln!(noted, "{}", item.key()).unwrap();
        thread::sleep(Duration::from_millis(20));
        engine.end(&[Settlement::new(&item, Action::Complete)]);
    }
}

/// Takes an item, and begins it.
pub fn begin(engine: &Engine) -> Batch {
    loop {
        let Taken::Items(batch) = engine.take(1, Duration::from_secs(600)).unwrap() else { panic!("nothing came") };
        let item = batch.get(0).unwrap();
        if engine.begin(item.key(), item.attempt()) == Begin::Ok {
            return batch;
        }
    }
}
