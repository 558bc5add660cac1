//! `readpast work`.

mod capture;
mod child;
mod control;
mod directive;
mod directive_file;
mod environment;
mod events;
mod figures;
mod mapping;
mod mark;
mod object;
mod pipes;
mod printed;
mod procedure;
mod progress_file;
mod slot;

use crate::exit::Exit;
use crate::failure::{Failure, Result, usage};
use crate::global::Global;
use crate::output::Output;
use crate::{connection, duration};
use control::Control;
use directive_file::DirectiveFolder;
use events::{Events, WorkerReport};
use figures::FiguresFile;
use readpast::engine::{Observer, WorkerTerms};
use readpast::queue::MAX_ITEMS;
use readpast::{Config, Engine, Queue};
use slot::Slot;
use std::ffi::OsString;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use std::{env, fs};

/// Claims due items and runs a command for each, or calls a procedure in the database
///
/// The command gets the item on its standard input, as a JSON object with a member for each
/// column, and in its environment: READPAST_QUEUE, READPAST_KEY, READPAST_ATTEMPT,
/// READPAST_TOKEN, READPAST_TYPE, READPAST_STEP, READPAST_WORKER, and READPAST_COL_<NAME> for
/// each column that is not NULL (values above 32 KiB only on standard input). If the queue's
/// description has trace, also TRACEPARENT and TRACESTATE.
///
/// The command's exit status settles the item:
///   0      Completed; standard output becomes the response
///   65     Failed for good (EX_DATAERR); --fail-on names others
///   other  Error: tried again until the attempts are spent, then Failed. Use 75 (EX_TEMPFAIL)
///          to ask for it; a signal and --timeout do the same. The end of standard error
///          becomes the error
///
/// The command can say more, by a directive: a JSON object in the file that READPAST_DIRECTIVE
/// names, which is not there until the command writes it.
///   sh          echo '{"action": "retry", "delay_ms": 60000}' > "$READPAST_DIRECTIVE"
///   cmd         echo {"action": "retry", "delay_ms": 60000}> "%READPAST_DIRECTIVE%"
///   PowerShell  '{"action": "retry", "delay_ms": 60000}' > $env:READPAST_DIRECTIVE
/// action is complete, complete_partially, fail, retry, release, cancel, pause or terminate,
/// and counts only with exit status 0. Other members are due (a UTC time, instead of delay_ms),
/// step, error, response, set: an object of values for the item's own columns, with a nested
/// object for each subtype, and then: an array of items that are put in with the same commit,
/// each with columns and, where wanted, queue, type, step, due or delay_ms. All are optional. A file that cannot be read so makes the
/// item an Error that says why.
///
/// If the queue's description has progress, the command can report how far it is, while it runs:
/// the last line of the file that READPAST_PROGRESS names is a number from 0 to 100, a text, or
/// a number and a text, and is looked at ten times a second.
///   sh          echo '42 page 42 of 100' > "$READPAST_PROGRESS"
///
/// On SIGTERM, SIGINT or SIGHUP it claims no more items, lets running commands end, releases
/// the items that it has not begun, and exits with 0. A second signal ends the commands and
/// releases their items too. It renews leases while commands run. If a command's item is
/// lost, it ends the command and ignores its result. Each command has a process group of
/// its own. Its standard error is passed on, with --verbose also its output. Processes that it
/// leaves in its group are ended if they keep an output open; detached ones (setsid) are left
/// alone.
///
/// With --procedure no command runs: claim, call and settle are one transaction on one
/// connection, so the procedure's writes in the database are done exactly once. Parameters
/// get values by their names: columns of the item, or key, token, attempt and worker. The
/// procedure must neither commit nor roll back, and may take as long as --timeout (by default
/// the setting query.timeout_ms). When it ends, the item is Completed, unless it returns a row
/// with a column Status, which may also have Step, Response, Error, DelayMs and Set. An error
/// of the procedure undoes all its writes: the item becomes an Error with its text, tried
/// again until the attempts are spent. A deadlock victim is tried again at once.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(after_help = "\
Examples:
  readpast work Notification -- ./send.sh
  readpast work Notification --jobs 8 --timeout 5m --type Email -- python3 send.py
  readpast work Notification --until-empty -- sh -c 'cat; env | grep READPAST_'  shows what a command gets")]
