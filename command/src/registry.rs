//! Which queues there are: those that are installed now, whatever was installed when the server began.

use crate::failure::Result;
use crate::sampler::Sampler;
use crate::signals::Stop;
use readpast::config::Config;
use readpast::install::{Installed, installed};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

pub struct Registry {
    config: Config,
    /// Takes remarks: what appears, goes and fails.
    report: fn(&str),
    /// The only ones that are shown, where some were named; all else.
    only: Vec<String>,
    samplers: RwLock<Vec<Arc<Sampler>>>,
}

impl Registry {
    /// Opens the queues. One that was named must be there. Of several places one may have a queue that the others lack, which is not
    /// shown.
    pub fn open(config: Config, only: &[String], report: fn(&str)) -> Result<Self> {
        let found = installed(&config)?;
        let description = |name: &str| found.iter().find(|found| found.queue == name).map(|i| i.description.clone());
        let names: Vec<_> =
            if only.is_empty() { found.iter().map(|i| &i.queue).collect() } else { only.iter().collect() };
        let passes = only.is_empty() && config.each()?.len() > 1;
        let mut samplers = Vec::new();
        for name in names {
            match Sampler::open(&config, name, description(name), None, report) {
                Ok(sampler) => samplers.push(sampler),
                Err(failure) if passes => report(&format!("{name} is not shown: {}", failure.message())),
                Err(failure) => return Err(failure),
            }
        }
        Ok(Self { config, report, only: only.to_owned(), samplers: RwLock::new(samplers) })
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The queues that were named; none where all are shown.
    pub fn only(&self) -> &[String] {
        &self.only
    }

    pub fn all(&self) -> Vec<Arc<Sampler>> {
        self.samplers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a queue of this name may be shown: also one that is gone.
    pub fn shows(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    pub fn find(&self, name: &str) -> Option<Arc<Sampler>> {
        self.all().into_iter().find(|sampler| sampler.queue.name() == name)
    }

    /// Looks at what is installed. `reported` is what could not be done the last time, and what cannot be done now: each is reported
    /// once, and not with every look.
    pub fn refresh(&self, reported: &mut Vec<String>) {
        let before = self.all();
        let mut trouble = Vec::new();
        let found = match before.first() {
            Some(sampler) => sampler.queue.installed(),
            None => installed(&self.config),
        };
        match found {
            Ok(found) => {
                let after = self.follow(&before, &found, &mut trouble);
                *self.samplers.write().unwrap_or_else(PoisonError::into_inner) = after;
            }
            Err(error) => trouble.push(format!("the installed queues cannot be read: {error}")),
        }
        for text in trouble.iter().filter(|text| !reported.contains(text)) {
            (self.report)(text);
        }
        *reported = trouble;
    }

    fn follow(&self, before: &[Arc<Sampler>], found: &[Installed], trouble: &mut Vec<String>) -> Vec<Arc<Sampler>> {
        let mut after = Vec::new();
        for Installed { queue, description, .. } in found {
            if !self.only.is_empty() && !self.only.contains(queue) {
                continue;
            }
            let old = before.iter().find(|sampler| sampler.queue.name() == queue);
            if let Some(same) = old.filter(|sampler| sampler.description.as_ref() == Some(description)) {
                after.push(Arc::clone(same));
                continue;
            }
            match Sampler::open(&self.config, queue, Some(description.clone()), old.map(AsRef::as_ref), self.report) {
                Ok(sampler) => {
                    (self.report)(&format!(
                        "{queue} is {}",
                        if old.is_some() { "described anew" } else { "now shown" }
                    ));
                    after.push(sampler);
                }
                Err(failure) => {
                    trouble.push(format!("{queue} cannot be shown as it is now: {}", failure.message()));
                    after.extend(old.cloned());
                }
            }
        }
        for gone in before.iter().filter(|sampler| !found.iter().any(|found| found.queue == sampler.queue.name())) {
            // A queue that was named must be missed: its figures fail, and that is reported.
            if self.only.is_empty() {
                (self.report)(&format!("{} is no longer installed", gone.queue.name()));
            } else {
                after.push(Arc::clone(gone));
            }
        }
        after
    }
}

/// Takes figures every so often until it is to stop, and calls `tell` after each round.
pub fn watch(
    queues: &Arc<Registry>,
    (every, most): (Duration, u32),
    stop: Stop,
    mut tell: impl FnMut() + Send + 'static,
) -> std::io::Result<()> {
    let queues = Arc::clone(queues);
    let mut reported = Vec::new();
    let look = move || {
        while stop.signal().is_none() {
            let begun = Instant::now();
            queues.refresh(&mut reported);
            for sampler in queues.all() {
                sampler.sample(most);
            }
            tell();
            // A slow sample is not repeated at once: the database has other work.
            let pause = every.saturating_sub(begun.elapsed()).max(begun.elapsed());
            let until = Instant::now() + pause;
            while stop.signal().is_none() && Instant::now() < until {
                thread::sleep(Duration::from_millis(50));
            }
        }
    };
    thread::Builder::new().name("figures".to_owned()).spawn(look).map(drop)
}
