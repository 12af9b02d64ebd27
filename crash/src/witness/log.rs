//! The witness's log: a line per mail, on the disk before anybody is answered.
//!
//! Mails that come together share one fsync, for the harness must not be slower than what it tests.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

use anyhow::{Context, Result};

use crate::evidence::Mail;

/// One line, and where to say that it is on the disk.
type Entry = (Vec<u8>, SyncSender<()>);

#[derive(Debug)]
pub(super) struct Log {
    entries: Mutex<std::sync::mpsc::Sender<Entry>>,
}

impl Log {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).context("create the witness's log")?;
        let (entries, received) = channel();
        thread::spawn(move || {
            // A witness that cannot note has nothing to say: the harness sees it gone, and the trial is void.
            if write_in_groups(file, &received).is_err() {
                std::process::exit(1);
            }
        });
        Ok(Self { entries: Mutex::new(entries) })
    }

    /// Notes `mail`; returns once it is on the disk.
    pub(super) fn note(&self, mail: &Mail) -> Result<()> {
        let mut line = serde_json::to_vec(mail)?;
        line.push(b'\n');
        let (on_disk, noted) = sync_channel(1);
        let entries = self.entries.lock().expect("nobody panics while holding this lock").clone();
        entries.send((line, on_disk)).context("the log is closed")?;
        noted.recv().context("the log could not be written")
    }
}

fn write_in_groups(mut file: File, received: &Receiver<Entry>) -> io::Result<()> {
    while let Ok(first) = received.recv() {
        let group: Vec<Entry> = std::iter::once(first).chain(received.try_iter()).collect();
        let lines: Vec<u8> = group.iter().flat_map(|(line, _)| line).copied().collect();
        file.write_all(&lines)?;
        file.sync_data()?;
        for (_, on_disk) in group {
            // Whoever noted it may be gone; the note stays.
            let _ = on_disk.send(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Log;
    use crate::evidence::Mail;
    use crate::witness::read_log;

    #[test]
    fn what_was_noted_is_read_back_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("witness.log");
        let log = Log::create(&path).unwrap();
        let mail = |number: u32| Mail {
            message_id: format!("<{number}@example.org>"),
            recipient: "ada@example.org".to_owned(),
            subject: "a \"quoted\" line\u{2028}".to_owned(),
        };
        for number in 0..3 {
            log.note(&mail(number)).unwrap();
        }
        assert_eq!(read_log(&path).unwrap(), [mail(0), mail(1), mail(2)]);
    }
}
