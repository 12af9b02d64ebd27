//! A folder as a mailbox: for trying things out, and for looking at what would have been sent.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes each mail as one `.eml` file.
#[derive(Clone, Debug)]
pub struct MailFolder(Arc<PathBuf>);

impl MailFolder {
    /// A folder; it is created where it is missing.
    ///
    /// # Errors
    /// The operating system's.
    pub fn create(folder: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        Ok(Self(Arc::new(folder)))
    }

    /// Writes `<name>.eml`, once: a file that is there already stays as it is.
    ///
    /// # Guarantees
    /// The file appears whole or not at all, and is on disk before this returns. A crash may leave a hidden temporary
    /// file; the next attempt overwrites it.
    pub(super) async fn write(&self, name: &str, bytes: Vec<u8>) -> io::Result<()> {
        let (folder, name) = (self.0.clone(), name.to_owned());
        let written = tokio::task::spawn_blocking(move || write_once(&folder, &name, &bytes));
        written.await.map_err(io::Error::other)?
    }
}

fn write_once(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let whole = folder.join(format!("{name}.eml"));
    let part = folder.join(format!(".{name}.part"));
    let mut file = File::create(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    // Unlike a rename, a link never takes the place of what is there.
    let linked = match fs::hard_link(&part, &whole) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    };
    fs::remove_file(&part)?;
    linked?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_is_written_once_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        write_once(folder.path(), "msg_1", b"first").unwrap();
        write_once(folder.path(), "msg_1", b"second").unwrap();
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["msg_1.eml"]);
        assert_eq!(fs::read(folder.path().join("msg_1.eml")).unwrap(), b"first");
    }
}
