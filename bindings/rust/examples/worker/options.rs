//! The values of the command line.

use readpast::Config;
use std::error::Error;
use std::str::FromStr;

const USAGE: &str = "usage: worker [-b items] [-l lease_ms] [-o key=value]... [-f n] [-r] queue";

pub struct Options {
    pub config: Config,
    pub queue: String,
    pub batch_size: u32,
    pub fail_every: Option<u64>,
    pub records: bool,
}

impl Options {
    pub fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut config = Config::new();
        config.set("connection", &std::env::var("READPAST_CONNECTION").unwrap_or_default())?;
        let mut options = Self { config, queue: String::new(), batch_size: 50, fail_every: None, records: false };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(USAGE);
            match argument.as_str() {
                "-b" => options.batch_size = number(&value()?)?,
                "-l" => drop(options.config.set("lease.ms", &value()?)?),
                "-o" => {
                    let setting = value()?;
                    let (key, value) = setting.split_once('=').ok_or(USAGE)?;
                    options.config.set(key, value)?;
                }
                "-f" => options.fail_every = Some(number(&value()?)?),
                "-r" => options.records = true,
                queue if options.queue.is_empty() && !queue.starts_with('-') => options.queue = argument,
                _ => return Err(USAGE.into()),
            }
        }
        if options.queue.is_empty() { Err(USAGE.into()) } else { Ok(options) }
    }
}

fn number<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{text:?} is no number; {USAGE}"))
}
