//! Directives in the last line of a command's output, under `--directives-on-stdout`. Then all output of a command is obeyed,
//! also text from elsewhere, so that this is not the usual way.
//!
//! A failed attempt at a directive must never pass for ordinary output: with exit status 0 the item would become Completed,
//! whatever the command wanted. So there are two questions. Does it look like a directive? [`looks_like_one`] decides that by its
//! beginning alone, and generously, and [`DirectiveObject`] for an object that begins otherwise, or that is not kept whole. Can
//! it be read? Only as JSON with known members.

use super::capture::Written;
use super::directive::{self, Directive};
use super::mark::{bare, bare_start, ends_line, is_blank, looks_like_one};
use super::object::DirectiveObject;
use readpast::item::without_half_pairs;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The one member of the object.
const NAME: &str = "readpast";

/// The directive at the end of the output, with its start.
///
/// # Errors
/// Why an attempt at one cannot be read.
pub fn at_end(stdout: &Written) -> Result<Option<(u64, Directive)>, String> {
    let (tail, tail_start) = (stdout.tail(), stdout.tail_start());
    let object = stdout.object().directive_at();
    let cut_line = stdout.cut_line();
    if cut_line.is_some_and(looks_like_one) || object.is_some_and(|at| at < tail_start) {
        return Err(format!("it is longer than {} bytes", tail.len()));
    }
    let found = if cut_line.is_none() { last_object(&tail) } else { None };
    let Some(start) = found.map(|start| tail_start + start as u64).or(object) else { return Ok(None) };
    let text = bare(tail.get((start - tail_start) as usize..).unwrap_or_default());
    Ok(Some((start, read(text)?)))
}

/// The start of the object at the end that looks like a directive: on the last line that is not blank, or where it goes over
/// several lines, as `jq` prints it, on the last line that begins with a brace.
fn last_object(tail: &[u8]) -> Option<usize> {
    let end = tail.len() - (bare_start(tail).len() - bare(tail).len());
    let mut after = end;
    while after > 0 {
        let start = tail[..after].iter().rposition(ends_line).map_or(0, |at| at + 1);
        let line = &tail[start..after];
        let object = &tail[start..end];
        // With invisible bytes before it, which are no part of an object that is followed.
        let has_one = || after == end && object_of(object).directive_at().is_some();
        if line.contains(&b'{') && (looks_like_one(object) || has_one()) {
            return (after == end || !is_followed(object)).then_some(start);
        }
        if line.starts_with(b"{") {
            return None;
        }
        after = start.saturating_sub(1);
    }
    None
}

/// The object in bytes, with any invisible bytes before it.
fn object_of(bytes: &[u8]) -> DirectiveObject {
    let mut object = DirectiveObject::default();
    object.follow(bare(bytes), 0);
    object
}

/// Whether an object is whole and more output follows: then it is not the last.
fn is_followed(text: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<Value>();
    values.next().is_some_and(|value| value.is_ok()) && !is_blank(&text[values.byte_offset()..])
}

fn read(text: &[u8]) -> Result<Directive, String> {
    let text = directive::utf8(text)?;
    let whole = without_half_pairs(text);
    let read = whole.as_deref().unwrap_or(text);
    let mut members: BTreeMap<String, Box<RawValue>> = match serde_json::from_str::<Value>(read) {
        Err(error) => return Err(format!("it is not JSON: {error}")),
        Ok(_) => serde_json::from_str(text).unwrap_or_default(),
    };
    let own = members.remove(NAME).filter(|own| members.is_empty() && own.get().starts_with('{'));
    directive::of(own.ok_or("\"readpast\" must be an object, and alone")?.get())
}

#[cfg(test)]
mod tests;
