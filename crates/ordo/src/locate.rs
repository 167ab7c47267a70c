//! Which server a command talks to: the one that was named, the socket nearby, or the usual address.
//!
//! Invariant: a token is sent to the server it is meant for. `ORDO_TOKEN` goes to the server that was named or to the
//! usual address; the token of the daemon nearby goes to this daemon only; a Unix socket is sent none.

use ordo_client::{Client, Distrust, Target};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use zeroize::Zeroizing;

use crate::cli::Common;
use crate::environment;
use crate::error::{Error, Result};
use crate::nearby::{self, OwnDaemon};

const USUAL: &str = "http://127.0.0.1:7070";
const TOKEN_VARIABLE: &str = "ORDO_TOKEN";
/// What a command is started in, a job's for example.
const TRACE_VARIABLE: &str = "TRACEPARENT";

/// What stands for itself in a path and in a query.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A server, and how it was found.
#[derive(Debug, Clone)]
pub(crate) struct LocatedServer {
    pub(crate) client: Client,
    /// Somebody named it: then nothing else will do.
    pub(crate) named: bool,
}

/// The servers of an executor: one, or several nodes of one cluster, separated by commas.
pub(crate) fn servers(common: &Common) -> Result<(Client, Vec<Client>)> {
    let urls = common.server.as_deref().unwrap_or_default().split(',').map(str::trim).filter(|url| !url.is_empty());
    let mut clients = Vec::new();
    for url in urls {
        let common = Common { server: Some(url.to_owned()), ..common.clone() };
        clients.push(server(&common)?.client);
    }
    match clients.is_empty() {
        true => Ok((server(common)?.client, Vec::new())),
        false => Ok((clients.remove(0), clients)),
    }
}

pub(crate) fn server(common: &Common) -> Result<LocatedServer> {
    let (target, token) = match common.server.as_deref() {
        Some(url) => named(url),
        None => match nearby::socket()? {
            Some(socket) => (Target::Socket(socket), None),
            None => (Target::Http { url: USUAL.to_owned() }, token_given()),
        },
    };
    let client = match &common.ca_file {
        Some(path) => {
            let refuse = |why: String| Error::misused(format!("--ca-file {}: {why}", path.display()));
            let pem = std::fs::read(path).map_err(|error| refuse(error.to_string()))?;
            Client::trusting(target, token.as_ref().map(|token| token.as_str()), &pem)
                .map_err(|e| refuse(e.to_string()))?
        }
        None => Client::new(target, token.as_ref().map(|token| token.as_str())),
    };
    let client = match std::env::var(TRACE_VARIABLE) {
        Ok(traceparent) => client.in_trace(&traceparent),
        Err(_) => client,
    }
    .of_command_line();
    Ok(LocatedServer { client, named: common.server.is_some() })
}

type ServerToken = Zeroizing<String>;

/// The server somebody named. The token of the daemon nearby is for no other server.
fn named(url: &str) -> (Target, Option<ServerToken>) {
    match target(url) {
        socket @ Target::Socket(_) => (socket, None),
        Target::Http { url } => match token_given() {
            Some(token) => (Target::Http { url }, Some(token)),
            None => match nearby::daemon_at(&url) {
                Some(OwnDaemon { url, token }) => (Target::Http { url }, Some(token)),
                None => (Target::Http { url }, None),
            },
        },
    }
}

fn token_given() -> Option<ServerToken> {
    environment::var(TOKEN_VARIABLE).filter(|token| !token.trim().is_empty()).map(Zeroizing::new)
}

/// A path, or `unix:` and a path, is a socket.
fn target(url: &str) -> Target {
    match url.strip_prefix("unix:") {
        // `unix:///run/x` is written too.
        Some(path) => Target::Socket(path.strip_prefix("//").unwrap_or(path).into()),
        None if url.starts_with('/') || url.starts_with('.') => Target::Socket(url.into()),
        None => Target::Http { url: url.to_owned() },
    }
}

/// What a failed call means to whoever typed the command.
impl From<ordo_client::Error> for Error {
    fn from(error: ordo_client::Error) -> Error {
        use ordo_client::Error as Failed;
        match error {
            Failed::Unusable(what) => Error::misused(what),
            Failed::Unreachable { target, source } => Error::unreachable("no daemon is running")
                .detail(format!("nothing answers at {target} ({source})"))
                .hint(if target.starts_with("https://") {
                    "see whether the server runs, and whether this is its address"
                } else {
                    "start one with: ordo serve"
                }),
            Failed::Untrusted { target, why } => Error::failed(format!("the certificate of {target} is refused"))
                .detail(why.to_string())
                .hint(trust(&why)),
            Failed::Redirected { target, location } => Error::failed(format!("{target} is not the server itself"))
                .detail(format!("it redirects to {location}; nothing was sent there"))
                .hint("if that is your server, name it with --server"),
            Failed::Problem { code, title, detail, errors, server, .. } => {
                let fields = errors.into_iter().map(|error| (error.field, error.message)).collect();
                let problem = Error::problem(&code, &title, &detail, fields).by(server);
                match code.as_str() {
                    "store_unavailable" => problem.hint("the daemon's log says more"),
                    "unauthorized" => problem.hint("set ORDO_TOKEN to a token of this server"),
                    _ => problem,
                }
            }
            Failed::Protocol(what) => Error::failed("the server's answer cannot be used").detail(what),
        }
    }
}

/// How the certificate of a server can be made one that is believed.
fn trust(why: &Distrust) -> &'static str {
    match why {
        Distrust::UnknownAuthority => {
            "if the server has an authority of its own, name its certificate: --ca-file FILE, or ORDO_CA_FILE"
        }
        Distrust::OtherName { .. } => "use a name of the certificate in --server, or have it issued for this one too",
        Distrust::Expired => "renew the certificate of the server",
        Distrust::NotYetValid => "see whether the clock of this machine is right",
        Distrust::OfAnAuthority => {
            "have the authority issue one for the server; with openssl req -x509: -addext basicConstraints=critical,CA:FALSE"
        }
        Distrust::Other(_) => "the server needs another certificate",
    }
}

pub(crate) fn path_segment(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
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
    fn a_path_is_a_socket() {
        assert_eq!(target("unix:/x/y.sock"), Target::Socket("/x/y.sock".into()));
        assert_eq!(target("unix:///x/y.sock"), Target::Socket("/x/y.sock".into()));
        assert_eq!(target("./y.sock"), Target::Socket("./y.sock".into()));
        assert_eq!(target("http://h:1"), Target::Http { url: "http://h:1".into() });
    }
}
