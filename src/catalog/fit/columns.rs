//! Checks that every column of the description is there, with a type that fits its purpose.

use super::Check;
use crate::catalog::{TableColumn, TypeFamily};
use crate::config::WORKER_NAME_CHARS;
use crate::description::{
    ColumnCondition, ColumnKind, ColumnSpec, Holds, KeyColumn, KeySource, KeyText, Literal, RowTest, SubtypeSpec,
    TableSpec,
};
use crate::dialect::Dialect;
use crate::finding::Finding;
use crate::ident::{Identifier, nearest};

/// The checks of one place after the other, in the order of the description.
pub(super) fn check(check: &mut Check<'_>) {
    let (spec, table) = (check.spec, check.table);
    for key in &table.key {
        if let Some(column) = check.column("table.key", &key.name) {
            check.key(column, key);
            if column.nullable {
                let what = "is part of the key and may be NULL";
                check.error("column", column, what, "an item without a key cannot be settled: make it NOT NULL");
            }
            if key.source == KeySource::Table && !column.identity && !column.has_default {
                let what = "should get its value from the table, but has neither identity nor default";
                check.error("column", column, what, "give it one, or say source = \"producer\" in table.key");
            }
            if key.source == KeySource::Producer && column.identity {
                let what = "is an identity column, but the producer should give its value";
                check.error("column", column, what, "say source = \"table\" in table.key");
            }
        }
    }
    for seek in &table.seek {
        if let Some(column) = check.column("table.seek", &seek.name) {
            for value in &seek.values {
                check.literal("table.seek", column, value);
            }
        }
    }
    for state in &table.states {
        // Both name the same key, and here they cannot be distinguished any more.
        let short = if is_status_column(table) { " (or table.status)" } else { "" };
        let place = format!("table.states.{}{short}", state.state);
        for condition in &state.conditions {
            let Some(column) = check.column(&place, &condition.column) else { continue };
            match &condition.holds {
                Holds::Values(values) => values.iter().for_each(|value| check.literal(&place, column, value)),
                Holds::Null | Holds::Something if !column.nullable => {
                    let what = format!("is never NULL, but {place} distinguishes states by NULL");
                    check.error("column", column, what, "allow NULL in it, or describe the state otherwise");
                }
                Holds::Null | Holds::Something => {}
            }
        }
    }
    for row in &table.rows {
        let Some(column) = check.column("table.where", &row.column) else { continue };
        row.literals().into_iter().for_each(|value| check.literal("table.where", column, value));
        if row.test == RowTest::Null && !column.nullable {
            check.error(
                "column",
                column,
                "is never NULL, and table.where takes only rows in which it is",
                "correct table.where",
            );
        }
    }
    for (role, name) in table.lifecycle.columns() {
        let place = format!("table.lifecycle.{role}");
        if let Some(column) = check.column(&place, name) {
            check.role(role, &place, column);
        }
    }
    for (i, column) in spec.columns.iter().enumerate() {
        let place = format!("columns[{i}]");
        if let Some(found) = check.column(&place, &column.name) {
            check.kind(&place, found, column.kind, Some(column.nullable));
            check.default(&place, found, column);
        }
    }
    let order = spec.order.by.iter().map(|name| ("order.by", name));
    let priority = spec.order.priority.iter().map(|priority| ("order.priority.column", &priority.column));
    let group = spec.order.group.iter().map(|name| ("order.group", name));
    let dedup = spec.dedup.iter().flat_map(|dedup| &dedup.columns).map(|name| ("dedup.columns", name));
    let index = table.index.columns.iter().map(|name| ("table.index.columns", name));
    let kinds = [(spec.claim_by.kind, &table.lifecycle.kind), (spec.claim_by.step, &table.lifecycle.step)];
    let kinds = kinds.into_iter().filter(|(is_named, _)| *is_named);
    let kinds = kinds.filter_map(|(_, name)| name.as_ref()).map(|name| ("claim_by", name));
    let limits = spec.limits.iter().filter_map(|limit| limit.by.as_ref()).map(|name| ("limit.by", name));
    for (place, name) in order.chain(priority).chain(group).chain(dedup).chain(kinds).chain(limits).chain(index) {
        let compared = ["dedup.columns", "claim_by", "limit.by"].contains(&place);
        if let Some(column) = check.column(place, name).filter(|_| compared) {
            check.collation(place, column);
        }
    }
}

