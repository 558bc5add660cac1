//! The setting that would help against a limit, with its price.

use super::{Budget, Limit};
use crate::dialect::Dialect;

/// The settings of a run on which the advice depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circumstances {
    /// The server's kind.
    pub dialect: Dialect,
    /// Items a call.
    pub batch: u32,
    /// Whether the queue has shards.
    pub has_shards: bool,
    /// Whether claims take turns: the queue has groups or limits.
    pub takes_turns: bool,
    /// Whether the server's waits could be read.
    pub sees_waits: bool,
}

/// One sentence.
#[must_use]
pub fn remedy(budget: &Budget, at: Circumstances) -> String {
    let batches = "more items a call (`--batch 100` here; a `Worker` gathers them by itself, up to `worker.ahead`)";
    let few = at.batch < 10;
    match budget.limit() {
        Limit::Handlers => {
            "more handlers at once: `--workers` here, `--jobs` of `readpast work`, the threads of a `Worker`; \
                            or faster handlers"
                .to_owned()
        }
        Limit::NothingDue => {
            "more items: the workers waited for work, so this run shows no limit (`--items`)".to_owned()
        }
        Limit::RoundTrip if few => format!("{batches}; or workers nearer to the server"),
        Limit::RoundTrip => "workers nearer to the server".to_owned(),
        Limit::LogFlush if few => format!("{batches}; then {}", lazy(at.dialect)),
        Limit::LogFlush => lazy(at.dialect).to_owned(),
        Limit::Replica if few => {
            format!("{batches}; a commit waits for a replica, and asynchronous commit would risk its items")
        }
        Limit::Replica => "a nearer replica; asynchronous commit would risk what has been settled".to_owned(),
        Limit::Head if at.takes_turns => {
            format!("{batches}; claims of a queue with groups or limits take turns, so more workers bring nothing")
        }
        Limit::Head if few => format!("{batches}; then fewer calls at once (`worker.fetchers = 1`{})", shards(at)),
        Limit::Head => format!("fewer calls at once: `worker.fetchers = 1`, fewer processes{}", shards(at)),
        Limit::OtherWaits => "a look at the waits above; pages read from disk want memory, or fewer finished rows \
                              (`retention`, `completion = \"history\"`)"
            .to_owned(),
        Limit::ServerWork if few => format!("{batches}; a statement's cost is then shared"),
        Limit::ServerWork => {
            "a server with more or faster processors; `readpast doctor` looks for bad plans".to_owned()
        }
        Limit::Unexplained if !at.sees_waits => {
            "the right to read the server's waits, which shows more (docs/dba.md)".to_owned()
        }
        Limit::Unexplained => {
            "more processors for the workers, or workers in more processes and on more machines".to_owned()
        }
        Limit::Client => "workers in more processes or on more machines; their own work takes the time".to_owned(),
        Limit::Processors if few => {
            format!("{batches}: an item then costs less of a processor; else {}", processors(budget))
        }
        Limit::Processors => processors(budget).to_owned(),
        Limit::OtherPrograms => {
            "a quiet machine: other programs keep its processors busy, so this run shows their load and no limit"
                .to_owned()
        }
        Limit::Unknown => "a longer run: more `--items`, a longer `--for`".to_owned(),
    }
}

/// Commits that do not wait, where nothing settled can be lost.
fn lazy(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "`lease.durable = false`, with which claims do not wait for the log (after a crash of the server, claims of the \
             last moment are done again); or a faster device for the log"
        }
        Dialect::SqlServer => {
            "`lease.durable = false` with `ALTER DATABASE ... SET DELAYED_DURABILITY = ALLOWED`, with which claims do not wait \
             for the log (after a crash of the server, claims of the last moment are done again); or a faster device for the log"
        }
    }
}

fn shards(at: Circumstances) -> &'static str {
    if at.has_shards { "" } else { "; `shards = 8` in the description, which keeps the order within a shard only" }
}

