//! Where a server is.

use std::fmt;
use std::path::PathBuf;

use reqwest::Url;

use crate::Error;

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The Unix socket of a daemon on this machine.
    Socket(PathBuf),
    /// `https://host:port` or `http://host:port`, with or without a path in front of all routes.
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

impl Target {
    /// What stands in front of every path. The name of the host makes no difference to a socket.
    pub(crate) fn base(&self) -> Result<Url, Error> {
        match self {
            Target::Socket(_) => parse("http://localhost"),
            Target::Http { url } => parse(url.trim()),
        }
    }
}

fn parse(text: &str) -> Result<Url, Error> {
    let refuse = |why: &str| Error::Unusable(format!("{text:?} is not the address of a server: {why}"));
    let url: Url = text.parse().map_err(|_| refuse("write it as http://127.0.0.1:7070 or https://ordo.example"))?;
    match url.scheme() {
        "http" | "https" => {}
        _ => return Err(refuse("it must begin with http:// or https://")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse("a user or a password is not used, a token is"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("it must end with the host, the port or a path"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(url: &str) -> Result<String, Error> {
        Target::Http { url: url.to_owned() }.base().map(String::from)
    }

    #[test]
    fn an_address_has_a_scheme_a_host_and_perhaps_a_port_and_a_path() {
        for url in ["http://127.0.0.1:7070/", "https://jobs.example/ordo/", "http://[::1]:7070/", "https://h:8443/"] {
            assert_eq!(base(url).unwrap(), url);
        }
        assert_eq!(base(" https://jobs.example\n").unwrap(), "https://jobs.example/");
    }

    #[test]
    fn what_is_no_address_is_refused_with_advice() {
        for (url, advice) in [
            ("127.0.0.1:7070", "http://"),
            ("localhost:7070", "http://"),
            ("", "https://"),
            ("/x", "http://"),
            ("ftp://x", "https://"),
            ("https://eve:pass@x", "token"),
            ("https://x/?a=b", "path"),
        ] {
            let error = base(url).unwrap_err();
            assert!(matches!(&error, Error::Unusable(text) if text.contains(advice)), "{url}: {error}");
        }
    }
}
