//! The questions that operators ask a queue, each by a name and a JSON object of arguments. The command's `--json`, `serve` and
//! `readpast_queue_ask` give the same answers, which are made here. docs/ask.md is made from [`QUESTIONS`].

mod figures;
mod given;
mod items;
mod limits;
mod pauses;
mod question;
mod schedules;
mod setup;
mod steer;

pub use self::figures::{Longer, away, stats, trend, types, watched};
pub use self::items::{Around, digits, item, progress, progress_of, reason, waits, why};
pub use self::limits::limit;
pub use self::pauses::{pause_until, pauses};
pub use self::question::{Field, Kind, Question};
pub use self::schedules::{schedule, schedule_time};
pub use self::setup::{LISTED, doctor, findings, installed, list, setting};
pub use self::steer::{edited, moved, operated, passed_over, rebalanced, recovered, steered};

use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::ident::did_you_mean;
use crate::queue::Queue;
use given::Given;

/// All questions.
pub static QUESTIONS: [&Question; 31] = [
    &figures::STATS,
    &figures::TREND,
    &figures::WATCH,
    &figures::TYPES,
    &figures::ERRORS,
    &figures::WORKERS,
    &items::FIND,
    &items::SHOW,
    &items::WHY,
    &steer::RETRY,
    &steer::REDRIVE,
    &steer::CANCEL,
    &steer::PAUSE,
    &steer::RESUME,
    &steer::EDIT,
    &steer::MOVE,
    &steer::REBALANCE,
    &steer::PURGE,
    &steer::RECOVER,
    &pauses::PAUSES,
    &pauses::PAUSE_QUEUE,
    &pauses::RESUME_QUEUE,
    &limits::LIMITS,
    &limits::SET_LIMIT,
    &setup::SETTINGS,
    &setup::SET,
    &setup::DOCTOR,
    &schedules::SCHEDULES,
    &schedules::SCHEDULE,
    &schedules::UNSCHEDULE,
    &schedules::RUN_SCHEDULE,
];

impl Queue {
    /// The answer to the question called `what`, one of [`QUESTIONS`], as JSON on one line. `arguments` is a JSON object; `None`
    /// gives none.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a question or an argument that there is not, and names those that there are; else the
    /// failure of the call that answers it.
    pub fn ask(&self, what: &str, arguments: Option<&str>) -> Result<String> {
        let Some(question) = QUESTIONS.iter().find(|question| question.name == what) else {
            let names = QUESTIONS.iter().map(|question| question.name);
            let near = did_you_mean(what, names.clone());
            let known = names.collect::<Vec<_>>().join(", ");
            let message = format!("a queue cannot be asked {}{near}; the questions are {known}", Excerpt(what));
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        };
        let answered = Given::read(question, arguments).and_then(|given| (question.run)(self, &given));
        answered.map_err(|error| error.in_context(what))
    }
}
