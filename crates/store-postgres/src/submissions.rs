//! Rows that other programs insert: taken with SKIP LOCKED, settled by id, found by an index however many there are.
//!
//! Invariant: nobody waits for a lock, neither those who insert nor nodes that take at once; every time is the database's.

use async_trait::async_trait;
use ordo_model::submission::SubmissionForm;
use ordo_model::{JobId, Millis, RunId, Timestamp};
use ordo_store::{Fault, SubmissionOutcome, SubmissionQueue, SubmissionStatus, SubmittedRow};
use serde_json::Value;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Row, Transaction};
use uuid::Uuid;

use crate::codes;
use crate::connection::connect::ConnectionPools;
use crate::fault::Trouble;

const ONCE_NOW: &str = "(SELECT clock_timestamp())";

#[async_trait]
impl SubmissionQueue for crate::PostgresStore {
    async fn take(&self, claim: Millis, limit: usize) -> Result<Vec<SubmittedRow>, Fault> {
        let sql = format!(
            "UPDATE submissions s SET next_try_at = {ONCE_NOW} + $1::bigint * interval '1 millisecond', tries = s.tries + 1, \
             taken_at = coalesce(s.taken_at, {ONCE_NOW}) WHERE s.id = ANY(ARRAY(SELECT id FROM submissions WHERE state = 'waiting' \
             AND next_try_at <= {ONCE_NOW} ORDER BY next_try_at, id LIMIT $2 FOR UPDATE SKIP LOCKED)) \
             RETURNING s.id, s.label, s.input::text, s.tool, {run_at}, s.job::text, {submitted_at}, s.submitted_by, s.tries, \
             {taken_at}",
            run_at = ms_of("s.run_at"),
            submitted_at = ms_of("s.submitted_at"),
            taken_at = ms_of("s.taken_at"),
        );
        let rows = self.database.query("taking submissions", &sql, &[&ms(claim), &codes::limit(limit)]).await?;
        let mut taken: Vec<SubmittedRow> = rows.iter().map(row).collect();
        taken.sort_by_key(|row| (row.submitted_at, row.id));
        Ok(taken)
    }

    async fn settle(&self, outcomes: &[(Uuid, SubmissionOutcome)]) -> Result<(), Fault> {
        put_down(&self.database, outcomes).await?;
        postpone(&self.database, outcomes).await
    }

    async fn forget(&self, accepted: Millis, refused: Millis, limit: usize) -> Result<usize, Fault> {
        let mut forgotten = 0;
        for (state, kept) in [("accepted", accepted), ("refused", refused)] {
            let sql = format!(
                "DELETE FROM submissions WHERE id = ANY(ARRAY(SELECT id FROM submissions WHERE state = $1 AND settled_at IS NOT NULL \
                 AND settled_at < {ONCE_NOW} - $2::bigint * interval '1 millisecond' ORDER BY state, settled_at LIMIT $3 \
                 FOR UPDATE SKIP LOCKED)) RETURNING 1"
            );
            let params: crate::connection::connect::SqlParams<'_> = &[&state, &ms(kept), &codes::limit(limit)];
            forgotten += self.database.query("forgetting submissions", &sql, params).await?.len();
        }
        Ok(forgotten)
    }

    async fn status(&self, id: Uuid) -> Result<Option<SubmissionStatus>, Fault> {
        let sql = "SELECT state, reason, job_id, run_id FROM submissions WHERE id = $1";
        let rows = self.database.query("looking for a submission", sql, &[&id]).await?;
        rows.first().map(status).transpose()
    }

    async fn overdue(&self) -> Result<Millis, Fault> {
        // By when it is next tried: what was inserted and never taken comes first, and that is what nobody looks after.
        let sql = "SELECT (extract(epoch FROM clock_timestamp() - next_try_at) * 1000)::bigint FROM submissions \
             WHERE state = 'waiting' ORDER BY next_try_at, id LIMIT 1";
        let rows = self.database.query("looking at submissions", sql, &[]).await?;
        let age = rows.first().map_or(0, |row| row.get::<_, i64>(0));
        Ok(Millis::from_ms(u64::try_from(age).unwrap_or(0)))
    }
}

async fn put_down(database: &ConnectionPools, outcomes: &[(Uuid, SubmissionOutcome)]) -> Result<(), Fault> {
    let (mut ids, mut states, mut reasons, mut jobs, mut runs) = (vec![], vec![], vec![], vec![], vec![]);
    for (id, outcome) in outcomes {
        let (state, reason, job, run) = match outcome {
            SubmissionOutcome::Accepted { job, run } => ("accepted", None, Some(job.0), run.map(|run| run.0)),
            SubmissionOutcome::Refused { reason } => ("refused", Some(without_nul(reason)), None, None),
            SubmissionOutcome::Postponed { .. } => continue,
        };
        ids.push(*id);
        states.push(state);
        reasons.push(reason);
        jobs.push(job);
        runs.push(run);
    }
    if ids.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "UPDATE submissions s SET state = o.state, reason = o.reason, job_id = o.job_id, run_id = o.run_id, \
         settled_at = {ONCE_NOW} FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::uuid[]) \
         AS o (id, state, reason, job_id, run_id) WHERE s.id = o.id AND s.state = 'waiting'"
    );
    database.query("settling submissions", &sql, &[&ids, &states, &reasons, &jobs, &runs]).await.map(drop)
}

