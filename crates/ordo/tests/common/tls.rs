//! A daemon behind TLS, as a proxy makes it: an authority of one's own, and a listener that hands everything on.

use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::Daemon;

/// An authority, as a company has one.
pub(crate) struct CertificateAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// What a server shows.
pub(crate) struct ServerIdentity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl CertificateAuthority {
    pub(crate) fn new() -> CertificateAuthority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertificateAuthority { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    /// Its certificate, in a file that clients are given.
    pub(crate) fn write(&self, path: &Path) -> String {
        std::fs::write(path, self.issuer.pem()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn certify(&self, name: &str) -> ServerIdentity {
        self.sign(&CertificateParams::new([name.to_owned()]).unwrap())
    }

    pub(crate) fn certify_long_ago(&self, name: &str) -> ServerIdentity {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
        self.sign(&params)
    }

    /// As `openssl req -x509` makes it: a certificate for a server that is one of an authority at the same time.
    pub(crate) fn certify_as_authority(&self, name: &str) -> ServerIdentity {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> ServerIdentity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        ServerIdentity { certificate, key: PrivatePkcs8KeyDer::from(key.serialize_der()).into() }
    }
}

/// A listener with TLS before a daemon. Ends when dropped.
pub(crate) struct TlsFront {
    _runtime: Runtime,
    port: u16,
}

impl TlsFront {
    pub(crate) fn before(daemon: &Daemon, identity: ServerIdentity) -> TlsFront {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let config = ServerConfig::builder_with_provider(ordo_tls::provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![identity.certificate], identity.key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let daemon = daemon.place.strip_prefix("http://").unwrap().to_owned();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(hand_on(acceptor.clone(), stream, daemon.clone()));
            }
        });
        TlsFront { _runtime: runtime, port }
    }

    pub(crate) fn url(&self, host: &str) -> String {
        format!("https://{host}:{}", self.port)
    }
}

/// Whoever does not like the certificate goes away: that is no failure here.
async fn hand_on(acceptor: TlsAcceptor, stream: TcpStream, daemon: String) {
    let Ok(mut inside) = acceptor.accept(stream).await else { return };
    let mut outside = TcpStream::connect(daemon).await.unwrap();
    let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
}
