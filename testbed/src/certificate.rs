//! Certificates for servers on loopback.
//!
//! A self-signed server certificate would not do: rustls refuses a certificate that is an authority and a server at
//! once. So an authority is made that signs one server certificate for `localhost` and `127.0.0.1`, and a client is
//! told to trust the authority.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::run::run;

/// Said in a file, since older `openssl` and LibreSSL do not know `-addext`.
const CONFIGURATION: &str = "\
[req]
distinguished_name = name
prompt = no
[name]
CN = testbed
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost, IP:127.0.0.1
";

/// The files of one server certificate.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The authority that a client must trust (PEM).
    pub authority: PathBuf,
    /// The server's certificate (PEM).
    pub certificate: PathBuf,
    /// The server's private key (PEM).
    pub key: PathBuf,
}

impl Certificate {
    /// Makes one in `folder`, by `openssl`. It is good for two days: long enough for any test, useless afterwards.
    ///
    /// # Errors
    /// [`Error::Io`] where there is no `openssl`, [`Error::Failed`] with its message.
    pub fn create(folder: &Path) -> Result<Self, Error> {
        std::fs::write(folder.join("openssl.cnf"), CONFIGURATION).map_err(Error::io("write openssl.cnf"))?;
        for request in ["authority", "server"] {
            new_key(folder, request)?;
        }
        openssl(
            folder,
            "req -x509 -new -key authority.key -config openssl.cnf -extensions authority -days 2 -out authority.pem",
        )?;
        openssl(folder, "req -new -key server.key -config openssl.cnf -out server.csr")?;
        openssl(
            folder,
            "x509 -req -in server.csr -CA authority.pem -CAkey authority.key -set_serial 2 -days 2 \
             -extfile openssl.cnf -extensions server -out server.pem",
        )?;
        let file = |name: &str| folder.join(name);
        Ok(Self {
            authority: file("authority.pem"),
            certificate: file("server.pem"),
            key: file("server.key"),
        })
    }
}

fn new_key(folder: &Path, owner: &str) -> Result<(), Error> {
    openssl(folder, &format!("ecparam -name prime256v1 -genkey -noout -out {owner}.pkcs1"))?;
    openssl(folder, &format!("pkcs8 -topk8 -nocrypt -in {owner}.pkcs1 -out {owner}.key"))
}

/// None of the arguments holds a space: the folder is where it runs, not an argument.
fn openssl(folder: &Path, arguments: &str) -> Result<(), Error> {
    let mut command = Command::new("openssl");
    run(command.current_dir(folder).args(arguments.split_whitespace())).map(drop)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    #[test]
    fn the_authority_vouches_for_the_server_by_address() {
        let folder = tempfile::tempdir().unwrap();
        let made = super::Certificate::create(folder.path()).unwrap();
        let mut verify = Command::new("openssl");
        verify.args(["verify", "-purpose", "sslserver", "-verify_ip", "127.0.0.1", "-CAfile"]);
        assert!(crate::run::run(verify.arg(&made.authority).arg(&made.certificate)).is_ok());
    }
}
