//! The Python environment in which the SMTP server of the tests runs.
//!
//! A real SMTP server is wanted that can be told to misbehave, and the one that can lives on PyPI. It is installed once
//! into the target folder, with every version pinned: nothing is installed into the system, and `cargo clean` removes it.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::run::run;

const REQUIREMENTS: &str = include_str!("../requirements.txt");

/// An interpreter that has what `requirements.txt` lists.
#[derive(Clone, Debug)]
pub struct Python {
    interpreter: PathBuf,
}

impl Python {
    /// The environment under the target folder; created by the first caller, while others that come meanwhile wait.
    ///
    /// # Errors
    /// [`Error::Missing`] without Python, [`Error::Failed`] with what `venv` or `pip` says.
    pub fn prepare() -> Result<Self, Error> {
        Self::prepare_in(&target_folder()?)
    }

    fn prepare_in(target: &Path) -> Result<Self, Error> {
        let folder = target.join("testbed-venv");
        let python = Self { interpreter: folder.join("bin/python") };
        if python.is_complete(&folder) {
            return Ok(python);
        }
        let lock =
            File::create(target.join("testbed-venv.lock")).map_err(Error::io("create the lock file"))?;
        lock.lock().map_err(Error::io("wait for the lock file"))?;
        if !python.is_complete(&folder) {
            python.create(&folder)?;
        }
        Ok(python)
    }

    /// The stamp is written last and holds what was installed: a half-made or older environment is made anew. The
    /// interpreter is looked at too, for it is a link into the system, which may have been upgraded.
    fn is_complete(&self, folder: &Path) -> bool {
        let installed = fs::read_to_string(folder.join("installed")).unwrap_or_default();
        installed == REQUIREMENTS && self.interpreter.is_file()
    }

    fn create(&self, folder: &Path) -> Result<(), Error> {
        let venv = run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder));
        match venv {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                let advice = "install python3 and python3-venv, or let `cargo xtask test` install them";
                return Err(Error::Missing { what: "python3", advice });
            }
            outcome => outcome?,
        };
        let list = folder.join("requirements.txt");
        fs::write(&list, REQUIREMENTS).map_err(Error::io("write requirements.txt"))?;
        let mut pip = Command::new(&self.interpreter);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&list);
        run(&mut pip)?;
        fs::write(folder.join("installed"), REQUIREMENTS).map_err(Error::io("write the stamp"))
    }

    /// A command that runs `script` in the environment, undisturbed by our own `PYTHON…` variables.
    #[must_use]
    pub fn command(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.interpreter);
        command.args(["-I", "-u"]).arg(script);
        command
    }
}

/// The running program lies below it, whatever `CARGO_TARGET_DIR` was at its build.
fn target_folder() -> Result<PathBuf, Error> {
    let program = std::env::current_exe().map_err(Error::io("find the running program"))?;
    let profile = program.ancestors().find(|folder| folder.ends_with("debug") || folder.ends_with("release"));
    Ok(profile.and_then(Path::parent).map_or_else(std::env::temp_dir, Path::to_owned))
}
