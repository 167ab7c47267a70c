//! TLS towards others: by which cryptography, and whom it believes.
//!
//! Invariant: nothing is installed for the whole process. A program with Ordo inside may use another provider, and install
//! it whenever it likes.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ConfigBuilder, Error, RootCertStore, WantsVerifier};
use rustls_platform_verifier::Verifier;

/// The only protocol that Ordo's HTTP clients speak.
const HTTP_1_1: &[u8] = b"http/1.1";

/// The cryptography of every connection.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// A client of any protocol, with the versions of TLS that are safe today.
pub fn client() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, Error> {
    ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()
}

/// A client of HTTPS that believes the authorities of the system and these.
pub fn https(authorities: impl IntoIterator<Item = CertificateDer<'static>>) -> Result<ClientConfig, Error> {
    let verifier = Verifier::new_with_extra_roots(authorities, provider())?;
    let config = client()?.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth();
    Ok(speaking_http(config))
}

/// A client of HTTP that is never asked for TLS: it reads no authorities, so it can be made without any, and believes nobody.
pub fn plain_http() -> Result<ClientConfig, Error> {
    Ok(speaking_http(client()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth()))
}

fn speaking_http(mut config: ClientConfig) -> ClientConfig {
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    config
}

#[cfg(test)]
mod tests {
    use rustls::ProtocolVersion::{TLSv1_2, TLSv1_3};
    use rustls::{ALL_VERSIONS, NamedGroup};

    use super::*;

    #[test]
    fn servers_with_the_last_two_versions_are_reached() {
        let suites = provider().cipher_suites.iter().map(|suite| suite.version().version).collect::<Vec<_>>();
        assert!(suites.contains(&TLSv1_2) && suites.contains(&TLSv1_3), "{suites:?}");
        assert_eq!(ALL_VERSIONS.len(), 2);
    }

    #[test]
    fn keys_are_exchanged_by_the_curves_that_every_server_has() {
        let groups = provider().kx_groups.iter().map(|group| group.name()).collect::<Vec<_>>();
        assert_eq!(groups, [NamedGroup::X25519, NamedGroup::secp256r1, NamedGroup::secp384r1]);
    }

    #[test]
    fn nothing_is_installed_for_the_program_around_it() {
        plain_http().unwrap();
        assert!(CryptoProvider::get_default().is_none());
    }

    #[test]
    fn a_client_without_tls_needs_no_authorities_and_speaks_http_1_1() {
        assert_eq!(plain_http().unwrap().alpn_protocols, [b"http/1.1".to_vec()]);
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        assert!(https([CertificateDer::from(vec![0, 0, 0])]).is_err());
    }
}
