//! Turns: how much is at work at a time, and how much may wait for it.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub struct Turns {
    /// Work that is done.
    places: Arc<Semaphore>,
    /// Requests that have a place or wait for one.
    room: Arc<Semaphore>,
}

/// A place at work, until it is dropped.
pub struct Turn {
    _place: OwnedSemaphorePermit,
    _room: OwnedSemaphorePermit,
}

impl Turns {
    pub fn new(at_once: usize, waiting: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(at_once)), room: Arc::new(Semaphore::new(at_once + waiting)) }
    }

    /// A turn as soon as there is one; `None` when too many wait already.
    pub async fn take(&self) -> Option<Turn> {
        let room = Arc::clone(&self.room).try_acquire_owned().ok()?;
        let place = Arc::clone(&self.places).acquire_owned().await.ok()?;
        Some(Turn { _place: place, _room: room })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(found) => Some(found),
            Poll::Pending => None,
        }
    }

    #[test]
    fn so_many_wait_and_the_next_is_refused() {
        let turns = Turns::new(1, 1);
        let first = poll(pin!(turns.take())).flatten().expect("a turn");
        {
            let mut second = pin!(turns.take());
            assert!(poll(second.as_mut()).is_none(), "it waits");
            assert!(matches!(poll(pin!(turns.take())), Some(None)), "there is no room");
        }
        // The second has hung up.
        let mut third = pin!(turns.take());
        assert!(poll(third.as_mut()).is_none(), "it waits in the place of the second");
        drop(first);
        assert!(matches!(poll(third.as_mut()), Some(Some(_))));
    }
}