fn processors(budget: &Budget) -> &'static str {
    if budget.is_own_work() {
        return "more processors for the workers, or workers on more machines";
    }
    match budget.here.has_server {
        true => "more processors: server and workers share those of this machine; or workers on another machine",
        _ if budget.server_busy.is_some_and(|busy| busy >= budget.here.machine.unwrap_or(0.0)) => {
            "more processors for the server"
        }
        _ => "more processors for this machine, or workers on another one",
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Busy, Observed, Spent};
    use super::*;
    use std::time::Duration;

    const AT: Circumstances =
        Circumstances { dialect: Dialect::Postgres, batch: 1, has_shards: false, takes_turns: false, sees_waits: true };

    /// A budget of which this is the limit.
    fn budget(limit: Limit) -> Budget {
        let took = Duration::from_secs(if limit == Limit::Unknown { 0 } else { 10 });
        let busy = match limit {
            Limit::Processors => Busy { own: Some(0.95), ..Busy::default() },
            Limit::OtherPrograms => Busy { own: Some(0.1), machine: Some(0.95), ..Busy::default() },
            _ => Busy::default(),
        };
        let spent = Spent::default();
        let budget = Budget::new(Dialect::Postgres, &spent, took, &Observed::default(), busy);
        let budget = Budget { parts: vec![(limit, 1.0)], ..budget };
        assert_eq!(budget.limit(), limit);
        budget
    }

    #[test]
    fn each_limit_has_its_setting() {
        for (limit, words) in [
            (Limit::Handlers, "`--jobs`"),
            (Limit::NothingDue, "`--items`"),
            (Limit::RoundTrip, "`--batch 100`"),
            (Limit::LogFlush, "`lease.durable = false`"),
            (Limit::Replica, "replica"),
            (Limit::Head, "`shards = 8`"),
            (Limit::OtherWaits, "`retention`"),
            (Limit::ServerWork, "`--batch 100`"),
            (Limit::Unexplained, "more processors"),
            (Limit::Client, "more processes"),
            (Limit::Processors, "more processors for the workers"),
            (Limit::OtherPrograms, "a quiet machine"),
            (Limit::Unknown, "a longer run"),
        ] {
            let text = remedy(&budget(limit), AT);
            assert!(text.contains(words), "{limit:?}: {text}");
        }
    }

    #[test]
    fn advice_fits_the_run() {
        let large = Circumstances { batch: 100, ..AT };
        for limit in
            [Limit::RoundTrip, Limit::LogFlush, Limit::Replica, Limit::Head, Limit::ServerWork, Limit::Processors]
        {
            let [one, many] = [AT, large].map(|at| remedy(&budget(limit), at));
            assert!(one.contains("--batch") && !many.contains("--batch"), "{limit:?}: {one}; {many}");
        }
        let sharded = Circumstances { has_shards: true, ..large };
        let (text, without) = (remedy(&budget(Limit::Head), sharded), remedy(&budget(Limit::Head), large));
        assert!(text.contains("worker.fetchers") && !text.contains("shards = 8") && without.contains("shards = 8"));
        let turns = remedy(&budget(Limit::Head), Circumstances { takes_turns: true, ..large });
        assert!(turns.contains("take turns") && !turns.contains("shards"), "{turns}");
        let server = remedy(&budget(Limit::LogFlush), Circumstances { dialect: Dialect::SqlServer, ..large });
        assert!(server.contains("DELAYED_DURABILITY = ALLOWED"), "{server}");
        let blind = remedy(&budget(Limit::Unexplained), Circumstances { sees_waits: false, ..AT });
        assert!(blind.contains("docs/dba.md"), "{blind}");
    }

    #[test]
    fn processors_are_those_of_their_machine() {
        let here = |own, has_server, server_busy| {
            let here = Busy { processors: 2, own: Some(own), machine: Some(0.95), has_server };
            let budget = Budget { here, server_busy, at_work: 1.0, ..budget(Limit::Processors) };
            processors(&budget)
        };
        assert!(here(0.95, true, None).contains("for the workers"));
        assert!(here(0.4, true, None).contains("share those of this machine"));
        assert!(here(0.4, false, Some(0.97)).contains("for the server"));
        assert!(here(0.6, false, None).contains("for this machine"));
    }
}
