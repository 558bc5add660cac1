//! Bounded looks at the items of a queue, also where it is at several places.

use readpast::{Batch, Error, Filter, Queue};

/// A bounded look at each place.
#[derive(Default)]
pub struct Looked {
    pub pages: Vec<Batch>,
    /// Whether there may be more items than these.
    pub more: bool,
    /// Why a place has none.
    pub failure: Option<Error>,
}

/// Up to `max` items of all places.
pub fn look(queue: &Queue, filter: &Filter, max: u32, most: u32) -> Looked {
    let (mut looked, mut left, mut after) = (Looked::default(), max, None);
    loop {
        let next = match queue.look(filter, after.as_deref(), left, most) {
            Ok((page, further)) => {
                let is_full = page.len() >= left as usize;
                let is_cut = further.as_deref().is_some_and(|key| !queue.is_start_of_place(key));
                looked.more |= is_cut || is_full;
                left = left.saturating_sub(u32::try_from(page.len()).unwrap_or(left));
                let last = page.iter().last().filter(|_| is_full).map(|item| item.key().to_owned());
                looked.pages.push(page);
                if is_cut { queue.page_behind(further.as_deref()) } else { further.or(last) }
            }
            Err(error) => {
                looked.failure.get_or_insert(error);
                queue.page_behind(after.as_deref())
            }
        };
        if next.is_none() || left == 0 {
            return looked;
        }
        after = next;
    }
}
