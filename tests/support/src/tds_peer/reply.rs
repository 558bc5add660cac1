//! The reaction of the peer to a request or a login, as the script has it: answer, or misbehave.

use std::time::Duration;

use super::answer::Answer;
use super::message::ServerMessage;

/// The fate of a request. An [`Answer`] is one by `into()`; the default is a plain "done".
#[derive(Clone, Debug)]
pub struct Reply {
    pub delay: Duration,
    pub action: Action,
}

#[derive(Clone, Debug)]
pub enum Action {
    Answer(Answer),
    CutBefore,
    CutInside { answer: Answer, bytes: usize },
    CutAfter(Answer),
    StallAfter(Answer),
    Silence,
    Deaf,
}

impl Reply {
    /// Closes the connection instead of answering.
    pub fn cut_before() -> Reply {
        Action::CutBefore.into()
    }

    /// Sends the first `bytes` of the answer, packet headers included, and closes the connection.
    /// Never sends all of it: at least the last byte is kept.
    pub fn cut_inside(answer: Answer, bytes: usize) -> Reply {
        Action::CutInside { answer, bytes }.into()
    }

    /// Answers, then closes the connection.
    pub fn cut_after(answer: Answer) -> Reply {
        Action::CutAfter(answer).into()
    }

    /// Sends the rows and messages of the answer but not its end, then nothing until an attention
    /// arrives, which is acknowledged.
    pub fn stall_after(answer: Answer) -> Reply {
        Action::StallAfter(answer).into()
    }

    /// Never answers; an attention is acknowledged.
    pub fn silence() -> Reply {
        Action::Silence.into()
    }

    /// Never answers, not even an attention.
    pub fn deaf() -> Reply {
        Action::Deaf.into()
    }

    /// The error as the whole answer; the request goes on to its regular end after it.
    pub fn error(message: &ServerMessage) -> Reply {
        Answer::new().message(message).into()
    }

    /// Error 1205 as the whole answer; an open transaction is rolled back.
    pub fn deadlock() -> Reply {
        Answer::new().abort(&ServerMessage::deadlock()).into()
    }

    /// The same, later. An attention that arrives first is acknowledged and ends the request.
    pub fn after(mut self, delay: Duration) -> Reply {
        self.delay += delay;
        self
    }
}

impl Default for Reply {
    fn default() -> Self {
        Answer::new().into()
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Action::Answer(answer).into()
    }
}

impl From<Action> for Reply {
    fn from(action: Action) -> Self {
        Reply { delay: Duration::ZERO, action }
    }
}

/// The fate of a login.
#[derive(Clone, Debug, Default)]
pub enum LoginReply {
    #[default]
    Accept,
    /// The error, then the end of the connection.
    Refuse(ServerMessage),
    /// The end of the connection without a word.
    Cut,
    /// Nothing, until the client gives up.
    Silence,
}
