//! Tests of items and receipts that are made without a server.

use super::batch::{empty_value, item};
use super::*;
use crate::ffi::receipts::Receipts;
use crate::item::Receipt;
use std::ptr;

fn made(items: &CStr, spec: Option<&CStr>) -> (readpast_batch, readpast_status, Option<String>) {
    let (mut batch, mut err) = (readpast_batch { id: 7 }, readpast_error::null());
    let spec = spec.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: texts are text, and the places can be written.
    let status = unsafe { readpast_batch_from_json(items.as_ptr(), spec, &mut batch, &mut err) };
    let message = text_of(readpast_error_message(err));
    readpast_error_free(err);
    (batch, status, message)
}

#[test]
fn made_items_are_lent_as_claimed_ones() {
    let spec = c"queue = 'Q'\ncolumns = [{ name = 'Body', type = 'json' }, { name = 'N', type = 'integer' }]";
    let (batch, status, _) = made(c"[{\"columns\": {\"body\": {\"n\": 1.10}}}, {\"attempt\": 2}]", Some(spec));
    assert_eq!((status, readpast_batch_count(batch), readpast_batch_column_count(batch)), (READPAST_OK, 2, 2));
    assert_eq!(text_of(readpast_batch_json(batch, 0)).unwrap(), r#"{"Body":{"n": 1.10},"N":null}"#);
    let mut value = empty_value();
    // SAFETY: the place can be written.
    assert_eq!(unsafe { readpast_batch_value(batch, 0, 0, &mut value, ptr::null_mut()) }, READPAST_OK);
    assert_eq!((value.r#type, text_of(value.text).as_deref()), (READPAST_TYPE_JSON, Some("{\"n\": 1.10}")));
    readpast_batch_free(batch);
    assert_eq!(made(c"[]", None), (readpast_batch::null(), READPAST_EMPTY, None));
}

#[test]
fn an_item_says_its_life_cycle() {
    let items = c"[{\"type\": \"Mail\", \"step\": \"sent\", \"due\": \"2026-11-21\", \"enqueued\": \"2026-11-20\",
        \"lease_until\": \"2026-11-22\", \"state\": \"Error\"}, {\"columns\": {\"Step\": \"\"}}]";
    let (batch, ..) = made(items, None);
    let (first, second) = (item(batch, 0).unwrap(), item(batch, 1).unwrap());
    let texts = |item: readpast_item| [item.r#type, item.step, item.due, item.enqueued, item.lease_until].map(text_of);
    let [kind, step, due, enqueued, until] = texts(first).map(Option::unwrap);
    assert_eq!((kind.as_str(), step.as_str(), first.state), ("Mail", "sent", READPAST_STATE_ERROR));
    assert_eq!([due, enqueued, until], ["21", "20", "22"].map(|day| format!("2026-11-{day}T00:00:00.0000000")));
    assert_eq!((texts(second), second.state), ([const { None }; 5], READPAST_STATE_PROCESSING));
    let mut value = empty_value();
    // SAFETY: the place can be written, and the name is text.
    let found =
        unsafe { readpast_batch_value_by_name(batch, 0, c"scheduled_for".as_ptr(), &mut value, ptr::null_mut()) };
    assert_eq!((found, value.r#type), (READPAST_OK, READPAST_TYPE_TIMESTAMP));
    readpast_batch_free(batch);
}

#[test]
fn wrong_items_are_refused() {
    for (items, spec, status, part) in [
        (c"[{\"key\": 1}]", None, READPAST_INVALID_ITEM, "item 0"),
        (c"\xff", None, READPAST_INVALID_ARGUMENT, "items_json is not UTF-8"),
        (c"[]", Some(c"queue = 1"), READPAST_INVALID_ARGUMENT, "line 1: queue"),
    ] {
        let (batch, found, message) = made(items, spec);
        assert_eq!((batch, found), (readpast_batch::null(), status));
        assert!(message.unwrap().contains(part));
    }
}

#[test]
fn receipts_lend_keys_of_any_length() {
    let key = "\u{1f600}".repeat(1000);
    let enqueued = [
        Receipt { key: key.clone(), token: "t".to_owned(), duplicate: false },
        Receipt { key: String::new(), token: String::new(), duplicate: true },
    ];
    let receipts = readpast_receipts::hand_out(Receipts::new(&enqueued)).unwrap();
    assert_eq!(readpast_receipts_count(receipts), 2);
    let mut receipt = readpast_receipt {
        struct_size: size_of::<readpast_receipt>(),
        key: ptr::null(),
        token: ptr::null(),
        answer: -1,
        reserved: 9,
    };
    let mut get = |index| {
        // SAFETY: the place can be written.
        let status = unsafe { readpast_receipts_get(receipts, index, &mut receipt, ptr::null_mut()) };
        (status == READPAST_OK)
            .then(|| (text_of(receipt.key).unwrap(), text_of(receipt.token).unwrap(), receipt.answer))
    };
    assert_eq!(get(0), Some((key, "t".to_owned(), READPAST_OK)));
    assert_eq!(get(1), Some((String::new(), String::new(), READPAST_DUPLICATE)));
    assert!([2, -1, i32::MIN, i32::MAX].iter().all(|index| get(*index).is_none()));
    readpast_receipts_free(receipts);
    assert_eq!(readpast_receipts_count(receipts), 0);
}
