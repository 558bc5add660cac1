//! Settling what commands have said, so that the outcome is known.

use super::judge::Verdict;
use super::{Control, Events};
use readpast::{Action, Answer, Batch, ErrorKind, Item, Outcome, Queue, Settlement};
use std::time::Duration;
use uuid::Uuid;

/// Between two tries of a settle that the library has given up on.
const PAUSE: Duration = Duration::from_secs(2);

/// How long an error text may be, try by try, when the table has no room for a longer one.
const SHORTER: [usize; 2] = [100, 20];

/// Settles one item and claims up to `max` more.
pub fn one(
    queue: &Queue,
    control: &Control,
    events: &Events<'_>,
    item: &Item<'_>,
    verdict: &Verdict,
    max: u32,
) -> readpast::Result<(Verdict, Outcome, Batch)> {
    let mut verdict = verdict.clone();
    // What a command says need not be what a queue takes: then it is said in other words, and the item is not held up.
    let mut reworded = false;
    let mut shorter = SHORTER.into_iter();
    loop {
        match settle(queue, control, events, &[verdict.settlement(item)], max) {
            Ok((mut outcomes, batch)) => return Ok((verdict, outcomes.remove(0), batch)),
            Err(error) if error.kind() == ErrorKind::InvalidArgument && !reworded => {
                verdict = Verdict::retry(format!("the command's wish was refused: {}", error.message()));
                reworded = true;
            }
            Err(error) if matches!(error.kind(), ErrorKind::Database | ErrorKind::InvalidItem) => {
                let Some(length) = shorter.next() else { return Err(error) };
                if length == SHORTER[0] {
                    events.refused(item, &error);
                }
                verdict.error = verdict.error.map(|text| text.chars().take(length).collect());
                (verdict.response, verdict.step) = (None, None);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Gives items back unworked.
pub fn release<'a>(
    queue: &Queue,
    control: &Control,
    events: &Events<'_>,
    items: impl Iterator<Item = Item<'a>>,
) -> readpast::Result<()> {
    let settlements: Vec<_> = items.map(|item| Settlement::new(&item, Action::Release)).collect();
    if settlements.is_empty() {
        return Ok(());
    }
    let (outcomes, _) = settle(queue, control, events, &settlements, 0)?;
    events.released(outcomes.iter().filter(|outcome| outcome.answer == Answer::Ok).count() as u64);
    Ok(())
}

/// The same call with the same identity until its outcome is known, or everything is to end.
fn settle(
    queue: &Queue,
    control: &Control,
    events: &Events<'_>,
    settlements: &[Settlement<'_>],
    max: u32,
) -> readpast::Result<(Vec<Outcome>, Batch)> {
    let operation = Uuid::now_v7().to_string();
    loop {
        let result = match max {
            0 => queue.settle(settlements, Some(&operation)).map(|outcomes| (outcomes, Batch::default())),
            max => queue.settle_and_claim(settlements, Some(&operation), max),
        };
        match result {
            Err(error) if error.is_retryable() && control.terminated().is_none() => {
                events.trouble(&error);
                std::thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
}
