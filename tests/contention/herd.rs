//! The worker processes: started, killed and replaced, one of them paused.
#![allow(unsafe_code, reason = "signals are libc's")]

use crate::worker::{ORDER, Order};
use std::{
    env, fs,
    path::PathBuf,
    process::{Child, Command},
    thread,
    time::Duration,
};
use support::dice::Dice;
use support::fixture::Given;
use support::folder::folder;
use support::ledger::{self, Line};

/// The processes that run, and the ledgers of all that ever did.
pub struct Herd<'a> {
    given: &'a Given,
    folder: PathBuf,
    running: Vec<Process>,
    killed: Vec<Process>,
    paused: Pause,
}

struct Process {
    name: String,
    child: Child,
    pauses: bool,
}

/// How far the one process that pauses has come.
#[derive(PartialEq)]
enum Pause {
    Ahead,
    Stopped,
    Over,
}

/// A ledger, and whether its process was killed.
pub struct Story {
    pub lines: Vec<Line>,
    pub was_killed: bool,
}

impl<'a> Herd<'a> {
    /// There must be items: the first of the processes is the one that pauses, which it does with what it first claims,
    /// and the others start when it has. It is never killed.
    pub fn start(given: &'a Given, count: usize, dice: &mut Dice) -> Self {
        let mut herd =
            Self { given, folder: folder("contention"), running: Vec::new(), killed: Vec::new(), paused: Pause::Ahead };
        herd.add(dice, true);
        while herd.paused == Pause::Ahead {
            thread::sleep(Duration::from_millis(10));
            herd.tend();
        }
        (1..count).for_each(|_| herd.add(dice, false));
        herd
    }

    fn add(&mut self, dice: &mut Dice, pauses: bool) {
        let name = format!("worker{}", self.running.len() + self.killed.len());
        let order = Order::new(self.given, &self.folder, &name, dice.roll() >> 1, pauses);
        let child = Command::new(env::current_exe().unwrap()).env(ORDER, order.to_json()).spawn().unwrap();
        self.running.push(Process { name, child, pauses });
    }

    /// Kills one at random and starts another. Never the one that pauses.
    pub fn replace_one(&mut self, dice: &mut Dice) {
        let index = 1 + dice.below(self.running.len() as u64 - 1) as usize;
        let mut victim = self.running.remove(index);
        victim.child.kill().unwrap();
        victim.child.wait().unwrap();
        self.killed.push(victim);
        self.add(dice, false);
    }

    /// Sees to it that none has ended by itself, and lets the paused one go on when all that it held was taken from it.
    pub fn tend(&mut self) {
        for process in &mut self.running {
            let Some(status) = ended_or_stopped(&process.child) else { continue };
            assert!(process.pauses && libc::WIFSTOPPED(status), "{} ended: status {status:#x}", process.name);
            self.paused = Pause::Stopped;
        }
        if self.paused == Pause::Stopped {
            let paused = &self.running[0];
            let holds = format!("Status = 'Processing' AND LeaseOwner = '{}'", paused.name);
            if self.given.look("COUNT(*)", &holds) == "0" {
                signal(&paused.child, libc::SIGCONT);
                self.paused = Pause::Over;
            }
        }
    }

    /// How many bytes the ledgers have: a measure of what was done.
    pub fn noted(&self) -> u64 {
        let all = self.running.iter().chain(&self.killed);
        all.map(|process| fs::metadata(self.ledger(process)).map_or(0, |file| file.len())).sum()
    }

    /// Whether the pause is behind it.
    pub fn is_whole(&self) -> bool {
        self.paused == Pause::Over
    }

    pub fn kills(&self) -> usize {
        self.killed.len()
    }

    /// Lets all processes end, and reads all ledgers.
    pub fn dismiss(mut self) -> Vec<Story> {
        fs::write(self.folder.join("over"), "").unwrap();
        for process in &mut self.running {
            let status = process.child.wait().unwrap();
            assert!(status.success(), "{}: {status}", process.name);
        }
        let story = |process, was_killed| Story { lines: ledger::read(&self.ledger(process)), was_killed };
        let killed = self.killed.iter().map(|process| story(process, true));
        killed.chain(self.running.iter().map(|process| story(process, false))).collect()
    }

    fn ledger(&self, process: &Process) -> PathBuf {
        self.folder.join(format!("{}.ledger", process.name))
    }
}

impl Drop for Herd<'_> {
    /// However it ends, no process and no file is left.
    fn drop(&mut self) {
        for process in &mut self.running {
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Stops this process until somebody continues it.
pub fn pause_this_process() {
    // SAFETY: it touches no memory.
    unsafe { libc::raise(libc::SIGSTOP) };
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: it touches no memory. The child has not been waited for, so its number is not another's.
    let sent = unsafe { libc::kill(child.id() as libc::pid_t, signal) };
    assert_eq!(sent, 0);
}

/// The wait status of a child that has ended, or has stopped since it was last asked.
fn ended_or_stopped(child: &Child) -> Option<i32> {
    let mut status = 0;
    // SAFETY: a place for a number.
    let changed = unsafe { libc::waitpid(child.id() as libc::pid_t, &mut status, libc::WNOHANG | libc::WUNTRACED) };
    (changed != 0).then_some(status)
}
