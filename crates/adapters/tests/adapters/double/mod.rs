//! Doubles: small servers that look like the real ones from Ordo's side, remember what they received, and
//! misbehave on demand.

pub(crate) mod receiver;
pub(crate) mod slack;
pub(crate) mod smtp;

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::net::TcpListener;

/// What goes wrong with one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mischief {
    Status(u16),
    /// 429, with so many seconds to wait.
    Busy(u64),
    /// No answer for so long; then as it should be.
    Slow(Duration),
    /// The connection ends before anything was done.
    Cut,
    /// The connection ends after everything was done.
    CutAfter,
}

impl Mischief {
    /// The answer instead of the right one, if there is none.
    pub(crate) async fn answer(self) -> Option<Response> {
        match self {
            Mischief::Status(status) => Some((StatusCode::from_u16(status).unwrap(), "as asked for").into_response()),
            Mischief::Busy(seconds) => {
                Some((StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, seconds.to_string())]).into_response())
            }
            Mischief::Slow(time) => {
                tokio::time::sleep(time).await;
                None
            }
            Mischief::Cut => Some(cut()),
            Mischief::CutAfter => None,
        }
    }
}

/// An answer that breaks off: the other side sees a connection that ends too early.
pub(crate) fn cut() -> Response {
    let broken = stream::iter([Err::<bytes::Bytes, std::io::Error>(std::io::Error::other("cut"))]);
    Response::builder().header(header::CONTENT_LENGTH, "1000").body(Body::from_stream(broken)).unwrap()
}

#[derive(Debug, Default)]
pub(crate) struct MischiefPlan(pub(crate) VecDeque<Mischief>);

impl MischiefPlan {
    pub(crate) fn next(&mut self) -> Option<Mischief> {
        self.0.pop_front()
    }
}

/// Serves on a port of its own until the test is over; returns its address.
pub(crate) async fn serve(router: axum::Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}
