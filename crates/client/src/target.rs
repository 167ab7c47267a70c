//! Where a server is, and how to get a byte stream to it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use crate::Error;

/// A server that does not take a connection within this time counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const HTTP_PORT: u16 = 80;

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The Unix socket of a daemon on this machine.
    Socket(PathBuf),
    /// `http://host:port`, with or without a path in front of all routes.
    Http {
        /// The address of the server.
        url: String,
    },
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Socket(path) => path.display().fmt(f),
            Target::Http { url } => f.write_str(url),
        }
    }
}

pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A target that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) place: Place,
    /// What the `Host` header says.
    pub(crate) host: String,
    /// Stands in front of every path.
    pub(crate) prefix: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Socket(PathBuf),
    Tcp { host: String, port: u16 },
}

impl Address {
    pub(crate) fn of(target: &Target) -> Result<Address, Error> {
        match target {
            Target::Socket(path) => {
                Ok(Address { place: Place::Socket(path.clone()), host: "localhost".to_owned(), prefix: String::new() })
            }
            Target::Http { url } => http(url),
        }
    }

    pub(crate) async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        match tokio::time::timeout(CONNECT_TIMEOUT, self.open()).await {
            Ok(opened) => opened,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "it does not take the connection")),
        }
    }

    async fn open(&self) -> io::Result<Box<dyn Stream>> {
        match &self.place {
            Place::Socket(path) => Ok(Box::new(UnixStream::connect(path).await?)),
            Place::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
        }
    }
}

fn http(url: &str) -> Result<Address, Error> {
    let refuse = |why: &str| Error::Protocol(format!("{url:?} is not the address of a server: {why}"));
    let uri: hyper::Uri = url.trim().parse().map_err(|_| refuse("write it as http://127.0.0.1:7070"))?;
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => return Err(refuse("TLS is left to a proxy, use http://")),
        Some(_) | None => return Err(refuse("it must begin with http://")),
    }
    let authority = uri.authority().ok_or_else(|| refuse("it has no host"))?;
    let bare = authority.host().trim_start_matches('[').trim_end_matches(']');
    Ok(Address {
        place: Place::Tcp { host: bare.to_owned(), port: authority.port_u16().unwrap_or(HTTP_PORT) },
        host: authority.as_str().to_owned(),
        prefix: uri.path().trim_end_matches('/').to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Result<Address, Error> {
        Address::of(&Target::Http { url: url.to_owned() })
    }

    #[test]
    fn an_address_has_a_host_a_port_and_perhaps_a_path() {
        let plain = address("http://127.0.0.1:7070").unwrap();
        assert_eq!(plain.place, Place::Tcp { host: "127.0.0.1".into(), port: 7070 });
        assert_eq!((plain.host.as_str(), plain.prefix.as_str()), ("127.0.0.1:7070", ""));
        let below = address("http://jobs.example/ordo/").unwrap();
        assert_eq!(below.place, Place::Tcp { host: "jobs.example".into(), port: 80 });
        assert_eq!(below.prefix, "/ordo");
        assert_eq!(address("http://[::1]:7070").unwrap().place, Place::Tcp { host: "::1".into(), port: 7070 });
    }

    #[test]
    fn what_is_no_address_is_refused_with_advice() {
        for (url, advice) in
            [("https://x", "http://"), ("127.0.0.1:7070", "http://"), ("", "http://"), ("/x", "http://")]
        {
            let error = address(url).unwrap_err();
            assert!(error.to_string().contains(advice), "{url}: {error}");
        }
    }
}
