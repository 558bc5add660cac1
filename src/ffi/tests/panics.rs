//! Panics end at the boundary.

use super::answer::answer;
use super::boundary::{contained, read};
use super::failure::CallFailure;
use super::*;
use std::ptr;

fn call(
    config: readpast_config,
    body: fn() -> Result<readpast_status, CallFailure>,
) -> (readpast_status, readpast_error) {
    let mut err = readpast_error::null();
    // SAFETY: the place can be written.
    (unsafe { answer(config, &mut err, body) }, err)
}

#[test]
fn a_panic_is_a_status_and_poisons_its_handle() {
    let config = readpast_config_new();
    let (status, err) = call(config, || panic!("on purpose: {}", 7));
    assert_eq!(status, READPAST_PANIC);
    assert_eq!(readpast_error_status(err), READPAST_PANIC);
    assert!(text_of(readpast_error_message(err)).unwrap().contains("on purpose: 7"));
    readpast_error_free(err);

    // SAFETY: key and value are text.
    let set = |err| unsafe { readpast_config_set(config, c"lease.ms".as_ptr(), c"1000".as_ptr(), err) };
    let mut err = readpast_error::null();
    assert_eq!(set(&mut err), READPAST_PANIC);
    assert!(text_of(readpast_error_message(err)).unwrap().contains("readpast_config"));
    readpast_error_free(err);
    readpast_config_free(config);
    assert_eq!(set(ptr::null_mut()), READPAST_INVALID_HANDLE);
}

#[test]
fn an_expected_outcome_has_no_error() {
    let config = readpast_config_new();
    let (status, err) = call(config, || Err(CallFailure::new(READPAST_INTERRUPTED, "")));
    assert_eq!((status, err.id), (READPAST_INTERRUPTED, 0));
    readpast_config_free(config);
}

#[test]
fn a_panic_in_an_accessor_or_a_destructor_is_contained() {
    struct Thrown;
    impl Drop for Thrown {
        fn drop(&mut self) {
            panic!("thrown again");
        }
    }

    let batch = sample_batch();
    assert_eq!(read(batch, -1, |_| panic!()), -1);
    assert_eq!(readpast_batch_count(batch), 2);
    readpast_batch_free(batch);
    contained((), || drop(Thrown));
    contained((), || std::panic::panic_any(Thrown));
}
