//! The limits of a queue, for the templates.

use super::names::TableNames;
use crate::description::{ColumnKind, LimitSpec, QueueSpec};
use crate::dialect::Dialect;
use minijinja::{Value, context};

/// All of them; the one by whose column claims seek, the first that has a column; and the others that have one, which they try on
/// what they have found, as they do those with weights.
pub(super) fn context(dialect: Dialect, spec: &QueueSpec) -> Value {
    let limits: Vec<_> = spec.limits.iter().enumerate().map(|(at, one)| limit(dialect, spec, at + 1, one)).collect();
    let mut filters: Vec<_> =
        spec.limits.iter().zip(&limits).filter(|(limit, _)| limit.by.is_some()).map(|(_, made)| made.clone()).collect();
    let sought = (!filters.is_empty()).then(|| filters.remove(0));
    let is_weighted = |limit: &&Value| limit.get_attr("weight").is_ok_and(|weight| !weight.is_none());
    let weighted = sought.iter().chain(&filters).filter(is_weighted).cloned().collect::<Vec<_>>();
    let tried = sought.iter().filter(is_weighted).chain(&filters).cloned().collect::<Vec<_>>();
    context! { limits, sought, filters, weighted, tried }
}

fn limit(dialect: Dialect, spec: &QueueSpec, nth: usize, limit: &LimitSpec) -> Value {
    let names = TableNames::of(dialect, spec);
    let column = limit.by.as_ref().and_then(|name| spec.columns.iter().find(|column| column.name == *name));
    context! {
        nth,
        by => column.is_some(),
        name => column.map(|column| column.name.as_str()),
        quoted => column.map(|column| names.quoted(&column.name)),
        indexed => column.map(|column| names.column(&column.name, false)),
        type => column.map(|column| dialect.column_type(column.kind)),
        is_text => column.is_some_and(|column| matches!(column.kind, ColumnKind::Text(_))),
        at_once => limit.at_once,
        tiers => limit.tiers.as_ref().map(|tiers| context! {
            from => names.quoted(&tiers.from),
            numbers => tiers.numbers.iter().map(|(value, number)| context! { value, number }).collect::<Vec<_>>(),
            least => tiers.least(),
        }),
        weight => limit.weight.as_ref().map(|weight| context! { quoted => names.quoted(weight), indexed => names.column(weight, false) }),
        rate => limit.rate.map(|rate| rate.starts),
        rate_ms => limit.rate.map(|rate| rate.ms),
        burst => limit.burst(),
    }
}
