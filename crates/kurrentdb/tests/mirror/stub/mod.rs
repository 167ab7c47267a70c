//! A server that speaks as much of KurrentDB's gRPC as a mirror needs, over HTTP/2 on loopback. It keeps streams with
//! revisions, and can be made to refuse, to go away after it has applied an append, and to come back.

pub mod streams;
mod wire;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use streams::{Streams, StubRefusal};
use wire::{ClusterInfo, EndPoint, MemberInfo, SupportedMethods};

/// What becomes of an append instead of what should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// It is refused as if the server were overloaded.
    Unavailable,
    /// It is applied, and the connection is lost before it is answered.
    AnswerLost,
    /// It is answered with something that is no answer.
    Nonsense,
    Denied,
}

#[derive(Debug, Default)]
struct StubState {
    streams: Streams,
    mishaps: VecDeque<Mishap>,
    /// What the last request said about who asks.
    authorization: Option<String>,
    /// Nodes that gossip names.
    members: Vec<SocketAddr>,
}

/// What a server keeps; several may share it, as the nodes of a cluster do.
#[derive(Debug, Clone, Default)]
pub struct StubDisk(Arc<Mutex<StubState>>);

impl StubDisk {
    fn lock(&self) -> MutexGuard<'_, StubState> {
        self.0.lock().unwrap()
    }
}

pub struct Stub {
    pub address: SocketAddr,
    disk: StubDisk,
    /// How many appends were seen.
    seen: watch::Sender<u64>,
    up: Option<(CancellationToken, TaskTracker)>,
}

impl Stub {
    pub async fn start() -> Stub {
        Stub::on(StubDisk::default()).await
    }

    pub async fn on(disk: StubDisk) -> Stub {
        let mut stub = Stub { address: "127.0.0.1:0".parse().unwrap(), disk, seen: watch::Sender::new(0), up: None };
        stub.come_up().await;
        stub
    }

    pub fn connection(&self) -> String {
        format!("kurrentdb://admin:change%40it@{}?tls=false&maxDiscoverAttempts=2&discoveryInterval=10", self.address)
    }

    /// On the same port as before, with everything that was kept.
    pub async fn come_up(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.address = listener.local_addr().unwrap();
        let (down, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(serve(listener, self.disk.clone(), self.seen.clone(), down.clone(), tasks.clone()));
        self.up = Some((down, tasks));
    }

    /// All connections are gone when this returns.
    pub async fn go_down(&mut self) {
        if let Some((down, tasks)) = self.up.take() {
            down.cancel();
            tasks.close();
            tasks.wait().await;
        }
    }

    pub fn disk(&self) -> StubDisk {
        self.disk.clone()
    }

    pub fn with<T>(&self, look: impl FnOnce(&mut Streams) -> T) -> T {
        look(&mut self.disk.lock().streams)
    }

    pub fn plan(&self, mishaps: impl IntoIterator<Item = Mishap>) {
        self.disk.lock().mishaps.extend(mishaps);
    }

    pub fn name_members(&self, members: impl IntoIterator<Item = SocketAddr>) {
        self.disk.lock().members = members.into_iter().collect();
    }

    pub fn authorization(&self) -> Option<String> {
        self.disk.lock().authorization.clone()
    }

    /// Types of the events of a stream.
    pub fn kinds(&self, stream: &(impl ToString + ?Sized)) -> Vec<String> {
        self.with(|streams| {
            let kept = streams.kept.get(&stream.to_string());
            kept.into_iter().flatten().map(|event| event.kind.clone()).collect()
        })
    }

    pub fn versions(&self, stream: &(impl ToString + ?Sized)) -> Vec<u64> {
        self.with(|streams| streams.kept.get(&stream.to_string()).into_iter().flatten().map(|e| e.version()).collect())
    }

    /// Until so many appends were asked for.
    pub async fn seen(&self, appends: u64) {
        self.seen.subscribe().wait_for(|seen| *seen >= appends).await.unwrap();
    }
}

async fn serve(
    listener: TcpListener,
    disk: StubDisk,
    seen: watch::Sender<u64>,
    down: CancellationToken,
    tasks: TaskTracker,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted.unwrap(),
            () = down.cancelled() => return,
        };
        let (disk, seen, cut) = (disk.clone(), seen.clone(), down.child_token());
        tasks.spawn(async move {
            let service = service_fn(|request| answer(request, disk.clone(), seen.clone(), cut.clone()));
            let connection =
                http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(accepted.0), service);
            tokio::select! {
                _ = connection => {}
                () = cut.cancelled() => {}
            }
        });
    }
}

