//! Actions on many items: one at each place, under a number of the place.

use crate::error::Result;
use crate::item::{Filter, OperatorVerb};
use crate::queue::Queue;
use crate::queue::handle::{Places, at};
use crate::queue::places::route::filter_at;

impl Places {
    /// [`Queue::begin_actions`]: none is begun while a place is away that has not answered yet.
    pub(in crate::queue) fn begin_actions(&self, verb: OperatorVerb, filter: &Filter) -> Result<Vec<(Queue, i64)>> {
        filter.keys.iter().flatten().try_for_each(|key| self.number_of(key).map(drop))?;
        let (mut begun, mut names) = (Vec::new(), Vec::new());
        for (name, queue) in self.all()? {
            let Some(filter) = filter_at(name, filter) else { continue };
            let number = queue.begin_action(verb, &filter, None).map_err(|error| {
                let error = error.in_context(at(name));
                if names.is_empty() { error } else { error.in_context(format!("it is begun at {}", names.join(", "))) }
            })?;
            names.push(name);
            begun.push((queue.share(), number));
        }
        Ok(begun)
    }
}
