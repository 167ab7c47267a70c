//! TLS for connections to the database, by rustls.
//!
//! Invariant: `verify-full` never talks to a server that cannot prove its name; `prefer` and `require` encrypt without
//! asking who it is, as PostgreSQL's own tools do.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ordo_store::Fault;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream as PostgresTls};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::connection::url::{ConnectTarget, Tls};

#[derive(Clone)]
pub(crate) struct MakeTls(Arc<ClientConfig>);

impl MakeTls {
    pub(crate) fn of(target: &ConnectTarget) -> Result<MakeTls, Fault> {
        let failed = |error: rustls::Error| Fault::unavailable("preparing TLS", error);
        let builder = ordo_tls::client().map_err(failed)?;
        let builder = match (target.tls, &target.root) {
            (Tls::Disable | Tls::Prefer | Tls::Require, _) => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(ordo_tls::provider())))
            }
            (Tls::VerifyFull, Some(path)) => builder.with_root_certificates(roots(path)?),
            (Tls::VerifyFull, None) => builder.with_platform_verifier().map_err(failed)?,
        };
        let config = match &target.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                builder.with_client_auth_cert(chain(certificate)?, private_key(key)?).map_err(failed)?
            }
        };
        Ok(MakeTls(Arc::new(config)))
    }
}

/// The certificate by which the server knows us, with those that vouch for it.
fn chain(path: &str) -> Result<Vec<CertificateDer<'static>>, Fault> {
    let unreadable = |error: String| Fault::unavailable("reading sslcert", format!("{path}: {error}"));
    let found = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))?;
    let found: Result<Vec<_>, _> = found.collect();
    match found.map_err(|error| unreadable(error.to_string()))? {
        chain if chain.is_empty() => Err(unreadable("no certificate in it".to_owned())),
        chain => Ok(chain),
    }
}

fn private_key(path: &str) -> Result<PrivateKeyDer<'static>, Fault> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| Fault::unavailable("reading sslkey", format!("{path}: {error}")))
}

fn roots(path: &str) -> Result<RootCertStore, Fault> {
    let unreadable = |error: String| Fault::unavailable("reading sslrootcert", format!("{path}: {error}"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))? {
        let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(unreadable("no certificate in it".to_owned())),
        false => Ok(roots),
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for MakeTls {
    type Stream = Encrypted<S>;
    type TlsConnect = Connect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Connect> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Connect { config: self.0.clone(), name })
    }
}

pub(crate) struct Connect {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Connect {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            TlsConnector::from(self.config).connect(self.name, stream).await.map(|stream| Encrypted(Box::new(stream)))
        })
    }
}

pub(crate) struct Encrypted<S>(Box<TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> PostgresTls for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// Believes every certificate, but not a handshake that its key did not sign.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
