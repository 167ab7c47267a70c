//! A proxy before the server that cuts connections, as networks do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A proxy; when it cuts, it loses a piece now and then, and the connection with it.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) port: u16,
    state: Arc<ProxyState>,
}

#[derive(Debug, Default)]
struct ProxyState {
    /// Cuts are made at all.
    cutting: AtomicBool,
    /// Nothing is passed on.
    away: AtomicBool,
    /// Where the chance is.
    seed: AtomicU64,
    cuts: AtomicU64,
}

impl ProxyState {
    fn chance(&self) -> u64 {
        let mut x = self.seed.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// One piece in twelve does not arrive: a commit is hardly more than two.
    fn cuts_now(&self) -> bool {
        let unlucky = self.cutting.load(Ordering::Relaxed) && self.chance().is_multiple_of(12);
        let cut = unlucky || self.away.load(Ordering::Relaxed);
        self.cuts.fetch_add(u64::from(cut), Ordering::Relaxed);
        cut
    }
}

impl Proxy {
    pub(crate) async fn before(server: u16, seed: u64) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(ProxyState { seed: AtomicU64::new(seed), ..ProxyState::default() });
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await {
                    tokio::spawn(pass(client, server, shared.clone()));
                }
            }
        });
        Proxy { port, state }
    }

    pub(crate) fn cut(&self, cutting: bool) {
        self.state.cutting.store(cutting, Ordering::Relaxed);
    }

    pub(crate) fn away(&self, away: bool) {
        self.state.away.store(away, Ordering::Relaxed);
    }

    pub(crate) fn cuts(&self) -> u64 {
        self.state.cuts.load(Ordering::Relaxed)
    }
}

/// Both ways, until one of them ends or is cut. What was on its way in the other direction may be lost with it.
async fn pass(mut client: TcpStream, mut server: TcpStream, state: Arc<ProxyState>) {
    let (mut client_bytes, mut server_bytes) = (vec![0; 16_384], vec![0; 16_384]);
    loop {
        let (from_client, count) = tokio::select! {
            count = client.read(&mut client_bytes) => (true, count.unwrap_or(0)),
            count = server.read(&mut server_bytes) => (false, count.unwrap_or(0)),
        };
        if count == 0 {
            return;
        }
        // An answer that does not arrive is the worst: the commit may have been made.
        if state.cuts_now() {
            return;
        }
        let passed = match from_client {
            true => server.write_all(&client_bytes[..count]).await,
            false => client.write_all(&server_bytes[..count]).await,
        };
        if passed.is_err() {
            return;
        }
    }
}
