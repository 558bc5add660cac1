//! Tests of the texts that a batch lends.

use super::*;
use std::ptr;

pub(super) fn empty_item() -> readpast_item {
    readpast_item {
        struct_size: size_of::<readpast_item>(),
        key: ptr::null(),
        token: ptr::null(),
        attempt: 0,
        column_count: 0,
        state: 0,
        reserved: 0,
        r#type: ptr::null(),
        step: ptr::null(),
        due: ptr::null(),
        enqueued: ptr::null(),
        lease_until: ptr::null(),
    }
}

pub(super) fn item(batch: readpast_batch, index: i32) -> Result<readpast_item, readpast_status> {
    let mut item = empty_item();
    // SAFETY: the place can be written.
    match unsafe { readpast_batch_item(batch, index, &mut item, ptr::null_mut()) } {
        READPAST_OK => Ok(item),
        status => Err(status),
    }
}

pub(super) fn empty_value() -> readpast_value {
    readpast_value {
        struct_size: size_of::<readpast_value>(),
        r#type: 0,
        is_null: 0,
        integer: 0,
        number: 0.0,
        text: ptr::null(),
        bytes: ptr::null(),
        length: 0,
    }
}

fn value(batch: readpast_batch, index: i32, column: i32) -> Result<readpast_value, readpast_status> {
    let mut value = empty_value();
    // SAFETY: the place can be written.
    match unsafe { readpast_batch_value(batch, index, column, &mut value, ptr::null_mut()) } {
        READPAST_OK => Ok(value),
        status => Err(status),
    }
}

fn value_by_name(batch: readpast_batch, index: i32, name: &CStr) -> Result<readpast_value, readpast_status> {
    let mut value = empty_value();
    // SAFETY: the place can be written, and the name is text.
    match unsafe { readpast_batch_value_by_name(batch, index, name.as_ptr(), &mut value, ptr::null_mut()) } {
        READPAST_OK => Ok(value),
        status => Err(status),
    }
}

#[test]
fn items_and_columns_are_readable() {
    let batch = sample_batch();
    assert_eq!((readpast_batch_count(batch), readpast_batch_column_count(batch)), (2, 7));
    let second = item(batch, 1).unwrap();
    assert_eq!((text_of(second.key), text_of(second.token)), (Some("key2".into()), Some("token2".into())));
    assert_eq!((second.attempt, second.column_count), (2, 7));
    for index in [-1, 2, i32::MIN, i32::MAX] {
        assert_eq!(item(batch, index).unwrap_err(), READPAST_NOT_FOUND);
        assert_eq!(value(batch, index, 0).unwrap_err(), READPAST_NOT_FOUND);
        assert!(readpast_batch_json(batch, index).is_null());
    }

    let mut column =
        readpast_column { struct_size: size_of::<readpast_column>(), name: ptr::null(), r#type: 0, reserved: 9 };
    // SAFETY: the place can be written.
    assert_eq!(unsafe { readpast_batch_column(batch, 3, &mut column, ptr::null_mut()) }, READPAST_OK);
    assert_eq!(
        (text_of(column.name), column.r#type, column.reserved),
        (Some("Price".into()), READPAST_TYPE_DECIMAL, 0)
    );
    // SAFETY: the place can be written.
    assert_eq!(unsafe { readpast_batch_column(batch, 7, &mut column, ptr::null_mut()) }, READPAST_NOT_FOUND);
    readpast_batch_free(batch);
}

#[test]
fn values_come_in_the_field_of_their_type() {
    let batch = sample_batch();
    assert_eq!(value(batch, 0, 0).unwrap().integer, 1);
    assert_eq!(value(batch, 0, 1).unwrap().integer, i64::MIN);
    assert_eq!(value(batch, 0, 2).unwrap().number, 0.5);
    let price = value_by_name(batch, 0, c"price").unwrap();
    assert_eq!((text_of(price.text), price.length, price.r#type), (Some("12.50".into()), 5, READPAST_TYPE_DECIMAL));

    let words = value(batch, 0, 4).unwrap();
    // SAFETY: text has its length, and a NUL after it.
    let bytes = unsafe { std::slice::from_raw_parts(words.text.cast::<u8>(), words.length + 1) };
    assert_eq!(bytes, "a\0b \u{1f600}\0".as_bytes());
    let raw = value(batch, 0, 5).unwrap();
    // SAFETY: bytes have their length.
    assert_eq!(unsafe { std::slice::from_raw_parts(raw.bytes, raw.length) }, [0, 255]);
    assert!(raw.text.is_null() && raw.is_null == 0);
    let nothing = value_by_name(batch, 0, c"Gr\u{f6}\u{df}e").unwrap();
    assert_eq!((text_of(nothing.text), nothing.length, nothing.is_null), (Some(String::new()), 0, 0));

    for column in 0..7 {
        let value = value(batch, 1, column).unwrap();
        assert_eq!((value.is_null, value.integer, value.length), (1, 0, 0));
        assert!(value.text.is_null() && value.bytes.is_null() && value.number == 0.0);
    }
    assert_eq!(value(batch, 0, -1).unwrap_err(), READPAST_NOT_FOUND);
    assert_eq!(value_by_name(batch, 0, c"Missing").unwrap_err(), READPAST_NOT_FOUND);
    assert_eq!(value_by_name(batch, 0, c"\xff").unwrap_err(), READPAST_INVALID_ARGUMENT);
    readpast_batch_free(batch);
}

#[test]
fn json_is_made_once() {
    let batch = sample_batch();
    let json = readpast_batch_json(batch, 0);
    assert_eq!(json, readpast_batch_json(batch, 0));
    let object: serde_json::Value = serde_json::from_str(&text_of(json).unwrap()).unwrap();
    assert_eq!((&object["Yes"], &object["Words"]), (&true.into(), &"a\0b \u{1f600}".into()));
    assert!(readpast_batch_json(batch, 2).is_null());
    readpast_batch_free(batch);
}

#[test]
fn a_place_must_say_its_size() {
    let batch = sample_batch();
    let mut value = readpast_value { struct_size: 0, ..empty_value() };
    let mut err = readpast_error::null();
    // SAFETY: the places can be written.
    let status = unsafe { readpast_batch_value(batch, 0, 0, &mut value, &mut err) };
    assert_eq!(status, READPAST_INVALID_ARGUMENT);
    assert!(text_of(readpast_error_message(err)).unwrap().contains("READPAST_VALUE_INIT"));
    readpast_error_free(err);
    readpast_batch_free(batch);
}