/// The same of the table of a subtype, whose key is that of the queue's table.
pub(super) fn of_subtype(check: &mut Check<'_>, number: usize, subtype: &SubtypeSpec) {
    let table = check.table;
    for key in &table.key {
        if let Some(column) = check.column("table.key", &key.name) {
            check.key(column, key);
        }
    }
    for (i, column) in subtype.columns.iter().enumerate() {
        let place = format!("subtypes[{number}].columns[{i}]");
        if let Some(found) = check.column(&place, &column.name) {
            check.kind(&place, found, column.kind, Some(column.nullable));
            check.default(&place, found, column);
        }
    }
}

impl<'a> Check<'a> {
    /// The column of this name, or a finding that it is not there.
    fn column(&mut self, place: &str, name: &Identifier) -> Option<&'a TableColumn> {
        let found = self.found.column(name);
        if found.is_none() {
            let names = self.found.columns.iter().map(|column| column.name.as_str());
            let remedy = match nearest(name.as_str(), names.clone()) {
                Some(near) => format!("there is {near}: correct {place}"),
                None => format!("correct {place}; the columns are {}", names.collect::<Vec<_>>().join(", ")),
            };
            let object = format!("{}.{}", self.found.name, name.as_str());
            let what = format!("there is no such column, and {place} names it");
            let finding = Finding::error("column", object, what, remedy);
            // A missing column may be named in many places.
            if !self.findings.iter().any(|known| known.object == finding.object && known.check == "column") {
                self.findings.push(finding);
            }
        }
        found
    }

    pub(super) fn error(
        &mut self,
        check: &'static str,
        column: &TableColumn,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let object = format!("{}.{}", self.found.name, column.name);
        self.findings.push(Finding::error(check, object, what, remedy));
    }

    pub(super) fn warning(
        &mut self,
        check: &'static str,
        column: &TableColumn,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let object = format!("{}.{}", self.found.name, column.name);
        self.findings.push(Finding::warning(check, object, what, remedy));
    }

    /// Checks that a column holds values of `kind`. NULL matters only for a producer's column.
    fn kind(&mut self, place: &str, column: &TableColumn, kind: ColumnKind, nullable: Option<bool>) {
        if let (ColumnKind::Integer, TypeFamily::Integer(8 | 16)) = (kind, column.family) {
            let what = format!("is {}, and {place} says {kind}: the table refuses a larger number", column.declared());
            self.findings.push(Finding::ok("type", format!("{}.{}", self.found.name, column.name), what));
        } else if !holds(column.family, kind) {
            let what = format!("is {}, and {place} says {kind}", column.declared());
            self.error("type", column, what, describe_so(place, column));
            return;
        }
        if let (ColumnKind::Text(most), Some(length)) = (kind, column.length)
            && most.is_none_or(|most| i64::from(most) > length)
        {
            let what = format!("holds {length} characters, and {place} says {kind}");
            let remedy = format!("say text({length}), so that a longer value is refused before it is sent");
            self.warning("type", column, what, remedy);
        }
        self.code_page(place, column);
        if nullable == Some(true) && !column.nullable && !column.has_default && !column.computed {
            let what = format!("must have a value, and {place} allows NULL");
            self.warning(
                "type",
                column,
                what,
                "say nullable = false, so that a missing value is refused before it is sent",
            );
        }
        if column.family == TypeFamily::CoarseTime {
            self.coarse(column);
        }
    }

    /// Checks text that is kept in a code page.
    fn code_page(&mut self, place: &str, column: &TableColumn) {
        let Some(page) = column.code_page else { return };
        let what = format!(
            "keeps text in code page {page}, where other letters become '?': an item with such letters is refused, a \
             response or an error is stored so ({place})"
        );
        let remedy = "make it nvarchar, or give it a collation that ends in _UTF8 (SQL Server 2019), if it is to keep other letters";
        self.warning("code page", column, what, remedy);
    }

    /// Checks a default: an enqueue writes all columns, so the table's own default is for other programs.
    fn default(&mut self, place: &str, column: &TableColumn, described: &ColumnSpec) {
        if !column.nullable && column.has_default && described.nullable && described.default.is_none() {
            let what = format!(
                "must have a value, and an item that leaves out {place} has NULL for it, not the table's default"
            );
            let remedy = "say default = ... with the value that the table's default gives, or nullable = false";
            self.warning("default", column, what, remedy);
        }
    }

    /// Checks a column of the key: a call finds an item by an index only if both sides have one type and one collation.
    fn key(&mut self, column: &TableColumn, key: &KeyColumn) {
        let place = "table.key";
        self.kind(place, column, key.kind, None);
        if ["timestamp", "rowversion"].contains(&column.type_name.as_str()) && column.family == TypeFamily::Binary {
            let what = "is a row version, which each change replaces: no call would find its item again";
            self.error("type", column, what, "name other columns that identify items");
        }
        if let (ColumnKind::Decimal(precision, scale), TypeFamily::Decimal) = (key.kind, column.family) {
            if column.decimals > i64::from(scale) {
                let what = format!("has {} decimals, and {place} says {}", column.decimals, key.kind);
                self.error("type", column, what, format!("say decimal({precision}, {}) in {place}", column.decimals));
            } else if column.decimals < 0 {
                let what = format!("has as many decimals as a value has, and {place} says {}", key.kind);
                self.warning("type", column, what, "let no value have more: its item could not be settled");
            }
        }
        if column.family != TypeFamily::Text || !matches!(key.kind, ColumnKind::Text(_)) {
            return;
        }
        let stored = match (self.found.dialect, column.type_name.as_str()) {
            (Dialect::SqlServer, "varchar" | "text") => KeyText::Varchar,
            (Dialect::SqlServer, "char") | (Dialect::Postgres, "bpchar") => KeyText::Char,
            _ => KeyText::Usual,
        };
        // In SQL Server both are compared alike, in PostgreSQL varchar and text.
        let of_one = |stored: KeyText| match self.found.dialect {
            Dialect::SqlServer => stored != KeyText::Usual,
            Dialect::Postgres => stored == KeyText::Char,
        };
        if of_one(stored) != of_one(key.stored) {
            let what = format!(
                "is {}, and {place} has it compared with another type of text: its index would not be sought in, so that each \
                 call reads and locks the whole table",
                column.declared()
            );
            let remedy = match stored {
                KeyText::Usual => format!("leave \"stored\" out in {place}"),
                KeyText::Varchar => format!("say stored = \"varchar\" in {place}, or make it nvarchar"),
                KeyText::Char => format!("say stored = \"char\" in {place}"),
            };
            self.error("type", column, what, remedy);
        }
        if column.type_name == "citext" {
            let what =
                format!("is citext, and {place} has it compared as text: letter by letter, and without its index");
            self.error("type", column, what, "make it text, or name another column");
        }
        let described = key.collation.as_ref().map(Identifier::as_str);
        if self.found.dialect == Dialect::SqlServer
            && described.or(column.collated.as_deref()).map(str::to_lowercase)
                != column.collated.as_deref().map(str::to_lowercase)
            || described.is_none() && column.collation.is_some()
        {
            let collation = column.collated.as_deref().unwrap_or_default();
            let what = format!(
                "has the collation {collation}, and {place} has it compared with text of {}",
                described.unwrap_or("the database's")
            );
            self.error("collation", column, what, format!("say collation = {collation:?} in {place}"));
        }
    }

    /// Checks a collation: a call's text has the database's collation, and the servers compare no text with text of another one.
    /// On SQL Server it is nvarchar: with it a varchar column is converted row by row, and no index is used.
    fn collation(&mut self, place: &str, column: &TableColumn) {
        if self.found.dialect == Dialect::SqlServer && matches!(column.type_name.as_str(), "varchar" | "char" | "text")
        {
            let what = format!(
                "is {}, and {place} has it compared with nvarchar: its index would not be sought in, so that each call reads \
                 and locks the whole table",
                column.type_name
            );
            self.error("type", column, what, "make it nvarchar, or name another column");
        }
        let Some(collation) = &column.collation else { return };
        let what = format!("has the collation {collation}, which is not the database's, and {place} has it compared");
        self.error("collation", column, what, "give the column the database's collation, or name another column");
    }

    /// Checks that a column can be compared with, and set to, a constant.
    fn literal(&mut self, place: &str, column: &TableColumn, value: &Literal) {
        let fits = match (value, column.family) {
            (Literal::Boolean(_), TypeFamily::Boolean) | (Literal::Text(_), TypeFamily::Text) => true,
            (Literal::Integer(number), TypeFamily::Integer(bits)) => match bits {
                // tinyint has no sign.
                8 => (0..=255).contains(number),
                bits => i128::from(*number).abs() < 1_i128 << (bits - 1),
            },
            (Literal::Integer(_), TypeFamily::Decimal) => true,
            (Literal::Text(text), TypeFamily::Enum) => column.labels.contains(text),
            _ => false,
        };
        let shown = match value {
            Literal::Integer(number) => number.to_string(),
            Literal::Boolean(value) => value.to_string(),
            Literal::Text(text) => format!("{text:?}"),
        };
        if !fits {
            let what = format!("is {}, which does not hold {shown} of {place}", column.declared());
            let remedy = match column.family {
                TypeFamily::Boolean => "write true or false".to_owned(),
                TypeFamily::Integer(_) => "write a whole number that it holds".to_owned(),
                TypeFamily::Text => "write the value in quotes".to_owned(),
                TypeFamily::Enum => format!("write one of its words: {}", column.labels.join(", ")),
                _ => format!(
                    "a state is shown by booleans, whole numbers, text, or by being NULL or not: correct {place}"
                ),
            };
            self.error("type", column, what, remedy);
        } else if let (Literal::Text(text), Some(length)) = (value, column.length)
            && i64::try_from(text.chars().count()).is_ok_and(|count| count > length)
        {
            let what = format!("holds {length} characters, too few for {shown} of {place}");
            self.error("type", column, what, format!("correct {place}, or make the column wider"));
        }
    }

    /// Checks that a column can play its part in an item's life.
    fn role(&mut self, role: &str, place: &str, column: &TableColumn) {
        let fits = match role {
            "enqueued" | "due" | "started" | "finished" | "lease_until" => column.family.is_time(),
            "token" => matches!(column.family, TypeFamily::Time | TypeFamily::ZonedTime) && column.decimals >= 6,
            "attempts" | "duration" => matches!(column.family, TypeFamily::Integer(_)),
            // Others keep a document there; readpast does not, where the server has no function by the type of a column.
            "response" | "error" if self.found.dialect == Dialect::Postgres => {
                matches!(column.family, TypeFamily::Text | TypeFamily::Json | TypeFamily::List)
            }
            _ => column.family == TypeFamily::Text,
        };
        if !fits {
            let wanted = match role {
                "enqueued" | "due" | "started" | "finished" | "lease_until" => "a date and time",
                "token" => {
                    "a date and time to the microsecond (datetime2, timestamptz): a coarser one stays the same \
                            from one change to the next"
                }
                "attempts" | "duration" => "a whole number",
                _ => "text",
            };
            let several = if column.family == TypeFamily::List { ", one and no list" } else { "" };
            let what = format!("is {}, and {place} takes {wanted}{several}", column.declared());
            self.error("type", column, what, format!("name another column in {place}, or leave it out"));
            return;
        }
        if ["step", "response", "error"].contains(&role) {
            self.code_page(place, column);
        }
        if self.found.dialect == Dialect::SqlServer && role == "step" && !column.nullable && self.spec.steps.is_empty()
        {
            let what = format!(
                "must have a value, and an item may be at no step: to enqueue one without a step fails ({place})"
            );
            self.warning(
                "type",
                column,
                what,
                "allow NULL in it, or list the steps in \"steps\": a new item is at the first",
            );
        }
        if column.family == TypeFamily::CoarseTime {
            self.coarse(column);
        }
        if column.family == TypeFamily::ZonedTime && self.found.dialect == Dialect::SqlServer {
            self.zoned(place, column);
        }
        if self.found.dialect == Dialect::SqlServer && role == "duration" && !column.nullable {
            let what = format!("is never NULL, and an item that is redriven has none ({place})");
            self.error("type", column, what, "allow NULL in it, or leave it out");
        }
        if role == "lease_until" && !column.nullable {
            let what = format!("is never NULL, and readpast takes the deadline away when a claim ends ({place})");
            self.error("type", column, what, "allow NULL in it, or leave it out: it is kept beside the table then");
        }
        if let TypeFamily::Integer(bits) = column.family {
            self.narrow(role, place, column, bits);
        }
        let least = match role {
            "owner" => WORKER_NAME_CHARS,
            "step" => 60,
            // A worker cuts a longer error to this when the column has refused it.
            "error" => 100,
            "type" => self.spec.types.iter().map(|kind| kind.chars().count()).max().unwrap_or(0),
            _ => 0,
        };
        if let Some(length) = column.length.filter(|length| i64::try_from(least).is_ok_and(|least| *length < least)) {
            let what = format!("holds {length} characters; {place} may need {least}");
            let remedy = match role {
                "owner" => "set the setting \"worker\" to a name that fits, or make the column wider",
                _ => "make the column wider",
            };
            self.warning("type", column, what, remedy);
        }
    }

    /// Checks the width: a value that does not fit is an error of the server at a settle or claim, which would then never
    /// succeed.
    fn narrow(&mut self, role: &str, place: &str, column: &TableColumn, bits: u8) {
        // tinyint has no sign.
        let most = if bits == 8 { 255 } else { i64::MAX >> (64 - bits) };
        let declared = column.declared();
        if role == "attempts" && i64::from(self.spec.max_attempts) > most {
            let what =
                format!("is {declared}, which counts to {most}, and {} attempts are allowed", self.spec.max_attempts);
            self.error("type", column, what, "make it int, or lower attempts.limit");
        }
        if role == "duration" && bits < 64 {
            let what = format!(
                "is {declared}, and {place} is in milliseconds: an item that ends more than {} after its start cannot be \
                 settled or cancelled",
                if bits < 32 { format!("{most} ms") } else { "24 days".to_owned() }
            );
            let remedy = "make it bigint, or leave it out";
            if bits < 32 {
                self.error("type", column, what, remedy);
            } else {
                self.warning("type", column, what, remedy);
            }
        }
    }

    /// Refuses `datetimeoffset`: SQL Server compares it by the moment, but readpast writes and reads it without a zone.
    fn zoned(&mut self, place: &str, column: &TableColumn) {
        let what = format!("is {}, and {place} is read without its zone and written as UTC", column.type_name);
        if self.table.local_time {
            self.error("type", column, what, "say time = \"utc\", or make it datetime2");
        } else {
            self.warning("type", column, what, "make sure that other programs write UTC, with the zone +00:00");
        }
    }

    /// `datetime` goes in steps of 3.33 ms and `smalldatetime` in minutes: good enough for an order and for leases.
    fn coarse(&mut self, column: &TableColumn) {
        let step = if column.type_name.eq_ignore_ascii_case("smalldatetime") { "a minute" } else { "3.33 ms" };
        let what = format!(
            "is {}, which goes in steps of {step}: items of one step are equal in time, and the key decides between them",
            column.type_name
        );
        let object = format!("{}.{}", self.found.name, column.name);
        let finding = Finding::ok("type", object, what);
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

/// Whether the states could have been given as `table.status`: one column, with a value for each.
fn is_status_column(table: &TableSpec) -> bool {
    let mut columns = table.states.iter().map(|state| match state.conditions.as_slice() {
        [ColumnCondition { column, holds: Holds::Values(_) }] => Some(column),
        _ => None,
    });
    let first = columns.next().flatten();
    first.is_some() && columns.all(|column| column == first)
}

/// The remedy: another text for the column in the description.
fn describe_so(place: &str, column: &TableColumn) -> String {
    let is_key = place == "table.key";
    let kind = match (column.family, column.length) {
        (TypeFamily::Integer(32), _) => "integer".to_owned(),
        (TypeFamily::Integer(64), _) => "bigint".to_owned(),
        (TypeFamily::Guid, _) => "guid".to_owned(),
        (TypeFamily::Text, Some(length @ 1..=4000)) => format!("text({length})"),
        (TypeFamily::Time | TypeFamily::ZonedTime | TypeFamily::CoarseTime, _) => "timestamp".to_owned(),
        (TypeFamily::Integer(_), _) => "integer".to_owned(),
        (TypeFamily::Decimal, _) if is_key => format!("decimal(38, {})", column.decimals.max(0)),
        (TypeFamily::Binary, Some(length @ 1..=8000)) => format!("binary({length})"),
        (TypeFamily::Binary, _) if is_key && column.type_name == "bytea" => "binary(n)".to_owned(),
        _ if is_key => {
            return "a key is integer, bigint, decimal(p, s), guid, text(n), binary(n) or timestamp: name other columns that \
                    identify items"
                .to_owned();
        }
        (TypeFamily::Text, _) => "text".to_owned(),
        (TypeFamily::Boolean, _) => "boolean".to_owned(),
        (TypeFamily::Float, _) => "float".to_owned(),
        (TypeFamily::Decimal, _) => match column.type_name.to_ascii_lowercase().as_str() {
            "money" => "decimal(19, 4)".to_owned(),
            "smallmoney" => "decimal(10, 4)".to_owned(),
            _ => "decimal(p, s) with the digits that it is declared with".to_owned(),
        },
        (TypeFamily::Date, _) => "date".to_owned(),
        (TypeFamily::Json, _) => "json".to_owned(),
        (TypeFamily::Binary, _) => "binary".to_owned(),
        (TypeFamily::Enum | TypeFamily::List | TypeFamily::Other, _) => {
            return format!(
                "no type of a description holds that (there are text, integer, bigint, boolean, float, decimal, timestamp, \
                 date, guid, json and binary): leave the column out, {place}, or let a column of such a type stand for it"
            );
        }
    };
    if is_key {
        let name = &column.name;
        format!("say {{ name = {name:?}, type = {kind:?} }} in table.key, where a name alone means bigint")
    } else {
        format!("say type = {kind:?} in {place}")
    }
}

/// Whether a column of `family` can hold every value of `kind`.
pub(in crate::catalog) fn holds(family: TypeFamily, kind: ColumnKind) -> bool {
    match kind {
        ColumnKind::Text(_) => family == TypeFamily::Text,
        ColumnKind::Integer => matches!(family, TypeFamily::Integer(32 | 64)),
        ColumnKind::BigInteger => matches!(family, TypeFamily::Integer(64)),
        ColumnKind::Boolean => family == TypeFamily::Boolean,
        ColumnKind::Float => family == TypeFamily::Float,
        ColumnKind::Decimal(..) => family == TypeFamily::Decimal,
        ColumnKind::Timestamp => family.is_time(),
        ColumnKind::Date => family == TypeFamily::Date,
        ColumnKind::Guid => family == TypeFamily::Guid,
        // SQL Server mostly keeps it as text.
        ColumnKind::Json => matches!(family, TypeFamily::Json | TypeFamily::Text),
        ColumnKind::Binary(_) => family == TypeFamily::Binary,
    }
}
