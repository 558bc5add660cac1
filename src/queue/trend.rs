//! The trend of a queue.

use super::handle::Queue;
use super::inner::QueueInner;
use crate::calls::{Sessions, YieldsTo, check_most};
use crate::error::Result;
use crate::item::{Trend, Watched};
use std::time::{Duration, Instant};

pub(super) fn watch(queue: &QueueInner, most: u32) -> Result<Watched> {
    queue.backend.watch(queue, &queue.terms, check_most(most)?)
}

pub(super) fn trend(queue: &Queue, most: u32, apart: Duration) -> Result<(Watched, Trend)> {
    let (first, begun) = (queue.watch(most)?, Instant::now());
    let alone = first.trend(None);
    if alone.counted || apart.is_zero() {
        return Ok((first, alone));
    }
    // Completed items leave the table, so the change of the rest shows their number.
    let any = queue.any();
    if any.interrupt.wait(apart, YieldsTo::Interrupts)
        && let Some(called_off) = any.called_off()
    {
        return Err(called_off);
    }
    let (second, ago) = (queue.watch(most)?, begun.elapsed());
    let trend = second.trend(Some((&first, ago)));
    Ok((second, trend))
}
