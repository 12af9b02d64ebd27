//! A watch that stops a part when we die without stopping it.
//!
//! `Drop` does not run when a test is killed by its runner's time limit, by Ctrl-C or by the kernel. What it started
//! would stay behind, hold its port and its memory, and spoil the next run. A death signal from the kernel is Linux's
//! alone, needs `unsafe`, and fires when the *thread* that started the part ends. So a shell waits beside each part,
//! reading from a pipe whose other end only we hold: when that end closes without a word we are dead, and the shell
//! stops the part and removes its folders.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// `$1` signal, `$2` process, then the folders. The pause is bounded, for in a container without an init the dead
/// process stays visible for ever.
const SCRIPT: &str = r#"
read -r word && exit 0
kill -s "$1" "$2" 2>/dev/null
turns=0
while kill -0 "$2" 2>/dev/null && [ $turns -lt 100 ]; do turns=$((turns + 1)); sleep 0.1; done
kill -s KILL "$2" 2>/dev/null
shift 2
rm -rf -- "$@"
"#;

/// The shell that waits. Dropped without [`DeathWatch::stand_down`] it acts, as if we had died.
#[derive(Debug)]
pub(crate) struct DeathWatch {
    shell: Child,
}

impl DeathWatch {
    /// Watches over `pid`: at our death it gets `signal` (a name as `kill -s` takes it), and `folders` are removed.
    pub(crate) fn over(pid: u32, signal: &str, folders: &[&Path]) -> io::Result<Self> {
        let shell = Command::new("sh")
            .args(["-c", SCRIPT, "death-watch", signal, &pid.to_string()])
            .args(folders)
            .stdin(Stdio::piped())
            // Anything inherited would keep our caller's pipes open after our death.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C goes to our whole process group and must not take the watch along.
            .process_group(0)
            .spawn()?;
        Ok(Self { shell })
    }

    /// The part has ended: its process number may soon belong to somebody else, so the watch ends too.
    pub(crate) fn stand_down(mut self) {
        if let Some(mut pipe) = self.shell.stdin.take() {
            // A watch that is gone already needs no word.
            let _ = pipe.write_all(b"done\n");
        }
    }
}

impl Drop for DeathWatch {
    fn drop(&mut self) {
        self.shell.stdin.take();
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::DeathWatch;

    #[test]
    fn a_closed_pipe_kills_and_cleans() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        std::fs::create_dir(&kept).unwrap();
        let mut sleeper = Command::new("sleep").arg("600").spawn().unwrap();

        let watch = DeathWatch::over(sleeper.id(), "KILL", &[&kept]).unwrap();
        let reaper = std::thread::spawn(move || sleeper.wait().unwrap());
        drop(watch);

        assert_eq!(reaper.join().unwrap().signal(), Some(9));
        assert!(!kept.exists());
    }

    #[test]
    fn a_watch_that_stands_down_leaves_the_process_alone() {
        let mut reader = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        DeathWatch::over(reader.id(), "KILL", &[]).unwrap().stand_down();
        drop(reader.stdin.take());
        assert!(reader.wait().unwrap().success());
    }
}
