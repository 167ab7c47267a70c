//! TLS against a real server with a certificate made here: what each mode accepts, and what it refuses; and passwords.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_store::conformance::given::{accept, item, job, version};
use ordo_store::{Fault, Store};
use ordo_store_postgres::testing::TestServer;
use ordo_store_postgres::{PostgresOptions, PostgresStore, is_away};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use tokio_postgres::NoTls;

/// An authority of its own, as a company has one, in a file that clients are given.
struct DatabaseAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl DatabaseAuthority {
    fn new() -> DatabaseAuthority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        DatabaseAuthority { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    /// The certificate of a server that is called so, and its key.
    fn certify(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn file(&self, folder: &TempDir, name: &str) -> String {
        let path = folder.path().join(name);
        std::fs::write(&path, self.issuer.pem()).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// A server that says it is called so, and its authority.
fn server_called(name: &str) -> (TempDir, TestServer, DatabaseAuthority) {
    let folder = tempfile::Builder::new().prefix("ordo-tls-").tempdir().unwrap();
    let authority = DatabaseAuthority::new();
    let (certificate, key) = authority.certify(name);
    let server = TestServer::start_with_tls(folder.path(), &certificate, &key);
    (folder, server, authority)
}

fn url(host: &str, server: &TestServer, options: &str) -> String {
    format!("postgres://ordo@{host}:{}/postgres?{options}", server.port())
}

async fn open(url: &str) -> Result<PostgresStore, Fault> {
    PostgresStore::open(url, PostgresOptions::default()).await
}

/// Opened, used, and found encrypted by the server itself.
async fn works_encrypted(server: &TestServer, url: &str) {
    let store = open(url).await.unwrap();
    let before = version(&store, job(1)).await;
    accept(&store, item(job(1), before)).await;
    assert_eq!(version(&store, job(1)).await, before + 1);
    let (client, connection) =
        tokio_postgres::connect(&self::url("127.0.0.1", server, "sslmode=disable"), NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let sql = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'ordo'";
    assert_eq!(client.query_one(sql, &[]).await.unwrap().get::<_, Option<bool>>(0), Some(true), "{url}");
    connection.abort();
    store.ping().await.unwrap();
}

/// Refused before anything is said, with a reason that names the certificate.
async fn is_refused(url: &str) {
    let fault = open(url).await.expect_err(url);
    let said = chain(&fault);
    assert!(matches!(fault, Fault::Unavailable { .. }) && !is_away(&fault), "{said}");
    assert!(said.to_lowercase().contains("certificate"), "{url}: {said}");
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_spoken_to_encrypted_and_must_prove_its_name_where_that_is_asked() {
    let (folder, server, authority) = server_called("localhost");
    let trusted = authority.file(&folder, "trusted.pem");
    let stranger = DatabaseAuthority::new().file(&folder, "stranger.pem");
    works_encrypted(&server, &url("localhost", &server, "sslmode=require")).await;
    works_encrypted(&server, &url("localhost", &server, "sslmode=prefer")).await;
    let verified = format!("sslmode=verify-full&sslrootcert={trusted}");
    works_encrypted(&server, &url("localhost", &server, &verified)).await;
    // The right authority, but another name than the one that was dialled.
    is_refused(&url("127.0.0.1", &server, &verified)).await;
    // The right name, but signed by somebody unknown: by our file, and by what the system trusts.
    is_refused(&url("localhost", &server, &format!("sslmode=verify-full&sslrootcert={stranger}"))).await;
    is_refused(&url("localhost", &server, "sslmode=verify-full")).await;
}

#[tokio::test]
async fn a_server_without_tls_is_refused_where_encryption_is_asked_for() {
    let server = TestServer::join();
    let plain = server.fresh_url();
    assert!(open(&plain).await.is_ok());
    assert!(open(&plain.replace("sslmode=disable", "sslmode=prefer")).await.is_ok());
    let fault = open(&plain.replace("sslmode=disable", "sslmode=require")).await.expect_err("it must be encrypted");
    assert!(chain(&fault).to_lowercase().contains("tls"), "{}", chain(&fault));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_proved_by_scram_and_a_wrong_one_is_refused_at_once() {
    let (_folder, server, _authority) = server_called("localhost");
    let (client, connection) =
        tokio_postgres::connect(&url("127.0.0.1", &server, "sslmode=disable"), NoTls).await.unwrap();
    tokio::spawn(connection);
    let rules = client.query_one("SELECT current_setting('hba_file')", &[]).await.unwrap().get::<_, String>(0);
    client
        .batch_execute(&format!(
            "SET password_encryption = 'scram-sha-256'; CREATE ROLE scram LOGIN PASSWORD 's3cret'; \
             CREATE SCHEMA scram AUTHORIZATION scram; \
             COPY (VALUES ('host all scram all scram-sha-256'), ('host all all all trust')) TO '{rules}'; \
             SELECT pg_reload_conf()"
        ))
        .await
        .unwrap();
    let as_scram = |password: &str, mode: &str| {
        let address = format!("postgres://scram:{password}@localhost:{}/postgres", server.port());
        format!("{address}?schema=scram&sslmode={mode}")
    };
    // The server reads its rules again a moment later.
    let refused = loop {
        match open(&as_scram("wrong", "disable")).await {
            Ok(_) => tokio::task::yield_now().await,
            Err(fault) => break fault,
        }
    };
    assert!(chain(&refused).contains("password authentication failed") && !is_away(&refused), "{}", chain(&refused));
    for mode in ["disable", "require"] {
        let store = open(&as_scram("s3cret", mode)).await.unwrap();
        let before = version(&store, job(1)).await;
        accept(&store, item(job(1), before)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_proves_who_we_are_and_without_it_the_server_refuses() {
    let (folder, server, authority) = server_called("localhost");
    let trusted = authority.file(&folder, "trusted.pem");
    let (client, connection) =
        tokio_postgres::connect(&url("127.0.0.1", &server, "sslmode=disable"), NoTls).await.unwrap();
    tokio::spawn(connection);
    let rules = client.query_one("SELECT current_setting('hba_file')", &[]).await.unwrap().get::<_, String>(0);
    client.batch_execute(&format!("ALTER SYSTEM SET ssl_ca_file = '{trusted}'")).await.unwrap();
    client
        .batch_execute(&format!(
            "CREATE ROLE certified LOGIN; CREATE SCHEMA certified AUTHORIZATION certified; \
             COPY (VALUES ('hostssl all certified all cert'), ('host all certified all reject'), ('host all all all trust')) \
             TO '{rules}'; SELECT pg_reload_conf()"
        ))
        .await
        .unwrap();
    let identity = |authority: &DatabaseAuthority, name: &str, file: &str| {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let certificate = params.signed_by(&key, &authority.issuer).unwrap();
        let paths = ["crt", "key"].map(|end| folder.path().join(format!("{file}.{end}")).to_str().unwrap().to_owned());
        std::fs::write(&paths[0], certificate.pem()).unwrap();
        std::fs::write(&paths[1], key.serialize_pem()).unwrap();
        format!("sslcert={}&sslkey={}", paths[0], paths[1])
    };
    let as_certified = |options: &str| {
        let address = format!("postgres://certified@localhost:{}/postgres?schema=certified", server.port());
        format!("{address}&sslmode=verify-full&sslrootcert={trusted}&{options}")
    };
    let right = identity(&authority, "certified", "right");
    // The server reads its rules again a moment later.
    let store = loop {
        match open(&as_certified(&right)).await {
            Ok(store) => break store,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    accept(&store, item(job(1), 0)).await;
    let refused = open(&as_certified("connect_timeout=5")).await.expect_err("nobody proved anything");
    assert!(chain(&refused).contains("certificate"), "{}", chain(&refused));
    let another = identity(&authority, "somebody", "another");
    let refused = open(&as_certified(&another)).await.expect_err("somebody else");
    assert!(chain(&refused).contains("certified"), "{}", chain(&refused));
    let stranger = identity(&DatabaseAuthority::new(), "certified", "stranger");
    let refused = open(&as_certified(&stranger)).await.expect_err("signed by somebody unknown");
    assert!(
        !is_away(&refused) || chain(&refused).contains("certificate") || chain(&refused).contains("alert"),
        "{}",
        chain(&refused)
    );
    let missing = open(&as_certified("sslcert=/nowhere.crt&sslkey=/nowhere.key")).await.expect_err("no such file");
    assert!(chain(&missing).contains("/nowhere.crt"), "{}", chain(&missing));
}
