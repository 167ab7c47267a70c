//! Where a result is kept: a small one in its event, a larger one beside it, one that is too large nowhere.

use std::sync::Arc;

use ordo_model::job::AttemptReport;
use ordo_model::limits::{JSON_DEPTH_MAX, RESULT_INLINE_MAX_BYTES, RESULT_MAX_BYTES};
use ordo_model::strict::is_deeper_than;
use ordo_model::{RunId, Timestamp};
use ordo_store::{Chunk, Fault};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::commit::batcher::BatcherMessage;
use crate::commit::queue::BatcherQueue;
use crate::run::log_writer::RESULT_SEQ;

/// The report of a completed attempt. A large result is stored first, so that whoever sees the end finds it.
pub(crate) async fn bounded(
    batcher: &BatcherQueue,
    run_id: RunId,
    started_at: Timestamp,
    result: Value,
) -> Result<AttemptReport, Arc<Fault>> {
    if is_deeper_than(&result, JSON_DEPTH_MAX) {
        // Otherwise what is stored of it, here and in the jobs that come after, could not be read again.
        let reason = format!("the result has more than {JSON_DEPTH_MAX} values inside each other");
        return Ok(AttemptReport::Failed { started_at: Some(started_at), reason });
    }
    let bytes = serde_json::to_vec(&result).unwrap_or_default();
    if bytes.len() <= RESULT_INLINE_MAX_BYTES {
        return Ok(AttemptReport::Completed { started_at, result, result_bytes: None });
    }
    if bytes.len() > RESULT_MAX_BYTES {
        let reason = format!("the result has {} bytes, at most {RESULT_MAX_BYTES} are kept", bytes.len());
        return Ok(AttemptReport::Failed { started_at: Some(started_at), reason });
    }
    let result_bytes = Some(bytes.len() as u64);
    let chunk = Chunk { owner: run_id.0, seq: RESULT_SEQ, bytes };
    let (reply, done) = oneshot::channel();
    drop(batcher.send(BatcherMessage::Chunks { chunks: vec![chunk], reply }));
    let stopped = || Arc::new(Fault::Held { what: "Ordo is shutting down".into() });
    done.await.unwrap_or_else(|_| Err(stopped()))?;
    Ok(AttemptReport::Completed { started_at, result: Value::Null, result_bytes })
}