async fn postpone(database: &ConnectionPools, outcomes: &[(Uuid, SubmissionOutcome)]) -> Result<(), Fault> {
    let (mut ids, mut reasons, mut pauses) = (vec![], vec![], vec![]);
    for (id, outcome) in outcomes {
        if let SubmissionOutcome::Postponed { reason, pause } = outcome {
            ids.push(*id);
            reasons.push(without_nul(reason));
            pauses.push(ms(*pause));
        }
    }
    if ids.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "UPDATE submissions s SET reason = o.reason, taken_at = NULL, next_try_at = {ONCE_NOW} + o.pause * interval '1 millisecond' \
         FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS o (id, reason, pause) WHERE s.id = o.id AND s.state = 'waiting'"
    );
    database.query("postponing submissions", &sql, &[&ids, &reasons, &pauses]).await.map(drop)
}

/// Why a row was not inserted. The transaction can only be rolled back.
#[derive(Debug, thiserror::Error)]
pub enum NotSubmitted {
    #[error("{0} was submitted before")]
    Twice(Uuid),
    /// Not as the table wants it, or not allowed; in the words of the database.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Failed(Fault),
}

fn not_submitted(id: Uuid, error: tokio_postgres::Error) -> NotSubmitted {
    match error.as_db_error() {
        Some(said) if *said.code() == SqlState::UNIQUE_VIOLATION => NotSubmitted::Twice(id),
        Some(said) if ["23", "22", "42"].contains(&&said.code().code()[..2]) => {
            NotSubmitted::Refused(format!("{} [{}]", said.message(), said.code().code()))
        }
        Some(_) | None => NotSubmitted::Failed(Trouble::from(error).into_fault("submitting")),
    }
}

/// What a row is to ask for, inserted in a transaction of somebody else's. The schema is in front of the table: whoever
/// inserts has another one in mind.
pub async fn submit_in(
    transaction: &Transaction<'_>,
    schema: &str,
    id: Uuid,
    form: &SubmissionForm,
) -> Result<(), NotSubmitted> {
    let text = |value: &Option<Value>| value.as_ref().map(Value::to_string);
    let run_at = form.run_at.map(Timestamp::ms);
    let sql = insert(schema);
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
        [&id, &form.label, &text(&form.input), &form.tool, &run_at, &text(&form.job)];
    let inserted = transaction.execute(&sql, &params).await;
    inserted.map(drop).map_err(|error| not_submitted(id, error))
}

fn insert(schema: &str) -> String {
    format!(
        "INSERT INTO {schema}.submissions (id, label, input, tool, run_at, job) \
         VALUES ($1, $2, $3::text::jsonb, $4, to_timestamp($5::bigint / 1000.0), $6::text::jsonb)"
    )
}

fn ms(length: Millis) -> i64 {
    i64::try_from(length.ms()).unwrap_or(i64::MAX / 2)
}

/// A time without end is one that is too far away: converting it would fail for all rows that are taken together.
fn ms_of(column: &str) -> String {
    format!(
        "CASE WHEN isfinite({column}) THEN floor(extract(epoch FROM {column}) * 1000)::bigint \
         WHEN {column} IS NOT NULL THEN {} END",
        i64::MAX
    )
}

/// The database has no such character; a reason may quote what somebody wrote.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Nothing in a row keeps those that were taken with it from being carried out.
fn row(row: &Row) -> SubmittedRow {
    let time =
        |column: usize, name: &str| Timestamp::from_ms(row.get(column)).map_err(|error| format!("{name}: {error}"));
    let (submitted_at, taken_at) = (time(6, "submitted_at"), time(9, "taken_at"));
    let form = form(row).and_then(|form| {
        submitted_at.clone()?;
        taken_at.clone()?;
        Ok(form)
    });
    // Of a row that is refused no time is looked at.
    let or_latest = |time: Result<Timestamp, String>| time.unwrap_or(Timestamp::MAX);
    SubmittedRow {
        id: row.get(0),
        form,
        submitted_at: or_latest(submitted_at),
        submitted_by: row.get(7),
        tries: u32::try_from(row.get::<_, i32>(8)).unwrap_or(u32::MAX),
        taken_at: or_latest(taken_at),
    }
}

/// A time beyond all calendars and the like are the row's own trouble, not the queue's.
fn form(row: &Row) -> Result<SubmissionForm, String> {
    let json = |column: usize, name: &str| {
        let text: Option<&str> = row.get(column);
        text.map(|text| serde_json::from_str(text).map_err(|error| format!("{name}: {error}"))).transpose()
    };
    let run_at: Option<i64> = row.get(4);
    Ok(SubmissionForm {
        label: row.get(1),
        input: json(2, "input")?,
        tool: row.get(3),
        run_at: run_at.map(Timestamp::from_ms).transpose().map_err(|error| format!("run_at: {error}"))?,
        job: json(5, "job")?,
    })
}

fn status(row: &Row) -> Result<SubmissionStatus, Fault> {
    let (state, reason): (&str, Option<String>) = (row.get(0), row.get(1));
    let job: Option<Uuid> = row.get(2);
    let run: Option<Uuid> = row.get(3);
    match (state, job) {
        ("waiting", _) => Ok(SubmissionStatus::Waiting { reason }),
        ("refused", _) => Ok(SubmissionStatus::Refused { reason: reason.unwrap_or_default() }),
        ("accepted", Some(job)) => Ok(SubmissionStatus::Accepted { job: JobId(job), run: run.map(RunId) }),
        (other, _) => Err(Fault::damaged(format!("a submission in the state {other:?}"))),
    }
}
