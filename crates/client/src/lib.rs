//! Talks to an Ordo server: over the Unix socket of a daemon on this machine, or over HTTP with or without TLS.
//!
//! Answers are read into the type that is asked for, JSON as it is for example; refusals come back as
//! [`Error::Problem`] with the server's stable code.
//!
//! ```no_run
//! # async fn example() -> Result<(), ordo_client::Error> {
//! use ordo_client::{Client, Target};
//! use serde_json::{Value, json};
//!
//! let client = Client::new(Target::Socket(".ordo/orchestrator.sock".into()), None);
//! let job: Value = client
//!     .post("/v1/jobs", &json!({
//!         "label": "hello",
//!         "tool_name": "shell",
//!         "tool_input": { "command": "echo", "args": ["hi"] },
//!         "trigger": { "type": "scheduled", "every": "10s" },
//!     }))
//!     .await?;
//! println!("next at {}", job["next_tick_at"]);
//! # Ok(())
//! # }
//! ```

mod certificate;
mod client;
mod error;
pub mod executor;
mod follow;
mod sse;
mod target;
mod transport;

pub use certificate::Distrust;
pub use client::Client;
pub use error::Error;
pub use follow::EventStream;
pub use ordo_api::FieldError;
pub use sse::SseEvent;
pub use target::Target;
