//! The description as JSON.

use super::retention;
use crate::description::{
    CheckSpec, ClaimBySpec, ClaimedBySpec, ColumnSpec, Completion, Direction, Holds, KeySource, LifecycleSpec, Literal,
    ProceduresSpec, QueueSpec, RetentionSpec, RowTest, ScheduleSpec, Storage, TableSpec,
};
use crate::ident::Identifier;
use serde_json::{Map, Value, json};
use uuid::Uuid;

impl QueueSpec {
    /// The description as JSON, complete: with the default of each option that was left out.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| {
            out.insert(key.to_owned(), value);
        };
        put("queue", json!(self.queue.as_str()));
        put("types", json!(self.types));
        match &self.storage {
            Storage::Own => {}
            Storage::Table(table) => {
                put("table", table_to_json(table));
                if let Some(claimed_by) = &table.claimed_by {
                    put("procedures", claimed_by_to_json(claimed_by));
                }
            }
            Storage::Procedures(procedures) => put("procedures", procedures_to_json(procedures)),
        }
        put("columns", columns_to_json(&self.columns));
        if let Some(trace) = &self.trace {
            put("trace", json!(trace.as_written()));
        }
        if let Storage::Procedures(_) = self.storage {
            return Value::Object(out).to_string();
        }
        if !self.steps.is_empty() {
            put("steps", json!(self.steps));
        }
        if !self.subtypes.is_empty() {
            put("subtypes", subtypes_to_json(self));
        }
        put("order", order_to_json(self));
        let claim_by = [("type", self.claim_by.kind), ("step", self.claim_by.step)];
        if self.claim_by != ClaimBySpec::default() {
            let listed: Vec<_> = claim_by.into_iter().filter(|(_, is)| *is).map(|(word, _)| word).collect();
            put("claim_by", json!(listed));
        }
        if let Some(shards) = self.shards {
            put("shards", json!(shards));
        }
        let mut attempts = json!({"limit": self.max_attempts});
        if self.attempt_history {
            attempts["history"] = json!(true);
        }
        put("attempts", attempts);
        let fraction = |percent: i32| f64::from(percent) / 100.0;
        put(
            "backoff",
            match self.backoff {
                Some(backoff) => json!({
                    "first_ms": backoff.first_ms, "factor": fraction(backoff.factor_percent),
                    "cap_ms": backoff.cap_ms, "jitter": fraction(backoff.jitter_percent)
                }),
                None => json!("none"),
            },
        );
        let lease = &self.lease;
        let kind = if lease.sliding { "sliding" } else { "fixed" };
        put("lease", json!({"ms": lease.ms, "kind": kind, "resume_own": lease.resume_own, "durable": lease.durable}));
        put(
            "completion",
            match &self.completion {
                Completion::Keep => json!("keep"),
                Completion::Delete => json!("delete"),
                Completion::History(table) => json!({"history": table.as_written()}),
            },
        );
        if self.deletes_what_is_over() {
            let rules = self.retention.iter().filter_map(|rule| Some((rule.key()?, rule.seconds)));
            let rules = rules.chain(self.attempt_retention.map(|age| (RetentionSpec::HISTORY, age)));
            let rules = rules.map(|(key, age)| (key.to_owned(), json!(retention::written(age))));
            put("retention", Value::Object(rules.collect()));
        }
        if let Some(dedup) = &self.dedup {
            let columns: Vec<_> = dedup.columns.iter().map(Identifier::as_written).collect();
            put(
                "dedup",
                json!({
                    "columns": columns, "answer": if dedup.existing { "existing" } else { "ignore" },
                    "among": if dedup.unfinished_only { "unfinished" } else { "all" }
                }),
            );
        }
        if let Some(schedules) = &self.schedules {
            put("schedule", schedules.iter().map(ScheduleSpec::to_json).collect());
        }
        put("roles", roles_to_json(self));
        put("settings", json!(self.settings));
        Value::Object(out).to_string()
    }

    /// All that the members of a new item go by, as a number that differs when it does: who has checked an item by it has checked it
    /// by what is installed.
    #[must_use]
    pub(crate) fn items_number(&self) -> String {
        let table = match &self.storage {
            Storage::Table(table) => table_to_json(table),
            _ => Value::Null,
        };
        let all = json!([self.types, self.steps, columns_to_json(&self.columns), subtypes_to_json(self), table]);
        Uuid::new_v5(&Uuid::NAMESPACE_OID, all.to_string().as_bytes()).to_string()
    }
}

