//! A remote executor: registers with a server, fetches work, runs it, reports.
//!
//! The program brings a [`Handler`]; everything else is done here: heartbeats, cancellations, timeouts, log lines and
//! reports in batches, registering again when the server has forgotten it, and leaving in order.
//!
//! ```no_run
//! # async fn example(client: ordo_client::Client) -> Result<(), ordo_client::Error> {
//! use ordo_client::executor::{Assigned, ExecutorOffer, RemoteExecutor, RunLog, RunOutcome, handler};
//! use serde_json::json;
//!
//! let offer = ExecutorOffer { name: "mailer-1".into(), group: "mail".into(), tools: vec!["email".into()], capacity: 8 };
//! let send = handler(|run: Assigned, log: RunLog| async move {
//!     log.line(&format!("to {}", run.tool_input["to"]));
//!     RunOutcome::Completed(json!({ "sent": true }))
//! });
//! RemoteExecutor::new(client, offer).run(send, std::future::pending()).await
//! # }
//! ```

mod books;
mod outgoing;
mod work;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ordo_api::executors::{Assignments, ExecutorLeaving, Heartbeat, HeartbeatAnswer, NewExecutor, Poll, Registered};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{Client, Error};
use books::HeldRuns;
use outgoing::OutgoingLogs;

pub use ordo_api::executors::{Assignment, HookPayload};
pub use ordo_model::LogStream;
pub use work::{Assigned, Cancel, RunLog};

/// How long a poll waits for work.
const POLL_WAIT_MS: u64 = 20_000;
/// How long a server that does not answer is left alone.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the answer to the last poll is waited for.
const LAST_POLL: Duration = Duration::from_secs(10);
/// How long what runs may take to finish when the executor leaves, unless set otherwise.
const GRACE: Duration = Duration::from_secs(30);

/// What the executor offers.
#[derive(Debug, Clone)]
pub struct ExecutorOffer {
    /// How people know it; best unique.
    pub name: String,
    /// Jobs of this group are its own.
    pub group: String,
    /// The tools it has.
    pub tools: Vec<String>,
    /// How many runs it takes at once.
    pub capacity: usize,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum RunOutcome {
    /// The work is done; the result is kept with the run.
    Completed(Value),
    /// The work was not done, for this reason.
    Failed(String),
    /// The work was not begun: somebody else may have the run after this time.
    GivenBack(Duration),
}

/// The future of one run.
pub type RunFuture = Pin<Box<dyn Future<Output = RunOutcome> + Send>>;

/// Does the work of one run.
pub trait Handler: Send + Sync + 'static {
    /// Runs it. Returns soon after `run.cancel` says so; its outcome does not matter then.
    fn run(&self, run: Assigned, log: RunLog) -> RunFuture;
}

struct FnHandler<F>(F);

impl<F, R> Handler for FnHandler<F>
where
    F: Fn(Assigned, RunLog) -> R + Send + Sync + 'static,
    R: Future<Output = RunOutcome> + Send + 'static,
{
    fn run(&self, run: Assigned, log: RunLog) -> RunFuture {
        Box::pin(self.0(run, log))
    }
}

/// A handler made of an async function.
pub fn handler<F, R>(work: F) -> impl Handler
where
    F: Fn(Assigned, RunLog) -> R + Send + Sync + 'static,
    R: Future<Output = RunOutcome> + Send + 'static,
{
    FnHandler(work)
}

/// A remote executor.
#[derive(Debug, Clone)]
pub struct RemoteExecutor {
    client: Client,
    offer: ExecutorOffer,
    version: Option<String>,
    grace: Duration,
    notice: Option<Arc<dyn ConnectionNotice>>,
}

/// Told when the server is reached, and when it is not.
pub trait ConnectionNotice: Send + Sync + std::fmt::Debug {
    /// The server took the offer.
    fn registered(&self);
    /// The server cannot be reached, or not used yet; it is tried again. Called once for each time it is away.
    fn away(&self, error: &Error);
}

