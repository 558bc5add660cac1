//! What becomes of an item, whatever its table looks like.

use crate::tables::{ALL, Adopted, claim, settle};
use readpast::item::Action;

#[test]
fn items_are_claimed_and_completed() {
    for kind in ALL {
        println!("{}", kind.name);
        let adopted = Adopted::new(kind);
        let queue = adopted.worker("w");
        let keys: Vec<_> = queue.enqueue(&adopted.items(5), None).unwrap().into_iter().map(|e| e.key).collect();
        let batch = claim(&queue, 3);
        assert_eq!(batch.len(), 3, "{}", kind.name);
        for item in batch.iter() {
            assert!(keys.iter().any(|key| *key == item.key()), "{}", kind.name);
            assert_eq!(item.attempt(), 1, "{}", kind.name);
        }
        let other = adopted.worker("v");
        assert_eq!(claim(&other, 10).len(), 2, "{}", kind.name);
        settle(&queue, &batch, Action::Complete, "Completed");
        assert_eq!(claim(&queue, 10).len(), 0, "{}", kind.name);
    }
}
