//! The servers that an executor may talk to: one at a time, the next one when that is gone.
//!
//! Invariant: all of an executor talks to the same server, but for moments. They share one store: what the executor is and
//! has is known to each of them.

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::{Client, Error};

/// How long a server may take to answer what it need not wait for.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Servers {
    clients: Vec<Client>,
    current: watch::Sender<usize>,
}

impl Servers {
    /// The first is tried first.
    pub(super) fn new(first: Client, others: Vec<Client>) -> Servers {
        let clients = std::iter::once(first).chain(others).collect();
        Servers { clients, current: watch::Sender::new(0) }
    }

    pub(super) async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let (which, client) = self.current();
        self.heard(which, answered(client, client.delete(path)).await)
    }

    pub(super) async fn post<T: DeserializeOwned, B: Serialize + ?Sized>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T, Error> {
        let (which, client) = self.current();
        match self.clients.len() {
            // There is nobody else to turn to: whoever is slow is waited for.
            1 => client.post(path, body).await,
            _ => self.heard(which, answered(client, client.post(path, body)).await),
        }
    }

    /// The answer may be long in coming; it is not waited for any more when another server is talked to.
    pub(super) async fn poll<T: DeserializeOwned, B: Serialize + ?Sized>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T, Error> {
        let (which, client) = self.current();
        let mut turned = self.current.subscribe();
        let answer = tokio::select! {
            answer = client.post(path, body) => answer,
            _ = turned.wait_for(|current| *current != which) => Err(silent(client)),
        };
        self.heard(which, answer)
    }

    fn current(&self) -> (usize, &Client) {
        let which = *self.current.borrow();
        (which, &self.clients[which])
    }

    /// Turns to the next server if this one is gone or going.
    fn heard<T>(&self, which: usize, answer: Result<T, Error>) -> Result<T, Error> {
        if self.clients.len() > 1 && answer.as_ref().is_err_and(is_gone) {
            self.current.send_if_modified(|current| {
                let is_the_same = *current == which;
                if is_the_same {
                    *current = (which + 1) % self.clients.len();
                }
                is_the_same
            });
        }
        answer
    }
}

fn is_gone(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::Protocol(_) => true,
        Error::Problem { status, .. } => *status >= 500,
        Error::Unusable(_) | Error::Untrusted { .. } | Error::Redirected { .. } => false,
    }
}

async fn answered<T>(client: &Client, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::time::timeout(ANSWERED_WITHIN, answer).await.unwrap_or_else(|_| Err(silent(client)))
}

fn silent(client: &Client) -> Error {
    Error::Unreachable { target: client.target().to_string(), source: io::ErrorKind::TimedOut.into() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::Target;

    async fn gone() -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Client::new(Target::Http { url: format!("http://{}", listener.local_addr().unwrap()) }, None)
    }

    async fn answering() -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut part = [0; 4096];
                assert!(stream.read(&mut part).await.unwrap() > 0);
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
                stream.write_all(format!("{head}content-length: 2\r\n\r\n[]").as_bytes()).await.unwrap();
            }
        });
        Client::new(Target::Http { url }, None)
    }

    #[tokio::test]
    async fn the_next_server_is_talked_to_when_one_is_gone() {
        let servers = Servers::new(gone().await, vec![answering().await]);
        assert!(servers.post::<Value, _>("/x", &json!({})).await.is_err());
        assert_eq!(servers.post::<Value, _>("/x", &json!({})).await.unwrap(), json!([]));
        assert_eq!(servers.poll::<Value, _>("/x", &json!({})).await.unwrap(), json!([]));
    }

    #[tokio::test]
    async fn one_that_has_no_other_stays_with_its_server() {
        let servers = Servers::new(gone().await, Vec::new());
        assert!(servers.post::<Value, _>("/x", &json!({})).await.is_err());
        assert_eq!(servers.current().0, 0);
    }
}