fn subtypes_to_json(spec: &QueueSpec) -> Value {
    let subtype = spec.subtypes.iter().map(|subtype| {
        let columns = columns_to_json(&subtype.columns);
        json!({"name": subtype.name.as_written(), "exclusive": subtype.exclusive, "columns": columns})
    });
    subtype.collect()
}

fn columns_to_json(columns: &[ColumnSpec]) -> Value {
    let columns: Vec<_> = columns
        .iter()
        .map(|c| {
            let mut column = json!({"name": c.name.as_written(), "type": c.kind.to_string(), "nullable": c.nullable});
            if c.secret {
                column["secret"] = json!(true);
            }
            if let Some(kept) = &c.sql_type {
                column["sql_type"] = json!(kept.to_string());
            }
            if let Some(default) = &c.default {
                column["default"] = default.clone();
            }
            if let Some(CheckSpec { sql_server, postgres }) = &c.check {
                let both = sql_server == postgres;
                column["check"] =
                    if both { json!(sql_server) } else { json!({"sql_server": sql_server, "postgresql": postgres}) };
            }
            if let Some(references) = &c.references {
                column["references"] = json!(references.to_string());
            }
            column
        })
        .collect();
    json!(columns)
}

fn order_to_json(spec: &QueueSpec) -> Value {
    let order = &spec.order;
    let mut out = Map::new();
    let direction = match order.direction {
        Direction::Fifo => "fifo",
        Direction::Lifo => "lifo",
        Direction::Unordered => "unordered",
    };
    out.insert("direction".to_owned(), json!(direction));
    if !order.by.is_empty() {
        let by: Vec<_> = order.by.iter().map(Identifier::as_written).collect();
        out.insert("by".to_owned(), json!(by));
    }
    if let Some(priority) = &order.priority {
        let first = if priority.highest_first { "highest" } else { "lowest" };
        out.insert("priority".to_owned(), json!({"column": priority.column.as_written(), "first": first}));
    }
    if let Some(group) = &order.group {
        out.insert("group".to_owned(), json!(group.as_written()));
    }
    Value::Object(out)
}

fn roles_to_json(spec: &QueueSpec) -> Value {
    let roles = &spec.roles;
    let mut out = Map::new();
    for (key, role) in [
        ("producer", &roles.producer),
        ("worker", &roles.worker),
        ("monitor", &roles.monitor),
        ("operator", &roles.operator),
    ] {
        if let Some(role) = role {
            out.insert(key.to_owned(), json!(role.as_written()));
        }
    }
    out.insert("own_types_only".to_owned(), json!(roles.own_types_only));
    Value::Object(out)
}