/// Why a generation of the executor ended.
enum GenerationEnd {
    /// It was asked to leave, here or by the server.
    Leaving,
    /// The server does not know it any more.
    Forgotten,
}

/// Whether the server's wish that it leaves is listened to; it leaves already otherwise.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drain {
    Heeded,
    Known,
}

impl RemoteExecutor {
    /// An executor that will register with this offer.
    pub fn new(client: Client, offer: ExecutorOffer) -> RemoteExecutor {
        RemoteExecutor { client, offer, version: None, grace: GRACE, notice: None }
    }

    /// How long what runs may take to finish when it leaves.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> RemoteExecutor {
        RemoteExecutor { grace, ..self }
    }

    /// The version that is shown in the list of executors.
    #[must_use]
    pub fn with_version(self, version: impl Into<String>) -> RemoteExecutor {
        RemoteExecutor { version: Some(version.into()), ..self }
    }

    /// Who is told when the server is reached, and when it is not.
    #[must_use]
    pub fn with_notice(self, notice: impl ConnectionNotice + 'static) -> RemoteExecutor {
        RemoteExecutor { notice: Some(Arc::new(notice)), ..self }
    }

    /// Works until `leave` is ready, or the server asks it to leave; then takes nothing new, finishes what it has, and leaves.
    ///
    /// A server that cannot be reached is tried again; one that refuses the offer ends it.
    pub async fn run(&self, handler: impl Handler, leave: impl Future<Output = ()>) -> Result<(), Error> {
        let handler: Arc<dyn Handler> = Arc::new(handler);
        tokio::pin!(leave);
        loop {
            let registered = tokio::select! {
                registered = self.register() => registered?,
                () = &mut leave => return Ok(()),
            };
            match self.live(&registered, &handler, leave.as_mut()).await? {
                GenerationEnd::Leaving => return Ok(()),
                GenerationEnd::Forgotten => {}
            }
        }
    }

    /// Registers, however long the server takes to be there.
    async fn register(&self) -> Result<Registered, Error> {
        let offer = NewExecutor {
            name: self.offer.name.clone(),
            group: self.offer.group.clone(),
            tools: self.offer.tools.iter().cloned().collect(),
            capacity: u32::try_from(self.offer.capacity).unwrap_or(u32::MAX),
            version: self.version.clone(),
        };
        let mut is_away = false;
        loop {
            match self.client.post("/v1/executors", &offer).await {
                Ok(registered) => {
                    self.notice.iter().for_each(|notice| notice.registered());
                    return Ok(registered);
                }
                // At the beginning this is a mistake in how it was started; later it may be one of the server.
                Err(error @ (Error::Untrusted { .. } | Error::Redirected { .. })) => return Err(error),
                Err(error) if is_passing(&error) => {
                    if !std::mem::replace(&mut is_away, true) {
                        self.notice.iter().for_each(|notice| notice.away(&error));
                    }
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// One generation: from a registration until the executor leaves or the server forgets it.
    async fn live(
        &self,
        registered: &Registered,
        handler: &Arc<dyn Handler>,
        mut leave: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<GenerationEnd, Error> {
        let books = Arc::new(HeldRuns::new(self.offer.capacity));
        let (send, receive) = mpsc::unbounded_channel();
        let outgoing = tokio::spawn(OutgoingLogs::new(self.client.clone(), receive).run());
        let leaving = Cancel::default();
        let end = {
            let polling = self.poll(registered, &books, handler, &send, &leaving);
            tokio::pin!(polling);
            let (end, polls) = tokio::select! {
                end = self.beat(registered, &books, Drain::Heeded) => (end?, true),
                end = &mut polling => (end?, false),
                () = &mut leave => (GenerationEnd::Leaving, true),
            };
            if let GenerationEnd::Leaving = end {
                leaving.fire();
                self.leave(registered).await;
                if polls {
                    // The server answers the poll under way now; what it still brings is ours.
                    drop(tokio::time::timeout(LAST_POLL, polling).await);
                }
            }
            end
        };
        match end {
            // Whatever runs has been settled by the server: its reports would be refused.
            GenerationEnd::Forgotten => books.cancel_all(),
            GenerationEnd::Leaving => self.wind_up(registered, &books).await,
        }
        books.idle().await;
        drop(send);
        // It ends when the last report was taken.
        drop(outgoing.await);
        if let GenerationEnd::Leaving = end {
            self.leave(registered).await;
        }
        Ok(end)
    }

    /// Lets what runs finish within the grace, and ends the rest.
    async fn wind_up(&self, registered: &Registered, books: &Arc<HeldRuns>) {
        let finished = async {
            tokio::select! {
                () = books.idle() => true,
                _ = self.beat(registered, books, Drain::Known) => false,
            }
        };
        if !tokio::time::timeout(self.grace, finished).await.unwrap_or(false) {
            books.cancel_all();
        }
    }

    async fn leave(&self, registered: &Registered) {
        // Whoever cannot say goodbye is missed after its lease.
        drop(self.client.delete::<ExecutorLeaving>(&format!("/v1/executors/{}", registered.id)).await);
    }

    /// Lets itself be heard until the server has forgotten it, or wants it to leave.
    async fn beat(&self, registered: &Registered, books: &Arc<HeldRuns>, drain: Drain) -> Result<GenerationEnd, Error> {
        let path = format!("/v1/executors/{}/heartbeat", registered.id);
        let mut every = tokio::time::interval(Duration::from_millis(registered.heartbeat_ms.max(50)));
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            match self.client.post::<HeartbeatAnswer, _>(&path, &Heartbeat { runs: books.held() }).await {
                Ok(beat) => {
                    beat.cancel.iter().chain(&beat.lost).for_each(|run| books.cancel(*run));
                    if beat.drain && drain == Drain::Heeded {
                        return Ok(GenerationEnd::Leaving);
                    }
                }
                Err(error) if is_forgotten(&error) => return Ok(GenerationEnd::Forgotten),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Fetches work as long as there is room for it.
    async fn poll(
        &self,
        registered: &Registered,
        books: &Arc<HeldRuns>,
        handler: &Arc<dyn Handler>,
        send: &mpsc::UnboundedSender<outgoing::OutgoingItem>,
        leaving: &Cancel,
    ) -> Result<GenerationEnd, Error> {
        let path = format!("/v1/executors/{}/poll", registered.id);
        loop {
            let free = tokio::select! {
                biased;
                () = leaving.cancelled() => return Ok(GenerationEnd::Leaving),
                free = books.free() => free,
            };
            let wanted = Poll { max: Some(free.min(1_000)), wait_ms: POLL_WAIT_MS };
            match self.client.post::<Assignments, _>(&path, &wanted).await {
                Ok(polled) => {
                    for run in polled.runs {
                        work::begin(run, handler, books, send);
                    }
                    if polled.drain {
                        return Ok(GenerationEnd::Leaving);
                    }
                }
                Err(error) if is_forgotten(&error) => return Ok(GenerationEnd::Forgotten),
                Err(error) if is_passing(&error) => tokio::time::sleep(PAUSE).await,
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_forgotten(error: &Error) -> bool {
    error.code() == Some("executor_not_found")
}

/// Whether trying again may help.
fn is_passing(error: &Error) -> bool {
    match error {
        // Somebody has to make room first.
        Error::Problem { .. } if error.code() == Some("too_many_executors") => false,
        Error::Unreachable { .. } | Error::Untrusted { .. } | Error::Redirected { .. } | Error::Protocol(_) => true,
        Error::Unusable(_) => false,
        Error::Problem { status, .. } => *status >= 500 || *status == 408 || *status == 429 || *status == 409,
    }
}
