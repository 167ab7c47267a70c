//! The routes of silences.

use super::super::{Delete, Get, OPERATE, Post, READ};
use crate::alerting::silences::{NewSilence, SilenceView};
use crate::code::Code;
use crate::operation::Operation;
use crate::route::{READS, Route, WRITES};

const TAG: &str = "incidents";

pub(crate) fn list() -> Route {
    Route::new(Get, "/v1/silences", READ, TAG)
        .summary("List silences")
        .answers_page::<SilenceView>("All silences that have not ended, oldest first.")
        .refuses(READS)
}

pub(crate) fn add() -> Route {
    Route::new(Post, "/v1/silences", OPERATE, TAG)
        .summary("Notify nobody of some jobs, monitors or incidents for a while")
        .saying(
            "Runs, incidents and timelines go on as they would; only notifications are held back. Each of them is listed \
             as `silenced` and can be replayed.",
        )
        .body::<NewSilence>()
        .answers::<SilenceView>(201, "The silence, durable.")
        .leads_to(201, &[Operation::EndSilence], "id", "$response.body#/id")
        .refuses(&[Code::InvalidSilence, Code::TooManySilences, Code::IdempotencyKeyUnsupported])
        .refuses(WRITES)
}

pub(crate) fn end() -> Route {
    Route::new(Delete, "/v1/silences/{id}", OPERATE, TAG)
        .summary("End a silence before its time")
        .answers::<SilenceView>(200, "The silence as it was.")
        .refuses(&[Code::SilenceNotFound])
        .refuses(WRITES)
}