fn table_to_json(table: &TableSpec) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_owned(), value);
    };
    if let Some(schema) = &table.schema {
        put("schema", json!(schema.as_written()));
    }
    put("name", json!(table.name.as_written()));
    put("create", json!(table.create));
    let key: Vec<_> = table
        .key
        .iter()
        .map(|column| {
            let source = if column.source == KeySource::Table { "table" } else { "producer" };
            json!({"name": column.name.as_written(), "type": column.kind.to_string(), "source": source})
        })
        .collect();
    put("key", json!(key));
    if !table.seek.is_empty() {
        let values = |values: &[Literal]| values.iter().map(literal_to_json).collect::<Vec<_>>();
        let seek = table.seek.iter().map(|seek| (seek.name.as_written(), json!(values(&seek.values))));
        put("seek", Value::Object(seek.collect()));
    }
    put("time", json!(if table.local_time { "local" } else { "utc" }));
    put("run_time", json!(table.run_time));
    put("lifecycle", lifecycle_to_json(&table.lifecycle));
    if !table.rows.is_empty() {
        let rows = table.rows.iter().map(|row| (row.column.as_written(), test_to_json(&row.test)));
        put("where", Value::Object(rows.collect()));
    }
    let states = table.states.iter().map(|state| {
        let conditions = state.conditions.iter().map(|c| (c.column.as_written(), holds_to_json(&c.holds)));
        (state.state.as_str().to_owned(), Value::Object(conditions.collect()))
    });
    if !table.shows_presence() {
        put("states", Value::Object(states.collect()));
    }
    if let Some(name) = &table.index.name {
        let columns: Vec<_> = table.index.columns.iter().map(Identifier::as_written).collect();
        put("index", json!({"name": name.as_written(), "columns": columns}));
    }
    if let Some(settings) = &table.settings {
        let named = [
            ("schema", settings.schema.as_ref()),
            ("name", Some(&settings.name)),
            ("param", Some(&settings.param)),
            ("value", Some(&settings.value)),
        ];
        let named = named.into_iter().filter_map(|(key, name)| Some((key.to_owned(), json!(name?.as_written()))));
        put("settings", Value::Object(named.collect()));
    }
    Value::Object(out)
}

fn lifecycle_to_json(lifecycle: &LifecycleSpec) -> Value {
    let columns = lifecycle.columns().into_iter();
    Value::Object(columns.map(|(role, column)| (role.to_owned(), json!(column.as_written()))).collect())
}

fn test_to_json(test: &RowTest) -> Value {
    match test {
        RowTest::Values(values) => holds_to_json(&Holds::Values(values.clone())),
        RowTest::Null => holds_to_json(&Holds::Null),
        RowTest::Something => holds_to_json(&Holds::Something),
        RowTest::Compared(compared) => {
            let compared = compared.iter().map(|(how, value)| (how.as_str().to_owned(), literal_to_json(value)));
            Value::Object(compared.collect())
        }
    }
}

fn holds_to_json(holds: &Holds) -> Value {
    match holds {
        Holds::Values(values) => match values.as_slice() {
            [value] => literal_to_json(value),
            values => values.iter().map(literal_to_json).collect(),
        },
        Holds::Null => json!({"is": "null"}),
        Holds::Something => json!({"is": "set"}),
    }
}

fn literal_to_json(literal: &Literal) -> Value {
    match literal {
        Literal::Integer(number) => json!(number),
        Literal::Boolean(value) => json!(value),
        Literal::Text(text) => json!(text),
    }
}

fn claimed_by_to_json(claimed_by: &ClaimedBySpec) -> Value {
    let named = [("schema", claimed_by.schema.as_ref()), ("next", Some(&claimed_by.next))];
    let named = named.into_iter().filter_map(|(key, name)| Some((key.to_owned(), json!(name?.as_written()))));
    Value::Object(named.collect())
}

fn procedures_to_json(procedures: &ProceduresSpec) -> Value {
    let named = [
        ("schema", procedures.schema.as_ref()),
        ("next", Some(&procedures.next)),
        ("modify", Some(&procedures.modify)),
        ("add", procedures.add.as_ref()),
        ("view", Some(&procedures.view)),
        ("key", Some(&procedures.key)),
        ("token", Some(&procedures.token)),
    ];
    let named = named.into_iter().filter_map(|(key, name)| Some((key.to_owned(), json!(name?.as_written()))));
    let time = ("time".to_owned(), json!(if procedures.local_time { "local" } else { "utc" }));
    Value::Object(named.chain([time]).collect())
}
