//! Limits of what is in work: as they stand, changed, and the one that keeps an item waiting.

use super::inner::QueueInner;
use crate::calls;
use crate::description::{ColumnKind, LimitSpec};
use crate::dialect::{Dialect, LimitCalls};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::ident::did_you_mean;
use crate::item::{Item, LIMIT_COUNT, Limit, LimitChange, Rate, Value};
use crate::metrics::CallKind;
use serde_json::json;
use uuid::Uuid;

impl QueueInner {
    fn limit_calls(&self) -> Option<&LimitCalls> {
        self.backend.own().and_then(|own| own.limits.as_ref())
    }

    /// [`crate::Queue::limits`].
    pub(crate) fn limits(&self) -> Result<Vec<Limit>> {
        self.limit_calls().map_or(Ok(Vec::new()), |calls| calls::limits(self, calls, CallKind::Limits))
    }

    /// [`crate::Queue::set_limit`].
    pub(crate) fn set_limit(&self, change: &LimitChange<'_>) -> Result<Limit> {
        self.refuse_attached()?;
        let spec = &self.terms.spec;
        let Some(calls) = self.limit_calls() else {
            let why = format!("queue {} has no limits; give its description a \"limit\", and install it", spec.queue);
            return Err(Error::new(ErrorKind::Unsupported, why));
        };
        let limit = self.limit_of(change)?;
        check_numbers(limit, change)?;
        let by = limit.by.as_ref().map_or("", |by| by.as_str());
        let key = change.key.map(|key| self.key_of(limit, key)).transpose()?;
        let change = LimitChange { key: key.as_deref(), ..*change };
        calls::set_limit(self, &self.terms, calls, by, &change, &self.operator)?;
        self.process.polls.wake();
        let rate = change.rate.map(|rate| rate.to_string());
        let (until, for_ms) = change.end.written();
        let noted = json!({
            "by": by, "key": change.key, "at_once": change.at_once, "rate": rate, "burst": change.burst, "until": until, "for_ms": for_ms,
            "reason": change.reason,
        });
        self.record("limit", &noted.to_string(), (1, 0));
        let limits = match self.limits() {
            // It is changed all the same.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Vec::new(),
            limits => limits?,
        };
        let named =
            || Limit { by: limit.by.as_ref().map(|by| by.as_str().to_owned()), key: key.clone(), ..Limit::default() };
        Ok(self.stands(limit, &limits, key.as_deref()).unwrap_or_else(named))
    }

    /// The limit that a change is of: the named one, or the only one that fits.
    fn limit_of(&self, change: &LimitChange<'_>) -> Result<&LimitSpec> {
        let spec = &self.terms.spec;
        let name = |limit: &LimitSpec| limit.by.as_ref().map_or("", |by| by.as_str()).to_owned();
        let names: Vec<_> = spec.limits.iter().map(name).collect();
        let refuse = |why: String| Err(Error::new(ErrorKind::InvalidArgument, format!("by: {why}")));
        let shown = || names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        if let Some(by) = change.by {
            let found = names.iter().position(|name| name.eq_ignore_ascii_case(by));
            return found.map(|place| &spec.limits[place]).map_or_else(
                || {
                    let near = did_you_mean(by, names.iter().map(String::as_str));
                    refuse(format!("queue {} has no limit by {}{near}; there are {}", spec.queue, Excerpt(by), shown()))
                },
                Ok,
            );
        }
        let fits = |limit: &&LimitSpec| {
            (change.key.is_none() || limit.by.is_some()) && (change.rate.is_none() || limit.rate.is_some())
        };
        match spec.limits.iter().filter(fits).collect::<Vec<_>>()[..] {
            [limit] => Ok(limit),
            [] => refuse(format!("queue {} has no limit that this is for; there are {}", spec.queue, shown())),
            _ => refuse(format!("queue {} has several limits; name the column of one: {}", spec.queue, shown())),
        }
    }

    /// A key as the server writes the values of its column.
    fn key_of(&self, limit: &LimitSpec, key: &str) -> Result<String> {
        let Some(by) = &limit.by else {
            let why = "key: the limit of the queue as a whole has no keys; name the column of another";
            return Err(Error::new(ErrorKind::InvalidArgument, why));
        };
        let kind = self.terms.spec.columns.iter().find(|column| column.name == *by).map(|column| column.kind);
        let kind = kind.unwrap_or(ColumnKind::Text(None));
        written(self.terms.dialect, kind, key).filter(|key| !key.is_empty()).ok_or_else(|| {
            let why = format!("key: {} is no value that the column {:?} ({kind}) has", Excerpt(key), by.as_str());
            Error::new(ErrorKind::InvalidArgument, why)
        })
    }

