//! From connections to requests: over TCP, and over the Unix socket.
//!
//! Invariant: what is said when the shutdown begins is answered; no new connection is taken.

use std::net::IpAddr;
use std::time::Duration;

use axum::serve::{Listener, ListenerExt};
use axum::{Extension, Router};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::app::App;
use crate::http::peer::{Peer, RemoteAddress};
use crate::routes::router;

/// How long a client may take to send the head of a request, and how long an unused connection stays open.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long requests under way may take to end once the server goes down.
const CLOSING_GRACE: Duration = Duration::from_secs(5);

/// Serves until `shutdown` fires and what was under way has been answered. Every `/v1` route needs a token.
pub async fn serve_tcp(listener: TcpListener, app: App, shutdown: CancellationToken) {
    let is_loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let server = Connections::new(app, Peer::tcp(is_loopback, shutdown.clone()));
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "answers on a connection may be delayed");
        }
    });
    server.run(listener, shutdown, |address| Some(address.ip())).await;
}

/// The same for the socket of this machine: whoever may open it is trusted.
pub async fn serve_unix(listener: UnixListener, app: App, shutdown: CancellationToken) {
    let server = Connections::new(app, Peer::socket(shutdown.clone()));
    server.run(listener, shutdown, |_| None).await;
}

struct Connections {
    router: Router,
    connections: GracefulShutdown,
}

impl Connections {
    fn new(app: App, peer: Peer) -> Connections {
        Connections { router: router(app).layer(Extension(peer)), connections: GracefulShutdown::new() }
    }

    async fn run<L: Listener>(
        self,
        mut listener: L,
        shutdown: CancellationToken,
        remote: fn(&L::Addr) -> Option<IpAddr>,
    ) {
        loop {
            tokio::select! {
                () = shutdown.cancelled() => break,
                (stream, address) = listener.accept() => self.serve::<L>(stream, remote(&address)),
            }
        }
        drop(listener);
        if tokio::time::timeout(CLOSING_GRACE, self.connections.shutdown()).await.is_err() {
            tracing::warn!("some requests were not answered before the server went down");
        }
    }

    fn serve<L: Listener>(&self, stream: L::Io, remote: Option<IpAddr>) {
        let service = TowerToHyperService::new(self.router.clone().map_request(move |request| from(request, remote)));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        let connection = self.connections.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke");
            }
        });
    }
}

fn from(mut request: Request<Incoming>, remote: Option<IpAddr>) -> Request<Incoming> {
    if let Some(address) = remote {
        request.extensions_mut().insert(RemoteAddress(address));
    }
    request
}
