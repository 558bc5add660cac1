//! Worker processes on a document's table: started, killed and replaced until nothing is left to do.

use crate::audit::Story;
use crate::place::Place;
use serde_json::{Value, json};
use std::{
    env, fs,
    path::PathBuf,
    process::{Child, Command},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant, SystemTime},
};
use support::dice::Dice;
use support::folder::folder;
use support::ledger;

/// The environment variable that makes this program a worker, and says what to do.
pub const ORDER: &str = "READPAST_DOCUMENTS_WORKER";

/// After this long something is stuck, whatever the machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// The task of a process.
#[derive(Debug, Clone)]
pub enum Task {
    /// Works on a queue through the library. The work of an item is a number, which this column holds; without one the key.
    /// Some of it fails at first, and some always, if the process `stumbles`.
    Work { queue: String, column: Option<&'static str>, stumbles: bool, lease_ms: u32 },
    /// Works as the document's own code does: takes an item by one statement (or some), and is done with it by another.
    Consume { take: Vec<String>, done: String },
}

/// The processes.
pub struct Crew<'a> {
    place: &'a Place,
    folder: PathBuf,
    dice: Dice,
    running: Vec<(String, Child)>,
    killed: Vec<String>,
    started: usize,
}

impl<'a> Crew<'a> {
    pub fn new(place: &'a Place) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
        let seed = env::var("READPAST_DOCUMENTS_SEED").map_or(now % 1_000_000, |seed| seed.parse().unwrap());
        println!("READPAST_DOCUMENTS_SEED={seed}");
        Self {
            place,
            folder: folder("documents"),
            dice: Dice::new(seed),
            running: Vec::new(),
            killed: Vec::new(),
            started: 0,
        }
    }

    /// Starts one more.
    pub fn add(&mut self, task: &Task) {
        let name = format!("worker{}", self.started);
        self.started += 1;
        let task = match task {
            Task::Work { queue, column, stumbles, lease_ms } => {
                json!({"queue": queue, "column": column, "stumbles": stumbles, "lease_ms": lease_ms.to_string()})
            }
            Task::Consume { take, done } => json!({"take": take, "done": done}),
        };
        let order = json!({
            "worker": name, "settings": self.place.settings(&[("worker", &name)]), "task": task, "seed": self.dice.roll() >> 1,
            "ledger": self.ledger(&name), "over": self.folder.join("over"),
        });
        let child = Command::new(env::current_exe().unwrap()).env(ORDER, order.to_string()).spawn().unwrap();
        self.running.push((name, child));
    }

    /// Lets `count` processes work, kills one at random `kills` times and starts another in its place, until `is_over`;
    /// then lets all end, and reads what they noted. `meanwhile` runs beside them.
    pub fn drain(
        mut self,
        count: usize,
        task: &Task,
        kills: usize,
        meanwhile: impl FnOnce() + Send,
        is_over: impl Fn() -> bool,
    ) -> Vec<Story> {
        (0..count).for_each(|_| self.add(task));
        let begun = Instant::now();
        let all_in = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                meanwhile();
                all_in.store(true, Ordering::SeqCst);
            });
            let mut left = kills;
            // The moments are not points in time: so many bytes noted since the last.
            let mut next = 500 + self.dice.below(3000);
            loop {
                thread::sleep(Duration::from_millis(10));
                self.see_that_all_run();
                if left > 0 && (self.noted() >= next || is_over()) {
                    left -= 1;
                    next = self.noted() + 500 + self.dice.below(3000);
                    let victim = self.dice.below(self.running.len() as u64) as usize;
                    let (name, mut child) = self.running.remove(victim);
                    child.kill().unwrap();
                    child.wait().unwrap();
                    self.killed.push(name);
                    self.add(task);
                } else if left == 0 && all_in.load(Ordering::SeqCst) && is_over() {
                    break;
                }
                assert!(begun.elapsed() < PATIENCE, "it is stuck");
            }
        });
        self.dismiss()
    }

    fn see_that_all_run(&mut self) {
        for (name, child) in &mut self.running {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{name} ended: {ended:?}");
        }
    }

    fn noted(&self) -> u64 {
        let names = self.running.iter().map(|(name, _)| name).chain(&self.killed);
        names.map(|name| fs::metadata(self.ledger(name)).map_or(0, |file| file.len())).sum()
    }

    /// Lets all end when they have found nothing left, and reads what they noted.
    pub fn dismiss(mut self) -> Vec<Story> {
        fs::write(self.folder.join("over"), "").unwrap();
        for (name, child) in &mut self.running {
            let status = child.wait().unwrap();
            assert!(status.success(), "{name}: {status}");
        }
        let story = |name: &String, was_killed| Story {
            worker: name.clone(),
            lines: ledger::read(&self.ledger(name)),
            was_killed,
        };
        let killed = self.killed.iter().map(|name| story(name, true));
        killed.chain(self.running.iter().map(|(name, _)| story(name, false))).collect()
    }

    fn ledger(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.ledger"))
    }
}

impl Drop for Crew<'_> {
    /// However it ends, no process and no file is left.
    fn drop(&mut self) {
        for (_, child) in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The text of an order's member.
pub fn text(order: &Value, member: &str) -> String {
    order[member].as_str().unwrap_or_else(|| panic!("{member}: {order}")).to_owned()
}
