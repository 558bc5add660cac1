//! Checks the options of a description beyond its columns.

use super::{Checked, DescriptionPath, RETENTION, SHARDS, columns, limits, same_name, spread};
use crate::description::parse::ranges;
use crate::description::{
    ColumnKind, ColumnSpec, Completion, Direction, OnDuplicate, QueueSpec, RetentionSpec, SHARD, Storage,
};
use crate::ident::Identifier;
use crate::item::{ItemState, PARENT};

/// The longest prefix of a setting's name: the names are held to 100 characters.
const MAX_SETTINGS_CHARS: usize = 60;

pub(super) fn check(spec: &QueueSpec) -> Checked {
    let root = DescriptionPath::default();
    order(&root.key("order"), spec)?;
    claim_by(&root.key("claim_by"), spec)?;
    shards(&root.key("shards"), spec)?;
    limits::check(&root.key("limit"), spec)?;
    spread::check(&root.key("spread_by"), spec)?;
    trace(&root.key("trace"), spec)?;
    expires(&root.key("expires"), spec)?;
    after(&root.key("after"), spec)?;
    ranges(&root, spec)?;
    backoff(&root.key("backoff"), spec)?;
    let why = || {
        "cannot be false with a group: after a crash that forgets a claim, its item, or the next of the group, is \
         handed out while the first worker still has it"
            .to_owned()
    };
    root.key("lease").key("durable").need(spec.lease.durable || spec.order.group.is_none(), why)?;
    completion(&root.key("completion").key("history"), spec)?;
    retention(&root.key("retention"), spec)?;
    dedup(&root.key("dedup").key("columns"), spec)?;
    on_duplicate(&root.key("dedup").key("on_duplicate"), spec)?;
    schedules(&root.key("schedule"), spec)?;
    roles(&root.key("roles").key("own_types_only"), spec)?;
    settings(&root.key("settings"), spec)
}

fn schedules(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    let Some(schedules) = &spec.schedules else { return Ok(()) };
    place.need(spec.claimed_by().is_none(), || "is for queues whose items readpast claims".to_owned())?;
    for (i, schedule) in schedules.iter().enumerate() {
        let place = place.nth(i);
        schedule.check(spec).or_else(|(key, why)| place.key(key).refuse(why).map(|()| String::new()))?;
        let again = schedules[..i].iter().any(|other| other.name.to_lowercase() == schedule.name.to_lowercase());
        place.key("name").need(!again, || format!("{:?} is the name of another schedule", schedule.name))?;
    }
    Ok(())
}

fn order(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    let by = place.key("by");
    if !spec.order.by.is_empty() {
        let why = || "is for described tables; readpast's own go by ScheduledFor and EnqueuedAt".to_owned();
        by.need(!spec.is_own(), why)?;
        let why = || "makes no sense with the direction \"unordered\"".to_owned();
        by.need(spec.order.direction != Direction::Unordered, why)?;
    }
    for (i, name) in spec.order.by.iter().enumerate() {
        by.nth(i).column(name, &columns::all(spec))?;
    }
    by.distinct(&spec.order.by)?;
    if let Some(priority) = &spec.order.priority {
        let place = place.key("priority").key("column");
        let names: Vec<_> = spec.columns.iter().map(|column| &column.name).collect();
        place.column(&priority.column, &names)?;
        let fits = |kind| matches!(kind, ColumnKind::Integer | ColumnKind::BigInteger);
        let fits = spec.columns.iter().any(|c| c.name == priority.column && fits(c.kind) && !c.nullable);
        place.need(fits, || {
            format!(
                "the column {:?} has to be of type integer or bigint and not nullable, to give the order",
                priority.column.as_str()
            )
        })?;
    }
    if let Some(group) = &spec.order.group {
        let place = place.key("group");
        let why = || "asks for the oldest item of each group first, so the direction has to be \"fifo\"".to_owned();
        place.need(spec.order.direction == Direction::Fifo, why)?;
        place.column(group, &columns::given(spec))?;
        columns::indexed(&place, spec, group)?;
        let is_binary = spec.columns.iter().any(|c| c.name == *group && matches!(c.kind, ColumnKind::Binary(_)));
        place.need(!is_binary, || format!("{:?} has bytes, but a group is a text", group.as_str()))?;
        // The answer to why a group waits has its value.
        let is_secret = spec.columns.iter().any(|column| column.secret && same_name(&column.name, group));
        place.need(!is_secret, || format!("{:?} cannot be secret: it is the group of items", group.as_str()))?;
    }
    Ok(())
}

