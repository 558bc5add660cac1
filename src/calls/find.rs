//! Searches for items.

use super::count::check_count;
use super::sessions::{Ask, Sessions, YieldsTo};
use super::terms::CallTerms;
use crate::description::searched;
use crate::dialect::{Calls, Dialect};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Batch, Filter, Rows};
use crate::metrics::CallKind;
use crate::session::{Param, ReadCells};

/// A page of a search: the items that fit `filter`, from behind the key `after` on.
pub(crate) struct Page<'a> {
    pub(crate) filter: &'a Filter,
    pub(crate) after: Option<&'a str>,
    pub(crate) max: u32,
}

pub(crate) fn find(on: &dyn Sessions, terms: &CallTerms, calls: &Calls, page: &Page<'_>) -> Result<Batch> {
    let (filter, after, max) = checked(terms, page)?;
    let params = [Param::Text(&filter), Param::Text(after), max, Param::OptionalInteger(None)];
    let rows =
        on.ask(CallKind::Find, YieldsTo::Closing, |session| session.call(&calls.find, &params, ReadCells::Answers))?;
    Ok(found(terms, rows))
}

/// The same of at most `most` items; and the key to go on behind, where there may be more.
pub(crate) fn look(
    on: &dyn Sessions,
    terms: &CallTerms,
    calls: &Calls,
    page: &Page<'_>,
    most: u32,
) -> Result<(Batch, Option<String>)> {
    let most = i32::try_from(most).ok().filter(|most| *most > 0).ok_or_else(|| {
        let message = format!("the number of items to look at is {most}; it is from 1 to {}", i32::MAX);
        Error::new(ErrorKind::InvalidArgument, message)
    })?;
    let (filter, after, max) = checked(terms, page)?;
    let params = [Param::Text(&filter), Param::Text(after), max, Param::Integer(most)];
    // On SQL Server the end is in a result of its own.
    let mut results = on.ask(CallKind::Find, YieldsTo::Closing, |session| match session.dialect() {
        Dialect::SqlServer => session.results_with_keys(&calls.find, &params),
        Dialect::Postgres => Ok(vec![session.call(&calls.find, &params, ReadCells::Answers)?]),
    })?;
    let further = results.last_mut().and_then(Rows::take_further);
    let rows = results.into_iter().next().unwrap_or_default();
    Ok((found(terms, rows), further))
}

fn checked<'p>(terms: &CallTerms, page: &Page<'p>) -> Result<(String, &'p str, Param<'static>)> {
    let max = check_count("the number of items to find", page.max)?;
    check_keys(terms, page.filter)?;
    if page.after == Some("") {
        return Err(Error::new(ErrorKind::InvalidArgument, "the key to go on after is empty; leave it out"));
    }
    let after = page.after.map(|key| terms.check_key(key)).transpose()?;
    Ok((sent(terms, page.filter)?, after.unwrap_or_default(), Param::Integer(max)))
}

fn found(terms: &CallTerms, rows: Rows) -> Batch {
    if rows.is_empty() { Batch::default() } else { terms.batch(rows, 0) }
}

/// The filter as the procedures read it: values in the form of their columns.
pub(super) fn sent(terms: &CallTerms, filter: &Filter) -> Result<String> {
    let columns = searched(&terms.spec, &filter.columns).map_err(|why| Error::new(ErrorKind::InvalidArgument, why))?;
    filter.with_columns(terms.key_form(), &columns)
}

/// Refuses a text that cannot be a key; the filter itself refuses an empty one.
pub(super) fn check_keys(terms: &CallTerms, filter: &Filter) -> Result<()> {
    let mut keys = filter.keys.iter().flatten().filter(|key| !key.is_empty());
    keys.try_for_each(|key| terms.check_key(key).map(drop))
}
