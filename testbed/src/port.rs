//! A port that was free a moment ago.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// A loopback port that nothing listens on at this moment.
///
/// Nothing keeps it free: between this answer and its use another process may take it. Where a program can be told port
/// 0 and say which one it got, do that. This is for programs that cannot (PostgreSQL), and their starter must be ready
/// to try again with another port.
///
/// # Errors
/// The operating system's, when it has no port to give.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn the_port_can_be_taken() {
        let port = super::free_port().unwrap();
        assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok());
    }
}