fn claim_by(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    let Storage::Table(table) = &spec.storage else { return Ok(()) };
    let (by, lifecycle) = (spec.claim_by, &table.lifecycle);
    for (is_named, column, role) in [(by.kind, &lifecycle.kind, "type"), (by.step, &lifecycle.step, "step")] {
        place.need(!is_named || column.is_some(), || {
            format!("the table has no column for it; name it in table.lifecycle.{role}")
        })?;
    }
    Ok(())
}

/// Several heads in the place of one. It refuses options that would bring its claims back to one, or multiply their searches.
fn shards(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    let Some(shards) = spec.shards else { return Ok(()) };
    place.number(shards, &SHARDS)?;
    place.need(spec.is_own(), || {
        "is for readpast's own table, where the shard follows from the key: in a table of yours an item whose shard nobody asks \
         for would wait for ever. There, name a column of yours that has a few values in table.lifecycle.type, list them in \
         \"types\", write claim_by = [\"type\"], and let each process take some of them (worker.types)"
            .to_owned()
    })?;
    place.need(spec.order.group.is_none(), || {
        "makes no sense beside order.group: its claims take turns, so that one head is as good as many".to_owned()
    })?;
    let by_kind = "each kind has a head of its own already, and a claim would search in each kind of each shard";
    place.need(!spec.claim_by.kind && !spec.claim_by.step, || format!("cannot be beside claim_by: {by_kind}"))?;
    place.need(!spec.roles.own_types_only, || format!("cannot be beside roles.own_types_only: {by_kind}"))?;
    let taken = spec.columns.iter().find(|column| same_name(&column.name, &Identifier::known(SHARD)));
    place.need(taken.is_none(), || {
        format!("needs the name {SHARD} for a column of the table; call yours something else")
    })
}

fn trace(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    let Some(name) = &spec.trace else { return Ok(()) };
    place.column(name, &spec.columns.iter().map(|column| &column.name).collect::<Vec<_>>())?;
    let fits = |column: &ColumnSpec| column.nullable && column.kind.most_chars().is_some_and(|most| most >= PARENT);
    let fits = spec.columns.iter().any(|column| column.name == *name && fits(column));
    place.need(fits, || {
        format!(
            "the column {:?} has to be nullable text of {PARENT} characters or more, for a traceparent",
            name.as_str()
        )
    })?;
    let is_work = spec.dedup.iter().flat_map(|dedup| &dedup.columns).any(|column| column == name);
    place.need(!is_work, || "cannot be in \"dedup\": no two items are enqueued by the same span".to_owned())
}

fn expires(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    let Some(name) = &spec.expires else { return Ok(()) };
    place.column(name, &spec.columns.iter().map(|column| &column.name).collect::<Vec<_>>())?;
    let is_time = |column: &ColumnSpec| column.name == *name && column.kind == ColumnKind::Timestamp;
    place.need(spec.columns.iter().any(is_time), || {
        format!("the column {:?} has to be a timestamp: the time after which it is too late", name.as_str())
    })?;
    place.need(spec.claimed_by().is_none(), || "is for queues whose items readpast claims".to_owned())?;
    let is_local = spec.table().is_some_and(|table| table.local_time);
    place.need(!is_local, || "cannot be in a table whose times are local: this one is compared with UTC".to_owned())
}

fn after(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    if !spec.after {
        return Ok(());
    }
    // A table of others has programs whose statements a trigger would disturb, and keys in any order.
    place.need(spec.is_own(), || "is for tables of readpast's own".to_owned())?;
    let names = spec.dedup.as_ref().is_none_or(|dedup| dedup.existing);
    place.need(names, || {
        "needs dedup.answer = \"existing\": an item may wait for an earlier one of its call, which may be a duplicate"
            .to_owned()
    })
}

fn backoff(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    let Some(backoff) = spec.backoff else { return Ok(()) };
    let first_ms = backoff.first_ms;
    let why = || format!("is less than first_ms, which is {first_ms}");
    place.key("cap_ms").need(backoff.cap_ms >= first_ms, why)
}

