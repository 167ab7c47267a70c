//! The connection to KurrentDB: what the connection string says, and a client that can be thrown away.
//!
//! Invariant: no message repeats the connection string: it has a password in it.

use std::sync::Arc;

use kurrentdb::{Client, ClientSettings, ClientSettingsParseError, Credentials};
use percent_encoding::percent_decode_str;
use tokio::runtime::{Builder, Runtime};

/// Why a connection string is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadConnection(String);

/// A KurrentDB to write to.
#[derive(Clone)]
pub struct MirrorTarget {
    settings: ClientSettings,
    credentials: Option<Credentials>,
}

impl std::fmt::Debug for MirrorTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MirrorTarget").field(&self.shown()).finish()
    }
}

impl MirrorTarget {
    pub fn parse(text: &str) -> Result<MirrorTarget, BadConnection> {
        let text = text.trim();
        let Some((_, rest)) = text.split_once("://") else {
            return Err(BadConnection("it does not begin with a scheme such as kurrentdb://".into()));
        };
        let (authority, beyond) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if beyond.contains('@') {
            let why = "there is an @ behind the address: write / ? # and @ in a password as %2F %3F %23 and %40";
            return Err(BadConnection(why.into()));
        }
        let settings: ClientSettings = text.parse().map_err(|error| BadConnection(reason(&error)))?;
        let credentials = authority.rsplit_once('@').map(|(user, _)| credentials(user));
        Ok(MirrorTarget { settings, credentials })
    }

    /// Where it is, without who one is there.
    pub fn shown(&self) -> String {
        let hosts = self.settings.hosts().iter().map(|host| format!("{}:{}", host.host, host.port));
        hosts.collect::<Vec<_>>().join(",")
    }

    pub fn is_encrypted(&self) -> bool {
        self.settings.is_secure_mode_enabled()
    }

    /// Who one is there; given with every request, because the client does not decode what it reads from the string.
    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// Makes a client. It connects when it is first used; files named in the string are read now.
    pub(crate) async fn open(&self) -> Result<Arc<MirrorSession>, String> {
        let settings = self.settings.clone();
        let opened = tokio::task::spawn_blocking(move || MirrorSession::open(settings)).await;
        opened.unwrap_or_else(|_| Err("a certificate named in the connection string cannot be read".into()))
    }

    /// Whether a client can be made: what its certificates say is found out now.
    pub async fn check(&self) -> Result<(), BadConnection> {
        self.open().await.map(drop).map_err(BadConnection)
    }
}

/// What is wrong, as far as it cannot contain a password.
fn reason(error: &ClientSettingsParseError) -> String {
    if let Some(error) = error.error() {
        return error.to_string();
    }
    let message = error.message();
    match message.split_once(". value = ") {
        Some((parameter, _)) => parameter.to_owned(),
        None => message.split([':', '\'']).next().unwrap_or_default().trim_end().to_owned(),
    }
}

fn credentials(user: &str) -> Credentials {
    let (login, password) = user.split_once(':').unwrap_or((user, ""));
    let decoded = |text| percent_decode_str(text).collect::<Vec<u8>>();
    Credentials::new(decoded(login), decoded(password))
}

/// A client and the thread that its connection lives on. The client keeps a task for itself that would outlive it, and
/// does not look for another node of a cluster when its own is gone: both end with the session.
pub(crate) struct MirrorSession {
    pub(crate) client: Client,
    thread: Option<Runtime>,
}

impl MirrorSession {
    fn open(settings: ClientSettings) -> Result<Arc<MirrorSession>, String> {
        let thread = Builder::new_multi_thread().worker_threads(1).thread_name("ordo-kurrentdb").enable_all().build();
        let thread = thread.map_err(|error| format!("the system gives no thread: {error}"))?;
        let client =
            Client::with_runtime_handle(thread.handle().clone(), settings).map_err(|error| error.to_string())?;
        Ok(Arc::new(MirrorSession { client, thread: Some(thread) }))
    }
}

impl Drop for MirrorSession {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_string_is_shown_without_its_credentials() {
        let target =
            MirrorTarget::parse("kurrentdb://admin:s3%40cret@a.example:2113,b.example:2114?tls=false").unwrap();
        assert_eq!((target.shown().as_str(), target.is_encrypted()), ("a.example:2113,b.example:2114", false));
        assert!(!format!("{target:?}").contains("cret"));
        assert_eq!(target.credentials(), Some(&Credentials::new("admin", "s3@cret")));
        let plain = MirrorTarget::parse(" esdb://localhost ").unwrap();
        assert_eq!((plain.shown().as_str(), plain.is_encrypted()), ("localhost:2113", true));
        assert_eq!(plain.credentials(), None);
    }

    #[test]
    fn a_wrong_one_is_refused_without_repeating_it() {
        for (text, says) in [
            ("localhost:2113", "begin with a scheme"),
            ("postgres://u:s3cret@h", "Unknown URL scheme"),
            ("kurrentdb://u:s3cret@", "host"),
            ("kurrentdb://u:s3cret@h:notaport", "port"),
            ("kurrentdb://u:s3cret@h:1,i:s3cret", "port"),
            ("kurrentdb://u:s3/cret@h:1", "%2F"),
            ("kurrentdb://u:1/s3cret@h", "%2F"),
            ("kurrentdb://u:p?s3cret@h", "%3F"),
            ("kurrentdb://u:s3cret@h/s3cret", "path"),
            ("kurrentdb://u:s3cret@h?tls=s3cret", "'tls'"),
            ("kurrentdb://u:s3cret@h?nodePreference=s3cret", "node preference"),
            ("kurrentdb://u:s3cret@h?userCertFile=x", "userKeyFile"),
        ] {
            let why = MirrorTarget::parse(text).unwrap_err().to_string();
            assert!(why.contains(says), "{text}: {why}");
            assert!(!why.contains("s3") && !why.contains("cret"), "{text}: {why}");
        }
    }

    #[tokio::test]
    async fn a_certificate_that_is_not_there_is_found_out_at_once() {
        let target = MirrorTarget::parse("kurrentdb://h?tlsCaFile=/nowhere/ca.pem").unwrap();
        assert!(target.check().await.is_err());
        assert_eq!(MirrorTarget::parse("kurrentdb://h").unwrap().check().await, Ok(()));
    }
}
