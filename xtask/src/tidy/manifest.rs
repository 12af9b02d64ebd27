//! A `Cargo.toml`, read as far as the rules about crates need it: line by line, as everybody writes them.

/// One `key = value` line.
#[derive(Debug)]
struct Entry<'a> {
    section: &'a str,
    key: &'a str,
    value: &'a str,
    line: usize,
}

/// The manifest of one crate.
#[derive(Debug)]
pub(super) struct Manifest<'a> {
    pub(super) path: &'a str,
    entries: Vec<Entry<'a>>,
}

/// What a crate is built on; what only its tests use does not count.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency<'a> {
    pub(super) name: &'a str,
    pub(super) line: usize,
    pub(super) presence: Presence,
}

/// Whether a dependency is always there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Always,
    Optional,
}

impl<'a> Manifest<'a> {
    pub(super) fn read(path: &'a str, text: &'a str) -> Self {
        let mut section = "";
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = header.trim_matches(['[', ']', ' ']);
                entries.push(Entry { section, key: "", value: "", line: index + 1 });
            } else if !line.starts_with('#')
                && let Some((key, value)) = line.split_once('=')
            {
                entries.push(Entry { section, key: key.trim(), value: value.trim(), line: index + 1 });
            }
        }
        Self { path, entries }
    }

    /// The crate's name; a workspace without a crate has none.
    pub(super) fn name(&self) -> Option<&'a str> {
        Some(self.value("package", "name")?.trim_matches('"'))
    }

    /// The value of `key`, or of `key.workspace`.
    pub(super) fn value(&self, section: &str, key: &str) -> Option<&'a str> {
        let is_key = |entry: &&Entry<'_>| {
            entry.section == section
                && (entry.key == key || entry.key.strip_suffix(".workspace") == Some(key))
        };
        self.entries.iter().find(is_key).map(|entry| entry.value)
    }

    /// Of the sections `dependencies` and `build-dependencies`, under a target or not, in both spellings.
    pub(super) fn dependencies(&self) -> Vec<Dependency<'a>> {
        self.entries.iter().filter_map(|entry| self.dependency(entry)).collect()
    }

    fn dependency(&self, entry: &Entry<'a>) -> Option<Dependency<'a>> {
        let kinds = ["dependencies", "build-dependencies"];
        let section = entry.section.rsplit_once("'.").map_or(entry.section, |(_, rest)| rest);
        let is_optional = |entry: &Entry<'_>| entry.value.replace(' ', "").contains("optional=true");
        let (name, optional) = match section.split_once('.') {
            // [dependencies.name]
            Some((kind, name)) if kinds.contains(&kind) && entry.key.is_empty() => {
                (name, self.value(entry.section, "optional") == Some("true"))
            }
            None if kinds.contains(&section) && !entry.key.is_empty() => {
                (entry.key.split('.').next()?.trim_matches('"'), is_optional(entry))
            }
            _ => return None,
        };
        let presence = if optional { Presence::Optional } else { Presence::Always };
        Some(Dependency { name, line: entry.line, presence })
    }
}

#[cfg(test)]
mod tests {
    use super::{Dependency, Manifest, Presence};

    #[test]
    fn dependencies_are_found_in_every_spelling() {
        let text = "[package]\nname = \"a\"\nlicense.workspace = true\n[dependencies]\nb.workspace = true\n# c = 1\n\
                    d = { version = \"1\", optional = true }\n[dev-dependencies]\ne = \"1\"\n\
                    [target.'cfg(unix)'.dependencies]\nf = \"1\"\n[dependencies.g]\nversion = \"1\"\noptional = true\n";
        let manifest = Manifest::read("a/Cargo.toml", text);
        let dependency = |name, line, presence| Dependency { name, line, presence };
        assert_eq!(
            manifest.dependencies(),
            [
                dependency("b", 5, Presence::Always),
                dependency("d", 7, Presence::Optional),
                dependency("f", 11, Presence::Always),
                dependency("g", 12, Presence::Optional),
            ]
        );
        assert_eq!((manifest.name(), manifest.value("package", "license")), (Some("a"), Some("true")));
    }
}
