//! A worker, to copy and make your own: put your work into `handle`. The library claims items in batches, keeps their
//! leases meanwhile, and settles in groups what has ended while it claims more.
//!
//!     READPAST_CONNECTION='Driver={...};Server=...;' worker [-b items] [-l lease_ms] [-o key=value]... [-f n] [-r] queue
//!
//!     -b items       how many items to claim at once (default 50)
//!     -l lease_ms    how long a claim holds, should this process die (default 60000, as the library has it)
//!     -o key=value   any setting of the library, like -o schema=sales
//!     -f n           every nth item fails, to see what becomes of it
//!     -r             write to standard output what was claimed and what the server answered: see `records.rs`
//!
//! SIGTERM or SIGINT (Ctrl-C) ends it in order: what was begun is settled, what was not is given back. A second Ctrl-C
//! ends it at once; the leases then run out, and other workers take over.

#[path = "worker/logger.rs"]
mod logger;
#[path = "worker/options.rs"]
mod options;
#[path = "worker/records.rs"]
mod records;

use options::Options;
use readpast::worker::{Job, Stop, trace_panics};
use readpast::{Queue, Worker};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The work itself, of which this program only pretends.
fn handle(job: &Job<'_>, number: u64, options: &Options) -> Result<(), &'static str> {
    let _recipient = job.text("Recipient").ok_or("there is no recipient")?;
    // Here a message would be sent to the recipient.
    if options.fail_every.is_some_and(|every| number.is_multiple_of(every)) {
        return Err("the mail server said: 451 try again later");
    }
    Ok(())
}

/// The first signal ends the work in order. A signal handler could not do that, so a thread waits for signals.
fn stop_on_signals(stop: Stop) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::spawn(move || {
        for signal in signals.forever() {
            if stop.is_stopped() && signal == SIGINT {
                // Somebody has lost patience.
                std::process::exit(128 + signal);
            }
            stop.stop();
        }
    });
    Ok(())
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    logger::start();
    trace_panics();
    let queue = Queue::open(&options.config, &options.queue)?;
    let mut worker = Worker::new(&queue).batch_size(options.batch_size);
    if options.records {
        worker = worker.observe(records::write);
    }
    stop_on_signals(worker.stop_handle())?;
    let handled = AtomicU64::new(0);
    worker.run(|job| handle(job, handled.fetch_add(1, Ordering::Relaxed) + 1, options))?;
    Ok(())
}

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("worker: {why}");
            return ExitCode::from(2);
        }
    };
    if let Err(error) = run(&options) {
        eprintln!("worker: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
