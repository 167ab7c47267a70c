//! Snapshots and counts: the store as it stands.

use super::StoreUnderTest;
use super::given::{accept, alarm, chunk, commit, grow, item, job, put};
use crate::{Batch, View};

pub async fn load_answers_in_the_order_it_was_asked(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 1).await;
    grow(&*store, job(3), 2).await;
    let loaded = store.load(&[job(3), job(2), job(1), job(3)]).await.unwrap();
    let versions: Vec<_> = loaded.iter().map(|found| found.as_ref().map(|snapshot| snapshot.version)).collect();
    assert_eq!(versions, [Some(2), None, Some(1), Some(2)]);
    assert_eq!(loaded[0].as_ref().unwrap().state, b"e2");
}

pub async fn load_of_nothing_is_nothing(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    assert_eq!(store.load(&[]).await.unwrap(), []);
}

pub async fn entities_page_in_order_of_id(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let numbers = [1, 255, 256, u128::from(u64::MAX), u128::MAX];
    commit(&*store, numbers.iter().rev().map(|number| item(job(*number), 0)).collect()).await;
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let page = store.entities(after, 2).await.unwrap();
        let Some((last, _)) = page.last() else { break };
        after = Some(*last);
        paged.extend(page.into_iter().map(|(entity, _)| entity));
    }
    assert_eq!(paged, numbers.map(job));
}

pub async fn stats_count_what_is_there(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let empty = store.stats().await.unwrap();
    assert_eq!((empty.events, empty.entities, empty.alarms, empty.chunks), (0, 0, 0, 0));
    accept(&*store, item(job(1), 0).with_alarm(Some(alarm(5))).with_rows(vec![put(View::Queue, b"q", b"")])).await;
    grow(&*store, job(2), 3).await;
    store.commit(Batch { items: Vec::new(), chunks: vec![chunk(1, 0, "a"), chunk(1, 1, "b")] }).await.unwrap();
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.events, stats.entities, stats.alarms, stats.chunks), (4, 2, 1, 2));
    for (view, rows) in stats.rows {
        assert_eq!(rows, u64::from(view == View::Queue), "{view:?}");
    }
    assert!(stats.bytes_on_disk > 0 && stats.format > 0 && !stats.driver.is_empty());
}
