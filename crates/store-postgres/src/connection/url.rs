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
    #[error("sslcert and sslkey belong together, and to an sslmode that encrypts")]
    HalfAnIdentity,
    #[error("pooler={0} is not understood: use transaction, or leave it out where sessions are the server's own")]
    Pooler(String),
    #[error("listen={0:?} is not understood: use HOST:PORT, together with pooler=transaction")]
    Listen(String),
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
    /// Files with a certificate and its key, by which the server knows us.
    pub(crate) identity: Option<(String, String)>,
    pub(crate) schema: String,
    /// A pooler lends out sessions for a transaction each.
    pub(crate) is_pooled: bool,
    /// Where a session of one's own is to be had for hints; None: nowhere.
    pub(crate) listen: Option<Config>,
}

impl FromStr for ConnectTarget {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<ConnectTarget, BadUrl> {
        if !is_url(text) {
            return Err(BadUrl::NotAUrl);
        }
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut tls, mut root, mut schema) = (Tls::Prefer, None, SCHEMA.to_owned());
        let (mut certificate, mut key, mut is_pooled, mut listen) = (None, None, false, None);
        let mut others = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", mode)) => tls = mode.parse()?,
                Some(("sslrootcert", path)) => root = Some(unescaped(path)),
                Some(("sslcert", path)) => certificate = Some(unescaped(path)),
                Some(("sslkey", path)) => key = Some(unescaped(path)),
                Some(("pooler", "transaction")) => is_pooled = true,
                Some(("pooler", other)) => return Err(BadUrl::Pooler(other.to_owned())),
                Some(("listen", address)) => listen = Some(address.to_owned()),
                Some(("schema", name)) => schema = checked_schema(name)?,
                _ => others.push(pair),
            }
        }
        if root.is_some() && tls != Tls::VerifyFull {
            return Err(BadUrl::RootWithoutVerify);
        }
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) if tls != Tls::Disable => Some((certificate, key)),
            (None, None) => None,
            (_, _) => return Err(BadUrl::HalfAnIdentity),
        };
        let config = config_of(place, &others, tls)?;
        let listen = match listen {
            Some(address) => {
                let direct = is_pooled.then(|| at_address(place, &address)).flatten();
                Some(config_of(&direct.ok_or(BadUrl::Listen(address))?, &others, tls)?)
            }
            None if is_pooled => None,
            None => Some(config.clone()),
        };
        Ok(ConnectTarget { config, tls, root, identity, schema, is_pooled, listen })
    }
}

fn config_of(place: &str, others: &[&str], tls: Tls) -> Result<Config, BadUrl> {
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
    Ok(config)
}

/// The same user and database on another server.
fn at_address(place: &str, address: &str) -> Option<String> {
    let (host, port) = address.rsplit_once(':')?;
    let is_host = !host.is_empty() && !host.contains(['/', '@', ',']);
    let (scheme, rest) = place.split_once("://")?;
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let user = authority.rsplit_once('@').map_or(String::new(), |(user, _)| format!("{user}@"));
    (is_host && port.parse::<u16>().is_ok()).then(|| format!("{scheme}://{user}{address}/{database}"))
}

fn unescaped(path: &str) -> String {
    path.replace("%2F", "/").replace("%2f", "/")
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

/// Whether a schema may be called so.
pub fn is_schema(name: &str) -> bool {
    checked_schema(name).is_ok()
}

/// The name goes into SQL as it is: only what needs no quoting.
pub(crate) fn checked_schema(name: &str) -> Result<String, BadUrl> {
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
        assert!(refused("postgres://db/x?sslcert=/me.pem").contains("sslkey"));
        assert!(refused("postgres://db/x?sslmode=disable&sslcert=/a&sslkey=/b").contains("encrypts"));
        assert!(refused("postgres://db/x?pooler=session").contains("transaction"));
        assert!(refused("postgres://db/x?listen=db:5432").contains("pooler=transaction"));
        assert!(refused("postgres://db/x?pooler=transaction&listen=db").contains("HOST:PORT"));
        assert!(refused("orchestrator.db").contains("postgres://"));
        assert!(refused("postgres://").contains("postgres://"));
    }

    #[test]
    fn behind_a_pooler_hints_have_a_way_of_their_own() {
        let hosts =
            |config: &Config| format!("{:?} {:?} {:?}", config.get_hosts(), config.get_ports(), config.get_user());
        let direct = target("postgres://me:s@pool:6432/work");
        assert!(!direct.is_pooled && direct.listen.as_ref().map(hosts) == Some(hosts(&direct.config)));
        let pooled = target("postgres://me:s@pool:6432/work?pooler=transaction&listen=db:5432");
        assert!(pooled.is_pooled);
        assert_eq!(pooled.listen.as_ref().map(hosts).unwrap(), r#"[Tcp("db")] [5432] Some("me")"#);
        assert!(target("postgres://me:s@pool:6432/work?pooler=transaction").listen.is_none());
    }

    #[test]
    fn a_password_is_not_shown() {
        assert!(!format!("{:?}", target("postgres://me:secret@db/x")).contains("secret"));
    }
}
