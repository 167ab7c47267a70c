//! The protocol of executors that dial in.

use super::{Delete, EXECUTE, Get, OPERATE, Post, READ};
use crate::code::Code;
use crate::executors::{
    Assignments, ExecutorLeaving, ExecutorView, Heartbeat, HeartbeatAnswer, NewExecutor, Poll, Registered,
};
use crate::operation::Operation;
use crate::reports::{LogChunks, ReportResults, Reports};
use crate::route::{Method, Need, READS, Route, WRITES};

fn route(method: Method, path: &'static str, need: Need) -> Route {
    Route::new(method, path, need, "executors")
}

pub(crate) fn list() -> Route {
    route(Get, "/v1/executors", READ)
        .summary("List executors, by group and name")
        .answers_page::<ExecutorView>("The server's own one first; lost ones stay for an hour.")
        .refuses(READS)
}

pub(crate) fn register() -> Route {
    route(Post, "/v1/executors", EXECUTE)
        .summary("Register a new executor, or a new generation of one")
        .saying(
            "Executors dial in; the server never connects to them. One that is not heard of within its lease is \
             lost, and what it ran is settled; it registers again then. It belongs to the token that registered it: to \
             others it is not there. A token that names groups or tools serves no others.",
        )
        .body::<NewExecutor>()
        .answers::<Registered>(201, "Its id, and how often to let itself be heard.")
        .leads_to(201, &[Operation::PollExecutor, Operation::LeaveExecutor], "id", "$response.body#/id")
        .refuses(&[Code::IdempotencyKeyUnsupported, Code::TooManyExecutors])
        .refuses(WRITES)
}

pub(crate) fn heartbeat() -> Route {
    route(Post, "/v1/executors/{id}/heartbeat", EXECUTE)
        .summary("Let itself be heard, with what it runs")
        .body_or_none::<Heartbeat>()
        .answers::<HeartbeatAnswer>(200, "What to end, and what is no longer its own.")
        .refuses(&[Code::ExecutorNotFound])
        .refuses(WRITES)
}

pub(crate) fn poll() -> Route {
    route(Post, "/v1/executors/{id}/poll", EXECUTE)
        .summary("Fetch work; waits for the first run")
        .saying("Whatever is answered has been started and must be reported, or given back.")
        .body_or_none::<Poll>()
        .answers::<Assignments>(200, "The runs, none when none came in time.")
        .refuses(&[Code::ExecutorNotFound])
        .refuses(WRITES)
}

pub(crate) fn leave() -> Route {
    route(Delete, "/v1/executors/{id}", EXECUTE)
        .summary("Take nothing new and leave")
        .answers::<ExecutorLeaving>(200, "Whether it has left, or has runs to finish first.")
        .refuses(&[Code::ExecutorNotFound])
        .refuses(WRITES)
}

pub(crate) fn drain() -> Route {
    route(Post, "/v1/executors/{id}/drain", OPERATE)
        .summary("Ask an executor to finish what it has and leave")
        .saying(
            "It gets nothing more, and hears `drain` with its next heartbeat or poll. An executor of the command line \
             then ends; one that does not listen stays, without work.",
        )
        .answers::<ExecutorLeaving>(202, "How many runs it still has.")
        .refuses(&[Code::ExecutorNotFound])
        .refuses(WRITES)
}

pub(crate) fn report() -> Route {
    route(Post, "/v1/runs/report", EXECUTE)
        .summary("Report how attempts ended")
        .saying(
            "`nack` gives a run back that was not begun. An attempt that is no longer the current one, or that an \
             executor of another token has, is answered with status 409 in its result, and nothing changes.",
        )
        .body::<Reports>()
        .answers::<ReportResults>(200, "One result for each report, in order.")
        .refuses(WRITES)
}

pub(crate) fn logs() -> Route {
    route(Post, "/v1/runs/logs", EXECUTE)
        .summary("Send log lines of attempts that run")
        .saying("A chunk that is sent twice is kept once.")
        .body::<LogChunks>()
        .answers::<ReportResults>(200, "One result for each chunk, in order.")
        .refuses(WRITES)
}
