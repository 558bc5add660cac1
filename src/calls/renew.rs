//! Renewals of leases.

use super::answers;
use super::terms::CallTerms;
use crate::description::put_key;
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{KeyForm, MAX_ITEMS};
use crate::item::{Lease, Outcome, Rows};
use crate::session::{Param, ReadCells, Session};

/// Renews `leases`; `make` makes each call.
pub(crate) fn renew(
    terms: &CallTerms,
    calls: &Calls,
    leases: &[Lease<'_>],
    make: impl Fn(&mut dyn FnMut(&mut Session) -> Result<Rows>) -> Result<Rows>,
) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::with_capacity(leases.len());
    for leases in leases.chunks(MAX_ITEMS as usize) {
        let items = to_json(terms.key_form(), leases)?;
        let params = [Param::Text(&terms.worker), Param::Text(&items), Param::OptionalInteger(terms.lease_ms)];
        let rows = make(&mut |session| session.call(&calls.renew, &params, ReadCells::Answers))?;
        outcomes.extend(answers::outcomes(&rows, leases.len())?);
    }
    Ok(outcomes)
}

/// The array that the procedure reads.
fn to_json(form: KeyForm<'_>, leases: &[Lease<'_>]) -> Result<String> {
    let mut out = String::from("[");
    for (i, lease) in leases.iter().enumerate() {
        out.push_str(if i > 0 { ",{\"key\":" } else { "{\"key\":" });
        put_key(&mut out, form, lease.key)
            .map_err(|why| Error::new(ErrorKind::InvalidArgument, format!("item {i}: {why}")))?;
        out.push_str(&format!(",\"attempt\":{}}}", lease.attempt));
    }
    out.push(']');
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_many_columns_travels_as_an_array() {
        let key = r#"["a \"b\" \u00e9\\", 12345678901234567890]"#;
        let text = to_json(
            KeyForm { composite: true, prefix: None },
            &[Lease { key, attempt: 2 }, Lease { key: "[]", attempt: 1 }],
        )
        .unwrap();
        assert_eq!(text, r#"[{"key":["a \"b\" \u00e9\\", 12345678901234567890],"attempt":2},{"key":[],"attempt":1}]"#);
    }
}
