//! Tests of wrong handles, in any order of calls.

use super::batch::empty_item;
use super::*;
use proptest::prelude::*;
use std::ptr;

/// Reads a missing batch: it must not crash.
fn read_all(batch: readpast_batch) -> bool {
    let mut item = empty_item();
    // SAFETY: the place can be written.
    let status = unsafe { readpast_batch_item(batch, 0, &mut item, ptr::null_mut()) };
    let nothing = readpast_batch_count(batch) == 0
        && readpast_batch_column_count(batch) == 0
        && readpast_batch_json(batch, 0).is_null();
    assert_eq!(nothing, status != READPAST_OK);
    status == READPAST_OK
}

#[derive(Debug, Clone)]
enum Step {
    MakeBatch,
    MakeConfig,
    Use(usize),
    Free(usize),
    /// Uses a handle with some bits turned over.
    Flip(usize, u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        Just(Step::MakeBatch),
        Just(Step::MakeConfig),
        (0..8_usize).prop_map(Step::Use),
        (0..8_usize).prop_map(Step::Free),
        // Tag and epoch only: the other bits could make a handle of another test.
        (0..8_usize, 1..=u64::from(u16::MAX)).prop_map(|(which, bits)| Step::Flip(which, bits << 48)),
    ];
    prop::collection::vec(step, 0..40)
}

fn set(config: readpast_config) -> readpast_status {
    // SAFETY: key and value are text.
    unsafe { readpast_config_set(config, c"lease.ms".as_ptr(), c"1000".as_ptr(), ptr::null_mut()) }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 8 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_number_is_refused(id: u64) {
        let batch = readpast_batch { id };
        prop_assert!(!read_all(batch));
        readpast_batch_free(batch);
        let queue = readpast_queue { id };
        prop_assert_eq!(readpast_queue_worker(queue), ptr::null());
        readpast_queue_free(queue);
        let renewal = readpast_renewal { id };
        prop_assert_eq!(readpast_renewal_lost_count(renewal), 0);
        readpast_renewal_free(renewal);
        prop_assert_eq!(readpast_error_message(readpast_error { id }), ptr::null());
    }

    #[test]
    fn handles_live_from_making_to_freeing_whatever_comes_between(steps in steps()) {
        let mut made: Vec<(u64, bool, bool)> = Vec::new();
        for step in steps {
            let pick = |which: usize| if made.is_empty() { (0, false, false) } else { made[which % made.len()] };
            match step {
                Step::MakeBatch => made.push((sample_batch().id, true, true)),
                Step::MakeConfig => made.push((readpast_config_new().id, false, true)),
                Step::Use(which) => {
                    let (id, is_batch, alive) = pick(which);
                    prop_assert_eq!(read_all(readpast_batch { id }), is_batch && alive);
                    let expected = if alive && !is_batch { READPAST_OK } else { READPAST_INVALID_HANDLE };
                    prop_assert_eq!(set(readpast_config { id }), expected);
                }
                Step::Free(which) => {
                    let (id, ..) = pick(which);
                    // Only the right one of them does anything.
                    readpast_queue_free(readpast_queue { id });
                    readpast_batch_free(readpast_batch { id });
                    readpast_config_free(readpast_config { id });
                    made.iter_mut().filter(|handle| handle.0 == id).for_each(|handle| handle.2 = false);
                }
                Step::Flip(which, bits) => {
                    let id = pick(which).0 ^ bits;
                    prop_assert_eq!(read_all(readpast_batch { id }), false);
                    prop_assert_ne!(set(readpast_config { id }), READPAST_OK);
                }
            }
        }
        for (id, ..) in made {
            readpast_batch_free(readpast_batch { id });
            readpast_config_free(readpast_config { id });
        }
    }
}
