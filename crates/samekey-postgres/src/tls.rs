//! TLS to the database, by rustls.
//!
//! `require` in libpq means "encrypt", not "know who answers"; people rely on that with self-signed servers. We keep the
//! meaning: who wants the server's name checked says `verify-full`.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use samekey_core::{Effect, StoreError};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Who the server must prove to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verification {
    /// Anybody: encrypted all the same.
    Nobody,
    /// The host of the URL, by a certificate that the system trusts.
    SystemRoots,
    /// The host of the URL, by a certificate that leads to one in this PEM file.
    RootFile(PathBuf),
}

impl Verification {
    /// The driver's connector; whether it is used at all, `sslmode` says.
    pub(crate) fn connector(&self) -> Result<MakeRustlsConnect, StoreError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("the ring provider knows the default versions");
        let config = match self {
            Self::Nobody => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
                .with_no_client_auth(),
            Self::SystemRoots => builder.with_root_certificates(system_roots()).with_no_client_auth(),
            Self::RootFile(file) => builder.with_root_certificates(roots_of(file)?).with_no_client_auth(),
        };
        Ok(MakeRustlsConnect::new(config))
    }
}

fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn roots_of(file: &PathBuf) -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    let unreadable = |why: String| StoreError::Away {
        effect: Effect::NotApplied,
        source: format!("sslrootcert {}: {why}", file.display()).into(),
    };
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| unreadable(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unreadable("it holds no certificate".to_owned()));
    }
    Ok(roots)
}

/// Checks that the server holds the key of the certificate it showed, and not whose certificate that is.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
