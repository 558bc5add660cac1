//! `readpast top`: the queues of a schema on a terminal, again and again, with keys to open and steer items.

mod model;
mod sampler;
mod screen;
mod terminal;

use crate::concerns;
use crate::exit::Exit;
use crate::failure::Result;
use crate::global::Global;
use crate::output::Output;
use crate::signals::Stop;
use crate::{connection, duration, figures};
use model::{Model, Wish};
use sampler::{Sampled, Sampler};
use serde_json::json;
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
    #[arg(long, default_value = "2s", value_name = "INTERVAL", value_parser = interval)]
    every: Duration,
    /// The most rows that a look reads
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    most: u32,
    /// Shows only this queue; may be given again
    #[arg(long = "queue", value_name = "QUEUE")]
    queues: Vec<String>,
}

fn interval(text: &str) -> std::result::Result<Duration, String> {
    let interval = duration::parse(text)?;
    let range = Duration::from_secs(1)..=Duration::from_secs(3600);
    if range.contains(&interval) { Ok(interval) } else { Err("from 1s to 1h".to_owned()) }
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let config = connection::config(global, "5000")?;
    let schema = config.schema()?.as_str().to_owned();
    let sampler = Sampler::open(config, &args.queues, args.most)?;
    if out.is_json() || !out.is_terminal() {
        return once(&schema, &sampler, out);
    }
    watch(Model::new(&schema, args.every), &sampler, args.every)
}

/// The figures as they are now: a line for each queue.
fn once(schema: &str, sampler: &Sampler, out: &Output) -> Result<Exit> {
    let found = sampler.sample();
    if out.is_json() {
        for sampled in &found {
            out.answer(String::new, || document(sampled))?;
        }
        return Ok(Exit::Done);
    }
    let mut model = Model::new(schema, Duration::ZERO);
    model.take(found);
    for line in screen::queues(&model, usize::MAX) {
        out.text(&format!("{}\n", line.text.trim_end()))?;
    }
    Ok(Exit::Done)
}

fn document(sampled: &Sampled) -> serde_json::Value {
    let concerns = sampled.concerns();
    json!({
        "queue": sampled.queue.name(),
        "status": concerns::status(&concerns),
        "concerns": concerns.iter().map(concerns::Concern::document).collect::<Vec<_>>(),
        "trouble": sampled.trouble,
        "figures": sampled.watched.as_ref().map(figures::document),
    })
}

/// Draws and reads keys until one ends it.
fn watch(mut model: Model, sampler: &Sampler, every: Duration) -> Result<Exit> {
    let samples = sampler.start(every)?;
    let stop = Stop::listen()?;
    let mut terminal = terminal::Terminal::open()?;
    loop {
        if let Some(signal) = stop.signal() {
            return Ok(Exit::Signal(signal));
        }
        if let Some(found) = samples.newest() {
            model.take(found);
        }
        terminal.draw(&screen::lines(&model, terminal.size()))?;
        let Some(key) = terminal.key(Duration::from_millis(200))? else { continue };
        match model.press(key) {
            Some(Wish::End) => return Ok(Exit::Done),
            Some(Wish::Sample) => samples.hurry(),
            None => {}
        }
    }
}
