//! Alarms: one per entity, in one index ordered by time and id.

use ordo_model::Timestamp;

use super::StoreUnderTest;
use super::given::{accept, alarm, at, commit, due, item, job, purge};
use crate::{Alarm, DueAlarm, Store};

pub async fn an_alarm_rings_at_its_time_not_before(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_alarm(Some(alarm(500)))).await;
    assert_eq!(store.due(at(499), None, 10).await.unwrap(), []);
    let rings = DueAlarm { at: at(500), rank: 5, entity: job(1) };
    assert_eq!(store.due(at(500), None, 10).await.unwrap(), [rings]);
    assert_eq!(store.due(at(501), None, 10).await.unwrap(), [rings]);
    assert_eq!(store.due(at(501), None, 0).await.unwrap(), []);
}

pub async fn a_moved_alarm_rings_only_at_its_new_time(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_alarm(Some(alarm(500)))).await;
    accept(&*store, item(job(1), 1).with_alarm(Some(alarm(900)))).await;
    assert_eq!(times(&*store).await, [900]);
    accept(&*store, item(job(1), 2).with_alarm(Some(alarm(100)))).await;
    assert_eq!(times(&*store).await, [100]);
    accept(&*store, item(job(1), 3).with_alarm(Some(alarm(100)))).await;
    assert_eq!(times(&*store).await, [100]);
}

pub async fn a_cleared_alarm_does_not_ring(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_alarm(Some(alarm(500)))).await;
    accept(&*store, item(job(1), 1).with_alarm(None)).await;
    assert_eq!(due(&*store).await, []);
    accept(&*store, item(job(1), 2).with_alarm(Some(alarm(700)))).await;
    assert_eq!(times(&*store).await, [700]);
}

pub async fn a_changed_rank_is_seen_without_moving_the_alarm(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_alarm(Some(Alarm { at: at(500), rank: 9 }))).await;
    accept(&*store, item(job(1), 1).with_alarm(Some(Alarm { at: at(500), rank: 0 }))).await;
    assert_eq!(due(&*store).await, [DueAlarm { at: at(500), rank: 0, entity: job(1) }]);
}

pub async fn alarms_ring_in_order_of_time_then_id(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let mut items = Vec::new();
    for (number, ms) in [(3, 256), (1, 256), (2, 255), (u128::MAX, 1), (4, 65_536)] {
        items.push(item(job(number), 0).with_alarm(Some(alarm(ms))));
    }
    commit(&*store, items).await;
    let order: Vec<_> = due(&*store).await.into_iter().map(|rings| rings.entity).collect();
    assert_eq!(order, [job(u128::MAX), job(2), job(1), job(3), job(4)]);
}

pub async fn due_pages_with_after_without_gap_or_repetition(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let items = (0..25).map(|n: u128| item(job(n), 0).with_alarm(Some(alarm(100 + (n / 10) as i64)))).collect();
    commit(&*store, items).await;
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let page = store.due(at(200), after, 4).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(*last);
        paged.extend(page);
    }
    assert_eq!(paged, due(&*store).await);
    assert_eq!(paged.len(), 25);
}

pub async fn due_after_an_alarm_that_is_gone_goes_on_behind_it(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    commit(&*store, (1..=3).map(|n| item(job(n), 0).with_alarm(Some(alarm(100)))).collect()).await;
    let second = due(&*store).await[1];
    accept(&*store, purge(job(2), 1)).await;
    let rest = store.due(at(100), Some(second), 10).await.unwrap();
    assert_eq!(rest.iter().map(|rings| rings.entity).collect::<Vec<_>>(), [job(3)]);
}

pub async fn due_after_a_later_time_is_empty(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_alarm(Some(alarm(100)))).await;
    let later = DueAlarm { at: at(900), rank: 0, entity: job(1) };
    assert_eq!(store.due(at(200), Some(later), 10).await.unwrap(), []);
    let last = DueAlarm { at: at(200), rank: 0, entity: job(u128::MAX) };
    assert_eq!(store.due(at(200), Some(last), 10).await.unwrap(), []);
}

pub async fn alarms_at_the_bounds_of_time_are_found(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let bound = |bound| Some(Alarm { at: bound, rank: 255 });
    accept(&*store, item(job(0), 0).with_alarm(bound(Timestamp::MIN))).await;
    accept(&*store, item(job(u128::MAX), 0).with_alarm(bound(Timestamp::MAX))).await;
    assert_eq!(store.due(Timestamp::MIN, None, 10).await.unwrap().len(), 1);
    let both = store.due(Timestamp::MAX, None, 10).await.unwrap();
    assert_eq!(both.iter().map(|rings| rings.at).collect::<Vec<_>>(), [Timestamp::MIN, Timestamp::MAX]);
}

pub async fn a_snapshot_has_its_alarm(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let alarm = Some(Alarm { at: at(123), rank: 7 });
    accept(&*store, item(job(1), 0).with_alarm(alarm)).await;
    accept(&*store, item(job(2), 0)).await;
    let loaded = store.load(&[job(1), job(2)]).await.unwrap();
    let alarms: Vec<_> = loaded.into_iter().map(|snapshot| snapshot.unwrap().alarm).collect();
    assert_eq!(alarms, [alarm, None]);
}

pub async fn a_refused_item_leaves_the_alarm_alone(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_alarm(Some(alarm(500)))).await;
    commit(&*store, vec![item(job(1), 0).with_alarm(None), item(job(1), 9).with_alarm(Some(alarm(1)))]).await;
    assert_eq!(times(&*store).await, [500]);
}

async fn times(store: &dyn Store) -> Vec<i64> {
    due(store).await.into_iter().map(|rings| rings.at.ms()).collect()
}