    /// The limit that keeps an item waiting which is due; not where this login may not see them.
    pub(super) fn holds(&self, item: &Item<'_>) -> Result<Option<Limit>> {
        let Some(calls) = self.limit_calls() else { return Ok(None) };
        let limits = match calls::limits(self, calls, CallKind::Why) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(None),
            limits => limits?,
        };
        let held = self.terms.spec.limits.iter().filter_map(|spec| self.of_item(spec, &limits, item));
        Ok(held.filter(|limit| limit.room() == Some(0)).max_by_key(Limit::is_paused))
    }

    /// How a limit stands for an item. `None`: it is not limited by it.
    fn of_item(&self, spec: &LimitSpec, limits: &[Limit], item: &Item<'_>) -> Option<Limit> {
        let Some(by) = &spec.by else { return self.stands(spec, limits, None) };
        let key = match item.value_of(by.as_str())? {
            Value::Text(text) => text.to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Boolean(value) => value.to_string(),
            _ => return None,
        };
        let kind = self.terms.spec.columns.iter().find(|column| column.name == *by)?.kind;
        let key = written(self.terms.dialect, kind, &key).filter(|key| !key.is_empty())?;
        self.stands(spec, limits, Some(&key))
    }

    /// How a limit stands for a key, among those that the server listed.
    fn stands(&self, spec: &LimitSpec, limits: &[Limit], key: Option<&str>) -> Option<Limit> {
        let by = spec.by.as_ref().map(|by| by.as_str());
        let of_it = || limits.iter().filter(|limit| limit.by.as_deref() == by);
        let every = of_it().find(|limit| limit.key.is_none())?;
        let Some(key) = key else { return Some(every.clone()) };
        // Its column may ignore case.
        let is_same = |other: &str| match self.terms.dialect {
            Dialect::SqlServer => other.trim_end().to_lowercase() == key.trim_end().to_lowercase(),
            Dialect::Postgres => other == key,
        };
        let own = of_it().find(|limit| limit.key.as_deref().is_some_and(is_same));
        // A key that nobody changed, and of which nothing is in work, is as all are.
        let mut limit =
            own.cloned().unwrap_or_else(|| Limit { key: Some(key.to_owned()), in_work: 0, ..every.clone() });
        if limit.who.is_none() {
            (limit.who, limit.reason) = (every.who.clone(), every.reason.clone());
            (limit.set_at, limit.until) = (every.set_at.clone(), every.until.clone());
        }
        Some(limit)
    }
}

/// A value of a column as the server writes it. `None`: it is none.
fn written(dialect: Dialect, kind: ColumnKind, value: &str) -> Option<String> {
    let (is_sql_server, plain) = (dialect == Dialect::SqlServer, value.trim());
    Some(match kind {
        ColumnKind::Integer => plain.parse::<i32>().ok()?.to_string(),
        ColumnKind::BigInteger => plain.parse::<i64>().ok()?.to_string(),
        ColumnKind::Boolean => {
            let holds = match plain.to_ascii_lowercase().as_str() {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => return None,
            };
            if is_sql_server { i32::from(holds).to_string() } else { holds.to_string() }
        }
        ColumnKind::Guid => {
            let text = Uuid::parse_str(plain).ok()?.to_string();
            if is_sql_server { text.to_uppercase() } else { text }
        }
        _ => value.to_owned(),
    })
}

/// Checks the numbers of a change.
fn check_numbers(limit: &LimitSpec, change: &LimitChange<'_>) -> Result<()> {
    let (least, most) = (LIMIT_COUNT.start(), LIMIT_COUNT.end());
    let wrong = |name: &str, least: u32, number: u32| format!("{name}: must be from {least} to {most}, not {number}");
    let why = match (change.at_once, change.rate, change.burst) {
        (Some(number), ..) if number > *most => wrong("at_once", 0, number),
        (_, Some(rate), _) if !rate.is_possible() => format!("rate: must be {}", Rate::FORM),
        (_, Some(_), _) if limit.rate.is_none() => {
            let of =
                limit.by.as_ref().map_or("of the queue as a whole".to_owned(), |by| format!("by {:?}", by.as_str()));
            format!("rate: the limit {of} has no rate in the description; give it one there")
        }
        (_, None, Some(_)) => "burst: says how many of a rate start together, and there is no rate".to_owned(),
        (.., Some(number)) if !LIMIT_COUNT.contains(&number) => wrong("burst", *least, number),
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidArgument, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_as_the_servers_write_them() {
        use ColumnKind::{BigInteger, Boolean, Guid, Integer, Text};
        let guid = "D6513312-4dcc-4c44-b044-08b98257037c";
        for (kind, given, sql_server, postgres) in [
            (Integer, "42", Some("42"), Some("42")),
            (Integer, "+7", Some("7"), Some("7")),
            (Integer, "2147483648", None, None),
            (BigInteger, "-9223372036854775808", Some("-9223372036854775808"), Some("-9223372036854775808")),
            (BigInteger, "4.0", None, None),
            (Boolean, "TRUE", Some("1"), Some("true")),
            (Boolean, "0", Some("0"), Some("false")),
            (Boolean, "yes", None, None),
            (Guid, guid, Some("D6513312-4DCC-4C44-B044-08B98257037C"), Some("d6513312-4dcc-4c44-b044-08b98257037c")),
            (Guid, "x", None, None),
            (Text(Some(40)), "It's", Some("It's"), Some("It's")),
        ] {
            assert_eq!(written(Dialect::SqlServer, kind, given).as_deref(), sql_server, "{kind} {given}");
            assert_eq!(written(Dialect::Postgres, kind, given).as_deref(), postgres, "{kind} {given}");
        }
    }
}
