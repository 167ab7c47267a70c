//! Tables: views with columns, and the views that index them. A store without tables keeps the rows of both as they come.

use ordo_model::EntityId;
use uuid::Uuid;

use super::StoreUnderTest;
use super::given::{accept, by_status, item, job, job_rows, no_run_rows, put, run_cells, run_rows};
use crate::{Batch, Direction, Fault, KeyRange, Rebuilt, Snapshot, Store, View};

const PENDING: u8 = 0;
const COMPLETED: u8 = 2;
const FAILED: u8 = 3;

pub async fn a_run_is_found_by_its_id_its_job_and_its_status(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_rows(run_rows(job(1), 10, "failed", b"run"))).await;
    assert_eq!(store.row(View::Runs, &id(10)).await.unwrap(), Some(b"run".to_vec()));
    assert_eq!(store.row(View::Runs, &id(11)).await.unwrap(), None);
    assert_eq!(store.row(View::Runs, b"no id").await.unwrap(), None);
    assert_eq!(store.row(View::RunsByJob, &of_job(1, 10)).await.unwrap(), Some(Vec::new()));
    assert_eq!(store.row(View::RunsByJob, &of_job(2, 10)).await.unwrap(), None);
    assert_eq!(store.row(View::RunsByStatus, &by_status(FAILED, 10)).await.unwrap(), Some(Vec::new()));
    assert_eq!(store.row(View::RunsByStatus, &by_status(PENDING, 10)).await.unwrap(), None);
    let asked = [id(11), id(10), b"?".to_vec(), id(10)];
    let found = store.rows_by_key(View::Runs, &asked).await.unwrap();
    assert_eq!(found, [None, Some(b"run".to_vec()), None, Some(b"run".to_vec())]);
}

pub async fn a_run_that_moves_on_is_found_by_its_new_status_alone(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_rows(run_rows(job(1), 10, "pending", b"1"))).await;
    assert_eq!(runs_by_status(&*store, PENDING).await, [10]);
    accept(&*store, item(job(1), 1).with_rows(run_rows(job(1), 10, "failed", b"2"))).await;
    assert_eq!((runs_by_status(&*store, PENDING).await, runs_by_status(&*store, FAILED).await), (vec![], vec![10]));
    accept(&*store, item(job(1), 2).with_rows(run_rows(job(1), 10, "completed", b"3"))).await;
    // Completed runs are the many: they are not in this view.
    assert_eq!(runs_by_status(&*store, FAILED).await, Vec::<u128>::new());
    assert_eq!(runs_by_status(&*store, COMPLETED).await, Vec::<u128>::new());
    assert_eq!(store.row(View::Runs, &id(10)).await.unwrap(), Some(b"3".to_vec()));
    assert_eq!(counts(&*store, View::Runs).await, (1, 1));
    assert_eq!(counts(&*store, View::RunsByStatus).await, (0, 0));
}

pub async fn a_run_that_is_gone_is_found_nowhere(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let rows = [run_rows(job(1), 10, "failed", b""), run_rows(job(1), 11, "failed", b"")].concat();
    accept(&*store, item(job(1), 0).with_rows(rows)).await;
    accept(&*store, item(job(1), 1).with_rows(no_run_rows(job(1), 10))).await;
    for view in [View::Runs, View::RunsByJob, View::RunsByStatus] {
        assert_eq!(counts(&*store, view).await, (1, 1), "{view:?}");
    }
    assert_eq!(runs_by_status(&*store, FAILED).await, [11]);
}

pub async fn runs_of_a_job_come_in_order_from_either_end(place: &dyn StoreUnderTest) {
    let store = with_runs(place).await;
    let of_one = KeyRange::prefix(job(1).id.as_bytes());
    assert_eq!(ids(&*store, View::RunsByJob, &of_one, Direction::Ascending, 9).await, [10, 12, 13]);
    assert_eq!(ids(&*store, View::RunsByJob, &of_one, Direction::Descending, 2).await, [13, 12]);
    let before = KeyRange { to: Some(of_job(1, 13)), ..of_one };
    assert_eq!(ids(&*store, View::RunsByJob, &before, Direction::Descending, 9).await, [12, 10]);
    let behind = KeyRange { from: [of_job(1, 12), vec![0]].concat(), to: None };
    assert_eq!(ids(&*store, View::RunsByJob, &behind, Direction::Ascending, 9).await, [13, 11]);
    assert_eq!(ids(&*store, View::Runs, &KeyRange::all(), Direction::Descending, 3).await, [13, 12, 11]);
    let backwards = KeyRange { from: id(13), to: Some(id(10)) };
    assert_eq!(ids(&*store, View::Runs, &backwards, Direction::Ascending, 3).await, Vec::<u128>::new());
}

pub async fn statuses_come_in_the_order_of_their_codes(place: &dyn StoreUnderTest) {
    let store = with_runs(place).await;
    let all = KeyRange::all();
    assert_eq!(ids(&*store, View::RunsByStatus, &all, Direction::Ascending, 9).await, [13, 10, 11]);
    assert_eq!(ids(&*store, View::RunsByStatus, &all, Direction::Descending, 2).await, [11, 10]);
    let from = KeyRange { from: vec![PENDING, 0xff], to: Some(by_status(FAILED, 11)) };
    assert_eq!(ids(&*store, View::RunsByStatus, &from, Direction::Ascending, 9).await, [10]);
}

