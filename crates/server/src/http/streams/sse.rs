//! What the routes that answer server-sent events have in common: who wants them, where to go on, how fast, until when.
//!
//! Invariant: a follower is woken at most every LOOK_EVERY however much changes, few of them read at once, and the past is
//! read at a steady pace: many followers are slower, and nobody else is.

use std::convert::Infallible;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use ordo_api::Code;
use ordo_engine::change_hint::ChangeHint;
use ordo_engine::clock::Stopwatch;
use ordo_model::Millis;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::http::problem::Problem;
use crate::http::streams::StreamPass;

/// A follower looks at most this often.
const LOOK_EVERY: Millis = Millis::from_ms(100);
/// How many followers read what is new at once.
const LOOKS_AT_ONCE: usize = 4;
/// How many read the past at once.
const REPLAYS_AT_ONCE: usize = 2;
/// The rest after a page of the past.
const REPLAY_REST: Duration = Duration::from_millis(5);

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(crate) fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| kind.trim().starts_with("text/event-stream"))
}

/// The id of the last event that the client saw. A browser that connects again sends it by itself, so it comes before
/// whatever the address says.
pub(crate) fn last_event_id<T: FromStr<Err: Display>>(headers: &HeaderMap) -> Result<Option<T>, Problem> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let text = value.to_str().map_err(|_| not_an_id())?.trim();
    if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(|_| not_an_id()) }
}

pub(crate) fn not_an_id() -> Problem {
    Problem::new(Code::InvalidHeader, "Last-Event-ID is not one that this stream gave out")
}

/// Events until there are no more, or the pass is over.
pub(crate) fn answer(pass: StreamPass, events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let events = events.take_until(Box::pin(pass.over())).map(move |event| {
        // As long as there are events, the pass is held.
        let _held = &pass;
        Ok::<Event, Infallible>(event)
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

/// Whose turn it is to read for a stream.
#[derive(Debug)]
pub(crate) struct Turns {
    looks: Semaphore,
    replays: Semaphore,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns { looks: Semaphore::new(LOOKS_AT_ONCE), replays: Semaphore::new(REPLAYS_AT_ONCE) }
    }
}

impl Turns {
    /// To read what is new.
    pub(crate) async fn look(&self) -> Option<SemaphorePermit<'_>> {
        self.looks.acquire().await.ok()
    }

    /// To read the next page of the past; whoever has the turn rests first, so that all together keep the pace.
    pub(crate) async fn replay(&self) -> Option<SemaphorePermit<'_>> {
        let turn = self.replays.acquire().await.ok();
        tokio::time::sleep(REPLAY_REST).await;
        turn
    }
}

/// Wakes a follower when something that matters to it may have changed.
pub(crate) struct Changes {
    hints: Receiver<ChangeHint>,
    woken: Stopwatch,
}

impl Changes {
    pub(crate) fn new(hints: Receiver<ChangeHint>) -> Changes {
        Changes { hints, woken: Stopwatch::start() }
    }

    /// The first one after a quiet time wakes at once; whatever comes with it is one wake-up. None: no more will come.
    pub(crate) async fn next(&mut self, matters: impl Fn(&ChangeHint) -> bool) -> Option<()> {
        loop {
            let mut is_news = match self.hints.recv().await {
                Ok(hint) => matters(&hint),
                Err(RecvError::Lagged(_)) => true,
                Err(RecvError::Closed) => return None,
            };
            let rest = LOOK_EVERY.ms().saturating_sub(self.woken.elapsed().ms());
            tokio::time::sleep(Duration::from_millis(rest)).await;
            self.woken = Stopwatch::start();
            loop {
                match self.hints.try_recv() {
                    Ok(hint) => is_news |= matters(&hint),
                    Err(TryRecvError::Lagged(_)) => is_news = true,
                    Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                }
            }
            if is_news {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::RunId;
    use tokio::sync::broadcast;
    use uuid::Uuid;

    fn run(n: u128) -> ChangeHint {
        ChangeHint::Run(RunId(Uuid::from_u128(n)))
    }

    #[test]
    fn fuzz_last_event_ids() {
        ordo_fuzz::fuzz_text("last_event_id", include_str!("../../../tests/corpus/last_event_id.txt"), |text| {
            let Ok(value) = axum::http::HeaderValue::from_str(text) else { return };
            let headers = HeaderMap::from_iter([(LAST_EVENT_ID, value)]);
            let is_empty = text.trim().is_empty();
            if let Ok(id) = last_event_id::<String>(&headers) {
                assert_eq!(id.as_deref(), Some(text.trim()).filter(|_| !is_empty));
            }
            match last_event_id::<u64>(&headers) {
                Ok(None) => assert!(is_empty, "{text:?} is read as no id"),
                Ok(Some(number)) => assert_eq!(text.trim().parse(), Ok(number)),
                Err(_) => assert!(!text.is_ascii() || text.trim().parse::<u64>().is_err(), "{text:?} is refused"),
            }
        });
    }

    #[tokio::test]
    async fn a_follower_is_woken_a_few_times_however_much_changes() {
        let (send, hints) = broadcast::channel(4_096);
        let mut changes = Changes::new(hints);
        let talking = tokio::spawn(async move {
            for n in 0..10_000 {
                send.send(run(n)).unwrap();
                if n % 100 == 0 {
                    tokio::time::sleep(Duration::from_millis(3)).await;
                }
            }
        });
        let mut woken = 0;
        while changes.next(|_| true).await.is_some() {
            woken += 1;
        }
        talking.await.unwrap();
        assert!((1..=20).contains(&woken), "{woken}");
    }

    #[tokio::test]
    async fn what_does_not_matter_wakes_nobody() {
        let (send, hints) = broadcast::channel(16);
        let mut changes = Changes::new(hints);
        send.send(run(1)).unwrap();
        send.send(run(2)).unwrap();
        changes.next(|hint| *hint == run(2)).await.unwrap();
        send.send(run(3)).unwrap();
        drop(send);
        assert_eq!(changes.next(|hint| *hint == run(2)).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_past_is_read_at_a_steady_pace_however_many_read_it() {
        let turns = std::sync::Arc::new(Turns::default());
        let began = tokio::time::Instant::now();
        let read = async |turns: std::sync::Arc<Turns>| {
            for _ in 0..10 {
                drop(turns.replay().await);
            }
        };
        let readers: Vec<_> = (0..20).map(|_| tokio::spawn(read(turns.clone()))).collect();
        for reader in readers {
            reader.await.unwrap();
        }
        assert!(
            began.elapsed() >= REPLAY_REST * 200 / u32::try_from(REPLAYS_AT_ONCE).unwrap(),
            "{:?}",
            began.elapsed()
        );
        let look = tokio::time::timeout(Duration::from_millis(1), turns.look()).await;
        assert!(look.is_ok(), "what is new does not wait for the past");
    }
}
