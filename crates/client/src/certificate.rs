//! Why a server's certificate is not believed, in words that lead to what to do about it.

use std::fmt;

use rustls::CertificateError;

/// What is wrong with the certificate of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distrust {
    /// Nobody that is trusted here has issued it.
    UnknownAuthority,
    /// It is for other names than the one that was asked for.
    OtherName {
        /// The names it is for, as it writes them.
        names: Vec<String>,
    },
    /// Its time is over.
    Expired,
    /// Its time has not begun, or the clock here is wrong.
    NotYetValid,
    /// It is the certificate of an authority itself, as `openssl req -x509` makes them.
    OfAnAuthority,
    /// Something else.
    Other(String),
}

impl Distrust {
    /// None: the failure was not about a certificate.
    pub(crate) fn of(error: &rustls::Error) -> Option<Distrust> {
        let rustls::Error::InvalidCertificate(fault) = error else { return None };
        Some(match fault {
            // An authority that was made anew under its old name is another one: its signature does not fit.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Distrust::UnknownAuthority,
            CertificateError::NotValidForName => Distrust::OtherName { names: Vec::new() },
            CertificateError::NotValidForNameContext { presented, .. } => {
                Distrust::OtherName { names: presented.iter().map(|name| plain(name)).collect() }
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Distrust::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Distrust::NotYetValid,
            // The verifier has no kind of its own for it.
            other if other.to_string().contains("CaUsedAsEndEntity") => Distrust::OfAnAuthority,
            other => Distrust::Other(other.to_string()),
        })
    }
}

/// `DnsName("ordo.example")` is how the verifier writes a name down.
fn plain(name: &str) -> String {
    name.split('"').nth(1).unwrap_or(name).to_owned()
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distrust::UnknownAuthority => f.write_str("it was issued by an authority that is not trusted here"),
            Distrust::OtherName { names } if names.is_empty() => f.write_str("it is not for this name"),
            Distrust::OtherName { names } => write!(f, "it is for {}, not for this name", names.join(", ")),
            Distrust::Expired => f.write_str("it has expired"),
            Distrust::NotYetValid => f.write_str("it is not valid yet, by the clock of this machine"),
            Distrust::OfAnAuthority => f.write_str("it is the certificate of an authority (CA:TRUE), not of a server"),
            Distrust::Other(what) => f.write_str(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(fault: CertificateError) -> String {
        Distrust::of(&rustls::Error::InvalidCertificate(fault)).unwrap().to_string()
    }

    #[test]
    fn what_is_wrong_with_a_certificate_is_said_in_plain_words() {
        assert!(why(CertificateError::UnknownIssuer).contains("authority"));
        assert!(why(CertificateError::BadSignature).contains("authority"));
        assert!(why(CertificateError::Expired).contains("expired"));
        assert!(why(CertificateError::NotValidYet).contains("clock"));
        assert!(why(CertificateError::NotValidForName).contains("name"));
        assert!(!why(CertificateError::Revoked).is_empty());
        assert_eq!(plain(r#"DnsName("ordo.example")"#), "ordo.example");
        assert_eq!(plain("IpAddress(127.0.0.1)"), "IpAddress(127.0.0.1)");
    }

    #[test]
    fn a_broken_handshake_is_no_matter_of_trust() {
        assert_eq!(Distrust::of(&rustls::Error::HandshakeNotComplete), None);
    }
}
