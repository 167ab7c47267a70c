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
mod generation;
mod outgoing;
mod servers;
mod work;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ordo_api::executors::{ExecutorLeaving, NewExecutor, Registered};
use ordo_model::limits::LEASE;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::{Client, Error};
use books::HeldRuns;
use generation::{Generation, GenerationEnd};
use outgoing::OutgoingLogs;
use servers::Servers;

pub use ordo_api::executors::{Assignment, HookPayload};
pub use ordo_model::LogStream;
pub use work::{Assigned, Cancel, RunLog};

/// How long a server that does not answer is left alone.
const PAUSE: Duration = Duration::from_millis(500);
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
    servers: Arc<Servers>,
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

impl RemoteExecutor {
    /// An executor that will register with this offer.
    pub fn new(client: Client, offer: ExecutorOffer) -> RemoteExecutor {
        RemoteExecutor::of_cluster(client, Vec::new(), offer)
    }

    /// An executor that talks to the first of these servers, nodes of one cluster, and goes to the next with all it has
    /// when that one is gone.
    pub fn of_cluster(first: Client, others: Vec<Client>, offer: ExecutorOffer) -> RemoteExecutor {
        let servers = Arc::new(Servers::new(first, others));
        RemoteExecutor { servers, offer, version: None, grace: GRACE, notice: None }
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
            match self.servers.post("/v1/executors", &offer).await {
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
        let (send, receive) = mpsc::unbounded_channel();
        let outgoing = tokio::spawn(OutgoingLogs::new(self.servers.clone(), receive).run());
        let generation = Generation {
            servers: &self.servers,
            registered,
            capacity: self.offer.capacity,
            books: Arc::new(HeldRuns::new(self.offer.capacity)),
            handler,
            send,
            leaving: Cancel::default(),
        };
        let end = generation.work(leave.as_mut()).await?;
        match end {
            // Whatever runs has been settled by the server: its reports would be refused.
            GenerationEnd::Forgotten => generation.books.cancel_all(),
            GenerationEnd::Leaving => generation.wind_up(self.grace).await,
        }
        generation.books.idle().await;
        drop(generation);
        hand_in(outgoing, matches!(end, GenerationEnd::Leaving)).await;
        if let GenerationEnd::Leaving = end {
            leave_server(&self.servers, registered).await;
        }
        Ok(end)
    }
}

/// Waits until the last report was taken. Whoever leaves does not wait for a server that is gone as well: by the time a lease is
/// over it has settled what was not reported.
async fn hand_in(mut outgoing: JoinHandle<()>, is_leaving: bool) {
    if !is_leaving {
        drop(outgoing.await);
    } else if tokio::time::timeout(LEASE.to_std(), &mut outgoing).await.is_err() {
        outgoing.abort();
    }
}

async fn leave_server(servers: &Servers, registered: &Registered) {
    // Whoever cannot say goodbye is missed after its lease.
    drop(servers.delete::<ExecutorLeaving>(&format!("/v1/executors/{}", registered.id)).await);
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