type Answer = StreamBody<stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>>>;

async fn answer(
    request: Request<Incoming>,
    disk: StubDisk,
    seen: watch::Sender<u64>,
    cut: CancellationToken,
) -> Result<Response<Answer>, Infallible> {
    let path = request.uri().path().to_owned();
    let authorization = request.headers().get("authorization").map(|value| value.to_str().unwrap().to_owned());
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let result = match path.as_str() {
        "/event_store.client.server_features.ServerFeatures/GetSupportedMethods" => {
            Ok(vec![SupportedMethods { event_store_server_version: "25.0.0".into() }.encode_to_vec()])
        }
        "/event_store.client.gossip.Gossip/Read" => Ok(vec![gossip(&disk).encode_to_vec()]),
        "/event_store.client.streams.Streams/Append" => {
            let (result, mishap) = {
                let mut state = disk.lock();
                state.authorization = authorization;
                let mishap = state.mishaps.pop_front();
                (append(&mut state.streams, &body, mishap), mishap)
            };
            seen.send_modify(|seen| *seen += 1);
            if mishap == Some(Mishap::AnswerLost) {
                cut.cancel();
                std::future::pending::<()>().await;
            }
            result
        }
        "/event_store.client.streams.Streams/Read" => {
            let read = wire::ReadReq::decode(messages(&body)[0].as_slice()).unwrap();
            let events = disk.lock().streams.read(read);
            events.map(|events| events.iter().map(Message::encode_to_vec).collect())
        }
        other => panic!("a mirror does not call {other}"),
    };
    Ok(response(result))
}

fn append(streams: &mut Streams, body: &[u8], mishap: Option<Mishap>) -> Result<Vec<Vec<u8>>, StubRefusal> {
    let refused = |code, message: &str| Err(StubRefusal { code, message: message.to_owned(), exception: "" });
    match mishap {
        Some(Mishap::Unavailable) => refused(14, "server is overloaded"),
        Some(Mishap::Denied) => refused(7, "access denied"),
        Some(Mishap::Nonsense) => Ok(vec![wire::AppendResp::default().encode_to_vec()]),
        Some(Mishap::AnswerLost) | None => {
            let requests =
                messages(body).into_iter().map(|message| wire::AppendReq::decode(message.as_slice()).unwrap());
            streams.append(requests.collect()).map(|resp| vec![resp.encode_to_vec()])
        }
    }
}

fn gossip(disk: &StubDisk) -> ClusterInfo {
    let member = |address: &SocketAddr| MemberInfo {
        state: 8,
        is_alive: true,
        http_end_point: Some(EndPoint { address: address.ip().to_string(), port: address.port().into() }),
    };
    ClusterInfo { members: disk.lock().members.iter().map(member).collect() }
}

/// The messages of a body: each with a byte that says whether it is compressed, and its length.
fn messages(mut body: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let [compressed, a, b, c, d, rest @ ..] = body {
        assert_eq!(*compressed, 0);
        let (message, behind) = rest.split_at(u32::from_be_bytes([*a, *b, *c, *d]) as usize);
        found.push(message.to_vec());
        body = behind;
    }
    assert!(body.is_empty());
    found
}

fn response(result: Result<Vec<Vec<u8>>, StubRefusal>) -> Response<Answer> {
    let mut trailers = HeaderMap::new();
    let (bodies, status) = match result {
        Ok(bodies) => (bodies, 0),
        Err(refused) => {
            trailers.insert("grpc-message", HeaderValue::from_str(&refused.message).unwrap());
            if !refused.exception.is_empty() {
                trailers.insert("exception", HeaderValue::from_static(refused.exception));
            }
            (Vec::new(), refused.code)
        }
    };
    trailers.insert("grpc-status", HeaderValue::from(status));
    let frames = bodies.into_iter().map(|message| Ok(Frame::data(framed(&message))));
    let frames: Vec<_> = frames.chain([Ok(Frame::trailers(trailers))]).collect();
    let mut response = Response::new(StreamBody::new(stream::iter(frames)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

fn framed(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0], length.as_slice(), message].concat().into()
}
