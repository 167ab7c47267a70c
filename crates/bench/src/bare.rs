//! A bare handler: the same JSON in and out, the same rows into the same store, and nothing of the server or the engine
//! around it. What a request costs there is the least it can cost here.

use std::path::Path;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use ordo_api::jobs::{JobView, NewJob};
use ordo_engine::clock::{Clock, SystemClock, new_id};
use ordo_engine::rounds::batch_of;
use ordo_engine::{Request, codec};
use ordo_model::JobId;
use ordo_model::job::Command;
use ordo_store::{Disposition, Store};
use ordo_store_redb::{RedbOptions, RedbStore};

/// The line by which whoever started it learns where it is.
pub(super) const READY: &str = "ordo is ready at ";

/// Serves until it is killed.
pub(super) async fn serve(folder: &Path) -> anyhow::Result<()> {
    let store: Arc<dyn Store> = Arc::new(RedbStore::open(folder.join("store.db"), RedbOptions::default())?);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    eprintln!("{READY}http://{}", listener.local_addr()?);
    axum::serve(listener, Router::new().route("/v1/jobs", post(create)).with_state(store)).await?;
    Ok(())
}

async fn create(
    State(store): State<Arc<dyn Store>>,
    Json(job): Json<NewJob>,
) -> Result<(StatusCode, Json<JobView>), StatusCode> {
    let now = SystemClock.now();
    let command = Command::Schedule { definition: Box::new(job.definition), held: job.held };
    let batch = batch_of(vec![Request::new(JobId(new_id()), command)], now, false);
    let snapshot = batch.items.first().and_then(|item| match &item.disposition {
        Disposition::Keep { snapshot, .. } => Some(snapshot.clone()),
        Disposition::Purge => None,
    });
    let job =
        snapshot.and_then(|snapshot| codec::decode_job(&snapshot).ok()).ok_or(StatusCode::UNPROCESSABLE_ENTITY)?;
    store.commit(batch).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    Ok((StatusCode::CREATED, Json(JobView::of(&job, now))))
}