fn completion(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    let Completion::History(history) = &spec.completion else { return Ok(()) };
    let why = || "would be lost when an item moves to the history; keep or delete completed items".to_owned();
    DescriptionPath::default().key("subtypes").need(spec.subtypes.is_empty(), why)?;
    match &spec.storage {
        Storage::Table(table) => {
            let why = || "the history is kept in another table than the queue".to_owned();
            place.need(!same_name(&table.name, history), why)
        }
        _ => {
            let attempts = [format!("{}_Attempt", spec.queue), format!("{}_attempt", spec.queue.snake_case())];
            let is_taken = attempts.iter().any(|name| name.eq_ignore_ascii_case(history.as_str()));
            place.need(!(spec.attempt_history && is_taken), || "is the table of the attempts".to_owned())?;
            let reports = [format!("{}_Progress", spec.queue), format!("{}_progress", spec.queue.snake_case())];
            let is_taken = reports.iter().any(|name| name.eq_ignore_ascii_case(history.as_str()));
            place.need(!(spec.progress && is_taken), || "is the table of the progress".to_owned())?;
            place.word(history)
        }
    }
}

fn retention(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    for (i, rule) in spec.retention.iter().enumerate() {
        let Some(key) = rule.key() else {
            return place.refuse(format!("{} is not final: its items are unfinished", rule.state));
        };
        let place = place.key(key);
        place.number(rule.seconds, &RETENTION)?;
        let named_before = spec.retention[..i].iter().any(|other| other.state == rule.state);
        place.need(!named_before, || "is there already".to_owned())?;
        let stays = rule.state != ItemState::Completed || spec.completion == Completion::Keep;
        let tells_when = match &spec.storage {
            Storage::Table(table) => !table.beside() || table.lifecycle.finished.is_some(),
            _ => true,
        };
        place.need(rule.state != ItemState::Completed || tells_when, || {
            "needs a column for the time of the end: name it in table.lifecycle.finished".to_owned()
        })?;
        place.need(stays, || "makes no sense, since \"completion\" leaves nothing there".to_owned())?;
    }
    let Some(seconds) = spec.attempt_retention else { return Ok(()) };
    let place = place.key(RetentionSpec::HISTORY);
    place.number(seconds, &RETENTION)?;
    place.need(spec.attempt_history, || {
        "is for attempts, but none are recorded; say attempts.history = true as well".to_owned()
    })
}

fn dedup(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    let Some(dedup) = &spec.dedup else { return Ok(()) };
    place.need(!dedup.columns.is_empty(), || "must be a list of at least one value, not an empty list".to_owned())?;
    for (i, name) in dedup.columns.iter().enumerate() {
        place.nth(i).column(name, &columns::given(spec))?;
        columns::indexed(&place.nth(i), spec, name)?;
    }
    place.distinct(&dedup.columns)
}

fn on_duplicate(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    let Some(dedup) = spec.dedup.as_ref().filter(|dedup| dedup.on_duplicate != OnDuplicate::Keep) else {
        return Ok(());
    };
    place.need(spec.is_own(), || {
        "is for readpast's own tables: a replaced item gets all values of the new one, and in a table of yours readpast never \
         writes the columns by which items are ordered and found; there, let the producer edit the item that waits"
            .to_owned()
    })?;
    place.need(!spec.after, || {
        "cannot be beside \"after\": an item that waits for others is due when they have ended, not when a new one says".to_owned()
    })?;
    // An item that waits stands in the line of its key.
    let moves = spec.limits.iter().filter_map(|limit| limit.by.as_ref()).find(|by| !dedup.columns.contains(by));
    place.need(moves.is_none(), || {
        let by = moves.map_or("", |by| by.as_str());
        format!("would move items from one key of the limit by {by:?} to another; add that column to dedup.columns")
    })
}

fn roles(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    let Storage::Table(table) = &spec.storage else { return Ok(()) };
    let why = || "the table has no column for the type; name it in table.lifecycle.type".to_owned();
    place.need(!spec.roles.own_types_only || table.lifecycle.kind.is_some(), why)
}

fn settings(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    let text = spec.settings.as_str();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    place.need(!text.is_empty() && text.len() <= MAX_SETTINGS_CHARS && text.chars().all(plain), || {
        format!("use letters, digits, points, hyphens and underscores (ASCII), {MAX_SETTINGS_CHARS} at most")
    })
}
