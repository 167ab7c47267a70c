//! The log of a run as server-sent events, from any line on until the run is over.
//!
//! Invariant: hints only wake; what is sent comes from the store. So a hint that was missed costs a read, not a line.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::response::Response;
use axum::response::sse::Event;
use futures_util::stream;
use ordo_api::runs::LogEnd;
use ordo_engine::Engine;
use ordo_engine::change_hint::ChangeHint;
use ordo_engine::log_reader::{LogReader, NumberedLine};
use ordo_model::RunId;
use ordo_model::job::Run;
use ordo_store::Fault;
use serde::Serialize;

use crate::api::runs::logs::view;
use crate::app::App;
use crate::http::problem::Problem;
use crate::http::streams::StreamPass;
use crate::http::streams::sse::{self, Changes, Turns};

struct LogFollower {
    engine: Engine,
    run: RunId,
    reader: LogReader,
    turns: Arc<Turns>,
    changes: Changes,
    /// The last read brought lines: there may be more.
    is_behind: bool,
    ready: VecDeque<NumberedLine>,
    over: bool,
}

/// What there is to send, after a read of the store.
enum LogState {
    Lines,
    Nothing,
    End(Box<Run>),
    /// The run was forgotten meanwhile.
    Gone,
}

pub(crate) fn answer(app: &App, run: RunId, last: Option<u64>, pass: StreamPass) -> Response {
    let follow = LogFollower {
        // Watching begins before the first look, so nothing falls between the two.
        changes: Changes::new(app.engine.watch()),
        turns: app.turns.clone(),
        engine: app.engine.clone(),
        run,
        reader: LogReader::after(app.engine.queries().store().clone(), run, last),
        is_behind: false,
        ready: VecDeque::new(),
        over: false,
    };
    let events = stream::unfold(follow, |mut follow| async move {
        let event = follow.next().await?;
        Some((event, follow))
    });
    sse::answer(pass, events)
}

impl LogFollower {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(line_event(line));
            }
            if self.over {
                return None;
            }
            match self.look().await {
                Ok(LogState::Lines) => {}
                Ok(LogState::Nothing) => self.wait().await?,
                Ok(LogState::End(run)) => return Some(self.end("end", &LogEnd { status: run.status })),
                Ok(LogState::Gone) => return None,
                Err(fault) => return Some(self.end("error", &Problem::from(fault).details())),
            }
        }
    }

    /// The run is looked at before its lines: one that is over had all of its lines stored before.
    async fn look(&mut self) -> Result<LogState, Fault> {
        let turn = if self.is_behind { self.turns.replay().await } else { self.turns.look().await };
        let run = self.engine.queries().run(self.run).await?;
        self.ready.extend(self.reader.next().await?);
        drop(turn);
        self.is_behind = !self.ready.is_empty();
        Ok(match run {
            _ if !self.ready.is_empty() => LogState::Lines,
            Some(run) if run.status.is_terminal() => LogState::End(Box::new(run)),
            Some(_) => LogState::Nothing,
            None => LogState::Gone,
        })
    }

    /// Waits until looking again is worth it; nothing when the server goes down.
    async fn wait(&mut self) -> Option<()> {
        let ours = self.run;
        self.changes
            .next(|hint| match hint {
                ChangeHint::Log(run) | ChangeHint::Run(run) => *run == ours,
                ChangeHint::Job(_) | ChangeHint::Object(_) => false,
                ChangeHint::Elsewhere => true,
            })
            .await
    }

    fn end(&mut self, name: &str, data: &impl Serialize) -> Event {
        self.over = true;
        Event::default().event(name).data(serde_json::to_string(data).expect("an end is plain data"))
    }
}

fn line_event(line: NumberedLine) -> Event {
    let line = view(line);
    let text = serde_json::to_string(&line).expect("a line is plain data");
    Event::default().id(line.id).event("line").data(text)
}
