//! `readpast serve`: pages, metrics, health and the number of workers over HTTP.

mod act;
mod alert;
mod answer;
mod auth;
mod chart;
mod doctor;
mod encoding;
mod environment;
mod failed;
mod fingerprint;
mod forecast;
mod item;
mod items;
mod life;
mod listen;
mod metrics;
mod notices;
mod overview;
mod paced;
mod pages;
mod queue;
mod request;
mod routes;
mod search;
mod slots;
mod times;
mod turns;
mod workers;

use crate::exit::Exit;
use crate::failure::{Result, usage};
use crate::global::Global;
use crate::output::{Output, note};
use crate::registry::Registry;
use crate::secret_file::SecretFile;
use crate::signals::Stop;
use crate::{connection, duration};
use auth::{Access, Auth};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Shows queues in a browser, and exports their figures to monitoring systems
///
/// It serves pages at / (each also as JSON: ?format=json), metrics for Prometheus at /metrics, health at /health/live and /health/ready, and the number of workers for
/// KEDA at /scale/QUEUE. Figures come from bounded looks at the indexes, at the same cost in a queue of ten million items as in an empty
/// one; their history is kept in memory. By default it listens on this machine only; on another address it needs a token or an
/// authenticating proxy. It changes nothing without --allow-actions. To look, its login needs only the role monitor.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast serve --environment production --allow-actions
  readpast serve --alerts alerts.toml --queue Notification
  readpast serve --listen 10.0.0.5:8086 --token-file token --host queues.example.com")]
pub struct Args {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:8086", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// A host name that browsers may use, besides localhost and addresses; may be given again
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// A file with the token that clients must send: as the password of a browser's log-in, or as a bearer token
    #[arg(long, value_name = "FILE", conflicts_with = "trust_header")]
    token_file: Option<PathBuf>,
    /// The header in which a reverse proxy names the user; requests without it are refused. The proxy must drop it from clients
    #[arg(long, value_name = "HEADER")]
    trust_header: Option<String>,
    /// Lets viewers redrive, retry, cancel, pause and resume items, as far as this command's login may
    #[arg(long)]
    allow_actions: bool,
    /// The name of the environment in the head of each page. If it begins with the word `production`, `prod` or `live`, an action needs the queue's name typed
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// The colour of that name; production is red
    #[arg(long, value_name = "COLOR", requires = "environment")]
    color: Option<environment::Color>,
    /// Shows no payload: the values of the queue's own columns. Keys stay: addresses and the log of actions name items by them
    #[arg(long)]
    hide_payload: bool,
    /// How often the figures are taken
    #[arg(long, default_value = "5s", value_name = "INTERVAL", value_parser = duration::interval)]
    every: Duration,
    /// The most rows that a look reads
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    most: u32,
    /// A file with rules: whom to notify when too much is due, waits too long, fails, or has no worker (docs/operate.md)
    #[arg(long, value_name = "FILE")]
    alerts: Option<PathBuf>,
    /// Shows only this queue; may be given again. Without it: all installed queues, also later ones
    #[arg(long = "queue", value_name = "QUEUE")]
    queues: Vec<String>,
}

/// The most time that one look into the database may take: who waits for a page does not wait longer.
const LONGEST_CALL: &str = "15000";

/// All that the answers are made from.
struct App {
    auth: Auth,
    queues: Arc<Registry>,
    pages: pages::Pages,
    notices: notices::Notices,
    schema: String,
    environment: environment::Environment,
    /// Whether items may be changed.
    acts: bool,
    hides_payload: bool,
    every: Duration,
    most: u32,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let access = access(global, args)?;
    if matches!(access, Access::Anybody) && !args.listen.ip().is_loopback() {
        return Err(usage(format!(
            "{} can be reached from other machines: give --token-file (or READPAST_SERVE_TOKEN), or --trust-header behind a \
             reverse proxy that knows the user",
            args.listen
        )));
    }
    let mut config = connection::config(global, "5000")?;
    config.set("query.timeout_ms", LONGEST_CALL)?;
    let schema = config.schema()?.as_str().to_owned();
    let queues = Registry::open(config, &args.queues, note)?;
    let count = queues.all().len();
    let app = App {
        auth: Auth::new(access, args.hosts.clone())?,
        queues: Arc::new(queues),
        pages: pages::Pages::new()?,
        notices: notices::Notices::default(),
        schema,
        environment: environment::Environment::new(args.environment.as_deref(), args.color),
        acts: args.allow_actions,
        hides_payload: args.hide_payload,
        every: args.every,
        most: args.most,
    };
    let rules = args.alerts.as_ref().map(|path| alert::Rules::read(global, path)).transpose()?;
    let stop = Stop::listen()?;
    let signal = listen::serve(Arc::new(app), rules, args.listen, &stop, |address| {
        note(&format!("http://{address}/ shows {count} queues"));
        out.answer(|| format!("listening on {address}"), || serde_json::json!({"listening": address.to_string()}))?;
        out.flush()
    })?;
    Ok(Exit::Signal(signal))
}

/// Clients that are admitted.
fn access(global: &Global, args: &Args) -> Result<Access> {
    if let Some(header) = &args.trust_header {
        return Ok(Access::Header(header.to_ascii_lowercase()));
    }
    let token = match &args.token_file {
        Some(path) => {
            let file = SecretFile::read(path)?;
            file.keeps_secret(global)?;
            Some(file.text.trim().to_owned())
        }
        None => std::env::var("READPAST_SERVE_TOKEN").ok(),
    };
    match token {
        None => Ok(Access::Anybody),
        Some(token) if token.len() < 16 || token.chars().any(|c| c.is_control() || c.is_whitespace()) => {
            Err(usage("the token must have at least 16 characters, and no blanks: `openssl rand -hex 16` makes one"))
        }
        Some(token) => Ok(Access::Token(token)),
    }
}
