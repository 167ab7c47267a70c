//! Connections that are kept for the next request.
//!
//! Invariant: a request is sent again on a new connection only when the old one never took it.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use crate::Error;
use crate::target::Address;

/// How many unused connections are kept.
const IDLE_MAX: usize = 8;

pub(crate) type Sender = SendRequest<Full<Bytes>>;

#[derive(Debug)]
pub(crate) struct Connections {
    pub(crate) address: Address,
    /// How people know the target.
    shown: String,
    idle: Mutex<Vec<Sender>>,
}

impl Connections {
    pub(crate) fn new(address: Address, shown: String) -> Connections {
        Connections { address, shown, idle: Mutex::default() }
    }

    /// Sends a request; the connection comes along so that it can be kept once the answer was read.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Result<(Response<Incoming>, Sender), Error> {
        let mut request = request;
        while let Some(mut sender) = self.take() {
            match sender.try_send_request(request).await {
                Ok(answer) => return Ok((answer, sender)),
                Err(mut refused) => match refused.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(broken(refused.error())),
                },
            }
        }
        let mut sender = self.open().await?;
        let answer = sender.send_request(request).await.map_err(|e| broken(&e))?;
        Ok((answer, sender))
    }

    pub(crate) fn keep(&self, sender: Sender) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if !sender.is_closed() && idle.len() < IDLE_MAX {
            idle.push(sender);
        }
    }

    fn take(&self) -> Option<Sender> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|sender| !sender.is_closed());
        // One that is still reading the end of its last answer is left for somebody later.
        let ready = idle.iter().rposition(SendRequest::is_ready)?;
        Some(idle.swap_remove(ready))
    }

    async fn open(&self) -> Result<Sender, Error> {
        let stream = self.address.connect().await;
        let stream = stream.map_err(|source| Error::Unreachable { target: self.shown.clone(), source })?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|e| broken(&e))?;
        // It ends with its last sender or with the server; whoever waits for an answer hears of a failure.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }
}

fn broken(error: &hyper::Error) -> Error {
    Error::protocol("the connection to the server broke", error)
}
