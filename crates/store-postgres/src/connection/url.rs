//! Where the database is: a URL as PostgreSQL's own tools understand it, with `schema` and the modes of TLS besides.
//!
//! Invariant: what is not understood is refused with what is; a password is never shown.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

const SCHEMA: &str = "ordo";
/// PostgreSQL cuts longer names off.
const SCHEMA_MAX_BYTES: usize = 63;
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// How long a connection may say nothing before the network is asked whether the server is still there,
const SILENCE: Duration = Duration::from_secs(15);
/// and how long sent bytes may stay unanswered by the network.
const UNHEARD: Duration = Duration::from_secs(10);

/// Whether a text that names a store means this driver.
pub fn is_url(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    #[error("a database is written as postgres://user:password@host:5432/database")]
    NotAUrl,
    #[error("sslmode={0} is not understood: use disable, prefer, require or verify-full")]
    Mode(String),
    #[error("schema={0:?} is not a name: use lower-case letters, digits and _ (at most 63, not a digit first)")]
    Schema(String),
    #[error("sslrootcert is only looked at with sslmode=verify-full")]
    RootWithoutVerify,
    #[error("the database URL is refused: {0}")]
    Refused(String),
}

/// How much of TLS is asked for, as in PostgreSQL's own tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tls {
    Disable,
    /// If the server offers it; nobody is checked.
    Prefer,
    /// Always; nobody is checked.
    Require,
    /// Always, and the server must prove its name.
    VerifyFull,
}

#[derive(Clone)]
pub(crate) struct ConnectTarget {
    pub(crate) config: Config,
    pub(crate) tls: Tls,
    /// A file with the authorities that are trusted; None: those the system trusts.
    pub(crate) root: Option<String>,
    pub(crate) schema: String,
}

impl FromStr for ConnectTarget {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<ConnectTarget, BadUrl> {
        if !is_url(text) {
            return Err(BadUrl::NotAUrl);
        }
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut tls, mut root, mut schema) = (Tls::Prefer, None, SCHEMA.to_owned());
        let mut others = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", mode)) => tls = mode.parse()?,
                Some(("sslrootcert", path)) => root = Some(path.replace("%2F", "/").replace("%2f", "/")),
                Some(("schema", name)) => schema = checked_schema(name)?,
                _ => others.push(pair),
            }
        }
        if root.is_some() && tls != Tls::VerifyFull {
            return Err(BadUrl::RootWithoutVerify);
        }
        let rest = if others.is_empty() { place.to_owned() } else { format!("{place}?{}", others.join("&")) };
        let mut config: Config = rest.parse().map_err(|error| BadUrl::Refused(causes(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(BadUrl::NotAUrl);
        }
        config.ssl_mode(tls.into());
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_PATIENCE);
        }
        config.keepalives_idle(SILENCE).tcp_user_timeout(UNHEARD);
        if config.get_application_name().is_none() {
            config.application_name("ordo");
        }
        Ok(ConnectTarget { config, tls, root, schema })
    }
}

/// Without the password.
impl fmt::Debug for ConnectTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = self.config.get_dbname().unwrap_or_default();
        write!(f, "{:?}/{database}, schema {}", self.config.get_hosts(), self.schema)
    }
}

impl FromStr for Tls {
    type Err = BadUrl;

    fn from_str(mode: &str) -> Result<Tls, BadUrl> {
        match mode {
            "disable" => Ok(Tls::Disable),
            "prefer" => Ok(Tls::Prefer),
            "require" => Ok(Tls::Require),
            "verify-full" => Ok(Tls::VerifyFull),
            other => Err(BadUrl::Mode(other.to_owned())),
        }
    }
}

impl From<Tls> for SslMode {
    fn from(tls: Tls) -> SslMode {
        match tls {
            Tls::Disable => SslMode::Disable,
            Tls::Prefer => SslMode::Prefer,
            Tls::Require | Tls::VerifyFull => SslMode::Require,
        }
    }
}

/// The name goes into SQL as it is: only what needs no quoting.
fn checked_schema(name: &str) -> Result<String, BadUrl> {
    let is_word = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let starts = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    let reserved = name.starts_with("pg_");
    match is_word && starts && !reserved && name.len() <= SCHEMA_MAX_BYTES {
        true => Ok(name.to_owned()),
        false => Err(BadUrl::Schema(name.to_owned())),
    }
}

fn causes(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> ConnectTarget {
        text.parse().unwrap()
    }

    fn refused(text: &str) -> String {
        text.parse::<ConnectTarget>().unwrap_err().to_string()
    }

    #[test]
    fn what_postgresql_understands_is_understood_and_the_rest_is_ours() {
        let given = target("postgres://me:secret@db:6000/work?sslmode=verify-full&schema=team_2&connect_timeout=3");
        assert_eq!((given.tls, given.schema.as_str()), (Tls::VerifyFull, "team_2"));
        assert_eq!(given.config.get_dbname(), Some("work"));
        assert_eq!(given.config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        assert_eq!(target("postgresql://db/work").schema, "ordo");
        assert_eq!(target("postgres://db/work").tls, Tls::Prefer);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_what_is() {
        assert!(refused("postgres://db/x?sslmode=verify-ca").contains("verify-full"));
        assert!(refused("postgres://db/x?schema=Team").contains("lower-case"));
        assert!(refused("postgres://db/x?schema=a;drop").contains("lower-case"));
        assert!(refused("postgres://db/x?colour=red").contains("refused"));
        assert!(refused("postgres://db/x?sslrootcert=/ca.pem").contains("verify-full"));
        assert!(refused("orchestrator.db").contains("postgres://"));
        assert!(refused("postgres://").contains("postgres://"));
    }

    #[test]
    fn a_password_is_not_shown() {
        assert!(!format!("{:?}", target("postgres://me:secret@db/x")).contains("secret"));
    }
}
