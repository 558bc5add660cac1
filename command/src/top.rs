//! `readpast top`: the queues of a schema on a terminal, again and again, with keys to open and steer items.

mod calls;
mod model;
mod screen;
mod terminal;

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::global::Global;
use crate::output::Output;
use crate::registry::{self, Registry};
use crate::signals::Stop;
use crate::{concerns, connection, duration};
use model::{Model, Step};
use std::sync::Arc;
use std::time::Duration;

/// Shows all queues on the terminal, and opens and steers items by keys
///
/// It has the same figures as `serve`: what needs a person first, then a line for each queue. Enter opens what is selected: a queue
/// with its workers and errors, the items of an error, an item with its columns. Keys pause, retry or cancel an item; each asks before. Without a
/// terminal, or with --json, it prints the figures once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast top
  readpast top --every 1s --queue Notification
  readpast top --json")]
pub struct Args {
    /// How often the figures are taken
    #[arg(long, default_value = "2s", value_name = "INTERVAL", value_parser = duration::interval)]
    every: Duration,
    /// The most rows that a look reads
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    most: u32,
    /// Shows only this queue; may be given again
    #[arg(long = "queue", value_name = "QUEUE")]
    queues: Vec<String>,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let config = connection::config(global, "5000")?;
    let schema = config.schema()?.as_str().to_owned();
    // A remark would stand in the middle of the screen; what fails is shown there anyhow.
    let queues = Arc::new(Registry::open(config, &args.queues, |_| ())?);
    if out.is_json() || !out.is_terminal() {
        return once(&schema, &queues, args.most, out);
    }
    watch(Model::new(&schema, args.every), &queues, args.most)
}

/// The figures as they are now: a line for each queue.
fn once(schema: &str, queues: &Registry, most: u32, out: &Output) -> Result<Exit> {
    queues.all().iter().for_each(|sampler| sampler.sample(most));
    let mut model = Model::new(schema, Duration::ZERO);
    model.take(queues);
    if out.is_json() {
        for sampled in &model.queues {
            let (name, trouble, concerns) = (sampled.queue().name(), sampled.trouble.as_deref(), sampled.concerns());
            out.answer(String::new, || concerns::document(name, &concerns, trouble, sampled.watched()))?;
        }
        return Ok(Exit::Done);
    }
    for line in screen::queues(&model, usize::MAX) {
        out.text(&format!("{}\n", line.text.trim_end()))?;
    }
    Ok(Exit::Done)
}

/// Draws and reads keys until one ends it.
fn watch(mut model: Model, queues: &Arc<Registry>, most: u32) -> Result<Exit> {
    let stop = Stop::listen_at_terminal(terminal::restore_at_once)?;
    registry::watch(queues, (model.every, most), stop.clone(), || ())
        .map_err(|error| Failure::Partly(format!("no thread for the figures: {error}"), Exit::Unavailable))?;
    let calls = calls::Calls::start()
        .map_err(|error| Failure::Partly(format!("no thread for the database: {error}"), Exit::Unavailable))?;
    let mut terminal = terminal::Terminal::open()?;
    loop {
        if let Some(signal) = stop.signal() {
            return Ok(Exit::Signal(signal));
        }
        model.take(queues);
        if let Some(Step::Call(call)) = calls.came().map(|came| model.receive(came)) {
            calls.make(*call);
        }
        terminal.draw(&screen::lines(&mut model, terminal.size()))?;
        // A key or an answer is seen within this time.
        let within = Duration::from_millis(if model.is_waiting() { 50 } else { 200 });
        match terminal.key(within)?.map(|key| model.press(key)) {
            Some(Step::End) => return Ok(Exit::Done),
            Some(Step::Call(call)) => calls.make(*call),
            Some(Step::Stay) | None => {}
        }
    }
}
