//! `readpast serve`: pages, metrics, health and the number of workers over HTTP.

mod act;
mod alert;
mod answer;
mod auth;
mod chart;
mod day;
mod doctor;
mod edit;
mod encoding;
mod environment;
mod failed;
mod fingerprint;
mod forecast;
mod graph;
mod item;
mod items;
mod life;
mod limits;
mod listen;
mod metrics;
mod moving;
mod notices;
mod operations;
mod overview;
mod paced;
mod pages;
mod pauses;
mod places;
mod queue;
mod request;
mod right;
mod routes;
mod runner;
mod schedules;
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
use request::Request;
use right::Right;
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
    /// A file with the token that clients must send: as the password of a browser's log-in, or as a bearer token. Several tokens stand
    /// in a line each, and before each may stand what it is good for: `read`, `operate`, or `purge`, which is all
    #[arg(long, value_name = "FILE", conflicts_with = "trust_header")]
    token_file: Option<PathBuf>,
    /// The header in which a reverse proxy names the user; requests without it are refused. The proxy must drop it from clients
    #[arg(long, value_name = "HEADER")]
    trust_header: Option<String>,
    /// The header in which that proxy says what the user may: read, operate or purge; without it a user only reads
    #[arg(long, value_name = "HEADER", requires = "trust_header")]
    right_header: Option<String>,
    /// Lets viewers redrive, retry, cancel, pause and resume items, as far as this command's login may, and goes on with operations whose process has gone, but for purges
    #[arg(long)]
    allow_actions: bool,
    /// Lets viewers delete ended items, too, and goes on with such operations
    #[arg(long, requires = "allow_actions")]
    allow_purge: bool,
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

impl App {
    /// Whether a client may do it here: nothing without --allow-actions, no purge without --allow-purge, and what its own right is.
    fn may(&self, request: &Request, right: Right) -> bool {
        let most = if self.purges { Right::Purge } else { Right::Operate };
        right == Right::Read || (self.acts && right <= request.right.min(most))
    }
}

/// The longest wait for the steps of operations at the end.
const LONGEST_END: Duration = Duration::from_secs(10);

/// All that the answers are made from.
struct App {
    auth: Auth,
    queues: Arc<Registry>,
    pages: pages::Pages,
    notices: notices::Notices,
    schema: String,
    environment: environment::Environment,
    /// Whether items may be changed, and ended ones be deleted.
    acts: bool,
    purges: bool,
    /// The actions on many items that this process does.
    runner: runner::Runner,
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
    let stop = Stop::listen()?;
    let app = App {
        auth: Auth::new(access, args.hosts.clone())?,
        queues: Arc::new(queues),
        pages: pages::Pages::new()?,
        notices: notices::Notices::default(),
        schema,
        environment: environment::Environment::new(args.environment.as_deref(), args.color),
        acts: args.allow_actions,
        purges: args.allow_purge,
        runner: runner::Runner::new(stop.clone()),
        hides_payload: args.hide_payload,
        every: args.every,
        most: args.most,
    };
    let rules = args.alerts.as_ref().map(|path| alert::Rules::read(global, path)).transpose()?;
    let app = Arc::new(app);
    let signal = listen::serve(Arc::clone(&app), rules, args.listen, &stop, |address| {
        note(&format!("http://{address}/ shows {count} queues"));
        out.answer(|| format!("listening on {address}"), || serde_json::json!({"listening": address.to_string()}))?;
        out.flush()
    })?;
    // An operation goes on in another process after its present step.
    app.runner.finish(LONGEST_END);
    Ok(Exit::Signal(signal))
}

/// Clients that are admitted.
fn access(global: &Global, args: &Args) -> Result<Access> {
    if let Some(header) = &args.trust_header {
        let right = args.right_header.as_ref().map(|name| name.to_ascii_lowercase());
        return Ok(Access::Header(header.to_ascii_lowercase(), right));
    }
    let token = match &args.token_file {
        Some(path) => {
            let file = SecretFile::read(path)?;
            file.keeps_secret(global)?;
            Some(file.text)
        }
        None => std::env::var("READPAST_SERVE_TOKEN").ok(),
    };
    match token {
        None => Ok(Access::Anybody),
        Some(text) => tokens(text.trim()).map(Access::Token),
    }
}

/// The tokens of a text, one a line, some behind a right; one without has all.
fn tokens(text: &str) -> Result<Vec<(Right, String)>> {
    let token = |line: &str| {
        let line = line.trim();
        let (right, token) = match line.split_once(' ').map(|(word, token)| (Right::named(word), token.trim())) {
            Some((Some(right), token)) => (right, token),
            _ => (Right::Purge, line),
        };
        if token.len() < 16 || token.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(usage(
                "a token must have at least 16 characters, and no blanks: `openssl rand -hex 16` makes one; \
                 `read`, `operate` or `purge` may stand before it",
            ));
        }
        Ok((right, token.to_owned()))
    };
    // An empty text is no token.
    if text.is_empty() { token(text).map(|one| vec![one]) } else { text.lines().map(token).collect() }
}