pub async fn runs_of_many_jobs_come_in_one_read(place: &dyn StoreUnderTest) {
    let store = with_runs(place).await;
    let ranges = [2, 3, 1].map(|number| KeyRange::prefix(job(number).id.as_bytes()));
    let found = store.rows_of_ranges(View::RunsByJob, &ranges, Direction::Descending, 2).await.unwrap();
    let found: Vec<Vec<u128>> = found.iter().map(|rows| rows.iter().map(|row| last_id(&row.key)).collect()).collect();
    assert_eq!(found, [vec![11], vec![], vec![13, 12]]);
    let statuses = [KeyRange::prefix(&[FAILED]), KeyRange::all()];
    let found = store.rows_of_ranges(View::RunsByStatus, &statuses, Direction::Ascending, 2).await.unwrap();
    let found: Vec<Vec<u128>> = found.iter().map(|rows| rows.iter().map(|row| last_id(&row.key)).collect()).collect();
    assert_eq!(found, [[10, 11], [13, 10]]);
}

pub async fn a_job_is_found_by_its_state(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    for (number, state) in [(1, "active"), (2, "paused"), (3, "active")] {
        accept(&*store, item(job(number), 0).with_rows(job_rows(job(number), state))).await;
    }
    let active = KeyRange::prefix(&[0]);
    assert_eq!(ids(&*store, View::JobsByState, &active, Direction::Ascending, 9).await, [1, 3]);
    accept(&*store, item(job(1), 1).with_rows(job_rows(job(1), "cancelled"))).await;
    assert_eq!(ids(&*store, View::JobsByState, &active, Direction::Ascending, 9).await, [3]);
    assert_eq!(ids(&*store, View::JobsByState, &KeyRange::all(), Direction::Ascending, 9).await, [3, 2, 1]);
    assert_eq!(store.row(View::Jobs, &id(2)).await.unwrap(), Some(Vec::new()));
    assert_eq!(counts(&*store, View::Jobs).await, (3, 3));
}

pub async fn a_store_with_tables_has_the_cells_that_were_written(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_rows(run_rows(job(1), 10, "failed", b"run"))).await;
    let expected = store.has_tables().then(|| run_cells(job(1), "failed"));
    assert_eq!(store.cells(View::Runs, &id(10)).await.unwrap(), expected);
    assert_eq!(store.cells(View::Runs, &id(11)).await.unwrap(), None);
    assert_eq!(store.cells(View::RunsByJob, &of_job(1, 10)).await.unwrap(), None);
}

pub async fn a_row_of_a_table_without_its_cells_is_misuse_where_there_are_tables(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let bare = item(job(1), 0).with_rows(vec![put(View::Runs, &id(10), b"run")]);
    let answer = store.commit(Batch { items: vec![bare], chunks: Vec::new() }).await;
    assert_eq!(matches!(answer, Err(Fault::Misuse { .. })), store.has_tables(), "{answer:?}");
}

pub async fn a_rebuild_puts_back_tables_and_their_indexes(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let rows = [run_rows(job(1), 10, "failed", b"run"), job_rows(job(1), "active")].concat();
    accept(&*store, item(job(1), 0).with_rows(rows.clone())).await;
    store.clear_derived().await.unwrap();
    assert_eq!(counts(&*store, View::Runs).await, (0, 0));
    assert_eq!(counts(&*store, View::JobsByState).await, (0, 0));
    let snapshot = Snapshot { version: 1, alarm: None, state: b"e1".to_vec() };
    let rows = rows.into_iter().filter(|row| row.value.is_some()).collect();
    store.rebuild(vec![Rebuilt { entity: job(1), snapshot, rows }]).await.unwrap();
    store.end_rebuild().await.unwrap();
    assert_eq!(runs_by_status(&*store, FAILED).await, [10]);
    assert_eq!(store.row(View::Runs, &id(10)).await.unwrap(), Some(b"run".to_vec()));
    assert_eq!(store.cells(View::Runs, &id(10)).await.unwrap().is_some(), store.has_tables());
    assert_eq!(counts(&*store, View::JobsByState).await, (1, 1));
}

/// Three runs of job 1 and one of job 2.
async fn with_runs(place: &dyn StoreUnderTest) -> std::sync::Arc<dyn Store> {
    let store = place.open().await;
    let runs: [(EntityId, u128, &str); 4] =
        [(job(1), 10, "failed"), (job(2), 11, "failed"), (job(1), 12, "completed"), (job(1), 13, "pending")];
    for (number, (owner, run, status)) in (0..).zip(runs) {
        accept(&*store, item(job(9), number).with_rows(run_rows(owner, run, status, b""))).await;
    }
    store
}

fn id(number: u128) -> Vec<u8> {
    Uuid::from_u128(number).as_bytes().to_vec()
}

fn of_job(number: u128, run: u128) -> Vec<u8> {
    [id(number), id(run)].concat()
}

fn last_id(key: &[u8]) -> u128 {
    u128::from_be_bytes(*key.last_chunk().unwrap())
}

async fn ids(store: &dyn Store, view: View, range: &KeyRange, order: Direction, limit: usize) -> Vec<u128> {
    let rows = store.rows(view, range, order, limit).await.unwrap();
    rows.iter().map(|row| last_id(&row.key)).collect()
}

async fn runs_by_status(store: &dyn Store, code: u8) -> Vec<u128> {
    ids(store, View::RunsByStatus, &KeyRange::prefix(&[code]), Direction::Ascending, 9).await
}

/// Of a view: rows that can be read, rows that are counted.
async fn counts(store: &dyn Store, view: View) -> (usize, u64) {
    let read = store.rows(view, &KeyRange::all(), Direction::Ascending, 100).await.unwrap().len();
    let stats = store.stats().await.unwrap();
    (read, stats.rows.iter().find(|(known, _)| *known == view).unwrap().1)
}
