//! Which server a command talks to: the one that was named, the socket nearby, or the usual address.

use std::net::IpAddr;

use ordo_client::{Client, Target};

use crate::error::Error;
use crate::folder::{Folder, SOCKET};

const USUAL: &str = "http://127.0.0.1:7070";
const TOKEN_VARIABLE: &str = "ORDO_TOKEN";
/// What a command is started in, a job's for example.
const TRACE_VARIABLE: &str = "TRACEPARENT";

/// A server, and how it was found.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) client: Client,
    /// Somebody named it: then nothing else will do.
    pub(crate) named: bool,
}

pub(crate) fn server(asked: Option<&str>) -> Server {
    let mut server = found(asked);
    if let Ok(traceparent) = std::env::var(TRACE_VARIABLE) {
        server.client = server.client.in_trace(&traceparent);
    }
    server
}

fn found(asked: Option<&str>) -> Server {
    let token = || std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.trim().is_empty());
    if let Some(url) = asked {
        // The token of the daemon in this folder is not for servers elsewhere.
        let nearby = || is_this_machine(url).then(token_nearby).flatten();
        return Server { client: Client::new(target(url), token().or_else(nearby)), named: true };
    }
    if let Some(folder) = Folder::nearest_with(SOCKET) {
        return Server { client: Client::new(Target::Socket(folder.socket()), token()), named: false };
    }
    let target = Target::Http { url: USUAL.to_owned() };
    Server { client: Client::new(target, token().or_else(token_nearby)), named: false }
}

/// A path, or `unix:` and a path, is a socket.
fn target(url: &str) -> Target {
    match url.strip_prefix("unix:") {
        Some(path) => Target::Socket(path.trim_start_matches("//").into()),
        None if url.starts_with('/') || url.starts_with('.') => Target::Socket(url.into()),
        None => Target::Http { url: url.to_owned() },
    }
}

fn is_this_machine(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn token_nearby() -> Option<String> {
    Folder::nearest_with("token")?.read_token()
}

/// What a failed call means to whoever typed the command.
impl From<ordo_client::Error> for Error {
    fn from(error: ordo_client::Error) -> Error {
        match error {
            ordo_client::Error::Unreachable { target, source } => Error::unreachable("no daemon is running")
                .detail(format!("nobody answers at {target} ({source})"))
                .hint("start one with: ordo serve"),
            ordo_client::Error::Problem { code, title, detail, errors, .. } => {
                let fields = errors.into_iter().map(|error| (error.field, error.message)).collect();
                let problem = Error::problem(&code, &title, &detail, fields);
                if code == "store_unavailable" { problem.hint("the daemon's log says more") } else { problem }
            }
            ordo_client::Error::Protocol(what) => Error::failed("the server's answer cannot be used").detail(what),
        }
    }
}

pub(crate) fn path_segment(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encode = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

/// `?a=1&b=2`, or nothing.
pub(crate) fn query(parameters: &[(&str, Option<String>)]) -> String {
    let given = parameters.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let pairs: Vec<String> = given.map(|(name, value)| format!("{name}={}", path_segment(value))).collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_written_so_that_it_is_read_back() {
        let label = Some("a b&c=ü".to_owned());
        assert_eq!(query(&[("label", label), ("state", None)]), "?label=a%20b%26c%3D%C3%BC");
        assert_eq!(query(&[("state", None)]), "");
    }

    #[test]
    fn only_this_machine_gets_the_token_of_this_folder() {
        for here in ["http://127.0.0.1:7070", "http://localhost:1/x", "http://[::1]:7070"] {
            assert!(is_this_machine(here), "{here}");
        }
        for there in [
            "http://10.0.0.1:7070",
            "http://evil",
            "http://localhost.evil",
            "http://127.0.0.1@evil",
            "https://localhost",
        ] {
            assert!(!is_this_machine(there), "{there}");
        }
    }

    #[test]
    fn a_path_is_a_socket() {
        assert_eq!(target("unix:/x/y.sock"), Target::Socket("/x/y.sock".into()));
        assert_eq!(target("./y.sock"), Target::Socket("./y.sock".into()));
        assert_eq!(target("http://h:1"), Target::Http { url: "http://h:1".into() });
    }
}
