//! An install over several places: the same at each.

use super::{Installed, install_at};
use crate::config::Config;
use crate::description::QueueSpec;
use crate::error::{Error, ErrorKind, Result};
use crate::threads;

/// Installs at each of them, by their names. It changes nothing where they differ, but by a part of this same install.
pub(super) fn install(places: &[Config], spec: Option<&QueueSpec>) -> Result<()> {
    if let Some(spec) = spec {
        compare(places, spec)?;
    }
    let mut done = Vec::new();
    for config in places {
        let name = config.place().unwrap_or_default();
        install_at(config, spec).map_err(|error| {
            let context = match done.as_slice() {
                [] => format!("place {name}"),
                done => format!("it is installed at {}, and not at {name} and those behind it", done.join(", ")),
            };
            error.in_context(context)
        })?;
        done.push(name);
    }
    Ok(())
}

/// Refuses places that have different descriptions of the queue, besides the new one.
fn compare(places: &[Config], spec: &QueueSpec) -> Result<()> {
    let new = spec.to_json();
    let mut others: Vec<(String, String)> = Vec::new();
    for config in places {
        let name = config.place().unwrap_or_default();
        let there = match super::installed(config) {
            Err(error) if error.kind() == ErrorKind::SchemaMissing => continue,
            there => there.map_err(|error| error.in_context(format_args!("place {name}")))?,
        };
        let there = there.into_iter().find(|known| known.queue == spec.queue.as_str() && known.description != new);
        others.extend(there.map(|known| (name.to_owned(), known.description)));
    }
    match others.split_first() {
        Some(((one, text), more)) => match more.iter().find(|(_, other)| other != text) {
            None => Ok(()),
            Some((other, _)) => {
                let message = format!(
                    "the places {one} and {other} have different descriptions of queue {}: look what differs, and install at one \
                     of them with \"place\" first",
                    spec.queue
                );
                Err(Error::new(ErrorKind::SchemaMismatch, message))
            }
        },
        None => Ok(()),
    }
}

/// The queues that are installed at any of them that answers.
pub(super) fn installed(places: &[Config]) -> Result<Vec<Installed>> {
    let mut failure = None;
    let mut keep = |config: &Config, error: Error| {
        let place = config.place().unwrap_or_default();
        failure.get_or_insert(error.in_context(format_args!("place {place}")));
    };
    let each = places.iter().zip(threads::each(places, super::installed));
    let there: Vec<_> = each.filter_map(|(config, there)| there.map_err(|error| keep(config, error)).ok()).collect();
    failure.filter(|_| there.is_empty()).map_or_else(|| Ok(at_any(there)), Err)
}

/// Each queue once, by their names.
pub(crate) fn at_any(each: impl IntoIterator<Item = Vec<Installed>>) -> Vec<Installed> {
    let mut all: Vec<_> = each.into_iter().flatten().collect();
    all.sort_by(|one, other| one.queue.cmp(&other.queue));
    all.dedup_by(|one, other| one.queue == other.queue);
    all
}