pub struct Args {
    /// The queue
    queue: String,
    /// Commands that run at a time
    #[arg(long, short, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    jobs: u32,
    /// Items that each running command claims at a time. More of them save no round trips, and wait longer for their turn
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ITEMS)))]
    batch: u32,
    /// A type of items to claim; may be given again. Without it, all. The queue's description must have claim_by
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// A step of items to claim, '' for items without one; otherwise like --type
    #[arg(long = "step", value_name = "STEP")]
    steps: Vec<String>,
    /// Exits when no item is due
    #[arg(long)]
    until_empty: bool,
    /// How long a lease lasts; it is renewed every third of that [default: as the queue says]
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = duration::parse)]
    lease: Option<Duration>,
    /// Longest time a command may take
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = duration::parse)]
    timeout: Option<Duration>,
    /// Time from SIGTERM to SIGKILL for a command that must end
    #[arg(long, default_value = "10s", value_name = "TIME", allow_negative_numbers = true, value_parser = duration::parse)]
    kill_after: Duration,
    /// Exit statuses that mean Failed for good
    #[arg(long, value_name = "STATUS,...", value_delimiter = ',', default_value = "65", value_parser = clap::value_parser!(u8).range(1..))]
    fail_on: Vec<u8>,
    /// Pause before the next attempt, unless the command says [default: the queue's backoff]
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = duration::parse)]
    retry_delay: Option<Duration>,
    /// Most bytes of standard output to keep as the response
    #[arg(long, default_value_t = 65_536, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(0..=16_777_216))]
    response_limit: u32,
    /// Most bytes of the end of standard error to keep as the error
    #[arg(long, default_value_t = 4096, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(0..=1_048_576))]
    error_limit: u32,
    /// Also obeys a directive that a command prints as its last line: {"readpast": {"action": ...}}. DANGER: a command that prints
    /// its input (an item's text, a server's answer) obeys the author of that text. Use READPAST_DIRECTIVE
    #[arg(long)]
    directives_on_stdout: bool,
    /// Gives commands READPAST_CONNECTION and READPAST_CONNECTION_FILE, so that they can use readpast themselves
    #[arg(long)]
    pass_connection: bool,
    /// A file for this process's figures, rewritten every 15 seconds and at the end; for node_exporter's textfile collector, which
    /// reads *.prom
    #[arg(long, value_name = "FILE")]
    metrics_file: Option<PathBuf>,
    /// A procedure (in PostgreSQL also a function) that works on each item in the transaction that claims it, instead of a command
    #[arg(long, value_name = "NAME", conflicts_with_all = ["command", "batch", "kill_after", "fail_on", "retry_delay", "response_limit", "error_limit", "directives_on_stdout", "pass_connection"])]
    procedure: Option<String>,
    /// The command and its arguments, after --
    #[arg(last = true, required_unless_present = "procedure", value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub fn run(global: &Global, args: Args, out: &Output) -> Result<Exit> {
    if let Some(name) = &args.procedure {
        return procedure::run(global, &args, name, out);
    }
    // A missing command would cost each item an attempt.
    if !is_there(&args.command[0]) {
        return Err(usage(format!("there is no command {:?} that can be run", args.command[0])));
    }
    let config = config(global, &args)?;
    let queue = Queue::open(&config, &args.queue)?;
    let folder = DirectiveFolder::begin()?;
    let figures = FiguresFile::begin(args.metrics_file.as_deref())?;
    let (sender, reports) = mpsc::channel();
    let observer_sender = sender.clone();
    let observer: Observer = Arc::new(move |event| WorkerReport::send(event, &observer_sender));
    let engine = Engine::new(&queue, WorkerTerms { until_empty: args.until_empty, observer: Some(observer) });
    // Until here a signal may end the process as ever: nothing is in flight.
    let control = Control::listen(&engine)?;
    let events = Events::new(out, global.quiet, global.verbose);

    let slot =
        Slot { queue: &queue, engine: &engine, args: &args, control: &control, events: &events, folder: &folder };
    let failure = thread::scope(|scope| {
        let (events, engine) = (&events, &engine);
        let reporter = scope.spawn(move || events.report(&reports).inspect_err(|_| engine.stop()));
        let slots: Vec<_> = (0..args.jobs).map(|_| scope.spawn(|| slot.run())).collect();
        let ends = slots.into_iter().map(|slot| slot.join().unwrap_or_else(|panic| resume_unwind(panic)));
        // The first failure is reported after all threads have ended.
        let failures: Vec<_> = ends.collect();
        let closed = engine.close(patience(&queue, &control)).map_err(Failure::from);
        let _ = sender.send(WorkerReport::End);
        let reported = reporter.join().unwrap_or_else(|panic| resume_unwind(panic));
        failures.into_iter().chain([closed, reported]).find_map(std::result::Result::err)
    });
    control.end();
    // Calls have ended, or were given up.
    let _ = queue.close(Duration::from_secs(1));
    drop(figures);
    events.summary()?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    if let Some(signal) = control.terminated() {
        return Err(Failure::Partly("ended before the running commands were done".to_owned(), Exit::Signal(signal)));
    }
    Ok(if events.lost() > 0 { Exit::Refused } else { Exit::Done })
}

/// The settings of a worker of either kind.
fn config(global: &Global, args: &Args) -> Result<Config> {
    let mut config = connection::config(global, "60000")?;
    if let Some(lease) = args.lease {
        config.set("lease.ms", &lease.as_millis().to_string())?;
    }
    for (key, kinds) in [("worker.types", &args.types), ("worker.steps", &args.steps)] {
        if !kinds.is_empty() {
            config.set(key, &serde_json::json!(kinds).to_string())?;
        }
    }
    Ok(config)
}

/// How long the database may take for ended items; less after a second signal.
fn patience(queue: &Queue, control: &Control) -> Option<Duration> {
    control.terminated().map(|_| Duration::from_secs(5).min(queue.lease()))
}

/// Whether the system will find the command, as a program. Only its run shows whether it fits this machine.
fn is_there(command: &OsString) -> bool {
    let path = Path::new(command);
    if path.components().count() > 1 || path.is_absolute() {
        return is_program(path);
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| is_program(&folder.join(path)))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// A name without an extension means an .exe; a script (.bat, .cmd) is given with its own.
#[cfg(windows)]
fn is_program(path: &Path) -> bool {
    let is_file = |path: &Path| fs::metadata(path).is_ok_and(|file| file.is_file());
    let mut with_extension = path.as_os_str().to_owned();
    with_extension.push(".exe");
    is_file(path) && path.extension().is_some() || is_file(Path::new(&with_extension))
}
