//! Every relative link in the documents leads somewhere, anchors included.

use super::Finding;
use super::tree::{Text, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let broken = tree.ending(".md").flat_map(|file| {
        let links =
            prose(&file.text).flat_map(|(line, text)| targets(&text).into_iter().map(move |to| (line, to)));
        let broken =
            links.filter_map(|(line, to)| Some(Finding::new(&file.path, line, wrong_with(tree, file, &to)?)));
        broken.collect::<Vec<_>>()
    });
    broken.collect()
}

/// What is wrong with a link in `file` to `target`.
fn wrong_with(tree: &Tree, file: &Text, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { Some(file.path.clone()) } else { resolved(&file.path, path) };
    let Some(path) = path.filter(|path| tree.has(path)) else {
        return Some(format!("the link `{target}` leads nowhere: correct it, or remove it"));
    };
    let page = tree.text(&path).filter(|page| page.path.ends_with(".md"))?;
    let anchor = anchor.filter(|anchor| !headings(&page.text).any(|heading| heading == *anchor))?;
    Some(format!("`{path}` has no heading `#{anchor}`: correct the link"))
}

/// `link`, seen from the folder of `from`; nothing where it leaves the repository.
fn resolved(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The lines outside fenced code, numbered, without their code spans.
fn prose(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        let outside_spans: String = line.split('`').step_by(2).collect();
        (!fenced).then_some((index + 1, outside_spans))
    })
}

/// Of `[text](target "title")` and of `[name]: target`.
fn targets(line: &str) -> Vec<String> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let named = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
    let first = |target: &str| Some(target.split_whitespace().next()?.trim_matches(['<', '>']).to_owned());
    inline.chain(named).filter_map(first).collect()
}

/// The anchors of a page's headings, as GitHub makes them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let mut fenced = false;
    let headings = text.lines().filter(move |line| {
        fenced ^= line.trim_start().starts_with("```");
        !fenced && line.starts_with('#')
    });
    headings.map(|line| {
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        line.trim_start_matches('#')
            .trim()
            .to_lowercase()
            .chars()
            .filter(kept)
            .collect::<String>()
            .replace(' ', "-")
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::check;

    /// How many findings a page in `docs/` with this text has.
    fn findings(text: &str) -> usize {
        check(&Tree::of(&[("docs/a.md", text), ("docs/b.md", "# What it `is`: a\n"), ("src/lib.rs", "")]))
            .len()
    }

    #[test]
    fn broken_links_are_found() {
        for broken in ["[x](c.md)", "[x](../../outside.md)", "[x]: c.md", "[x](b.md#no-such)", "[x](#none)"] {
            assert_eq!(findings(broken), 1, "{broken}");
        }
    }

    #[test]
    fn good_links_and_code_are_left_alone() {
        for fine in [
            "[x](b.md), [y](../src/lib.rs \"title\"), [z](../src/)",
            "[x](b.md#what-it-is-a)",
            "# Here\n[x](#here)",
            "[x](https://example.org/c.md) [y](mailto:a@example.org)",
            "```\n[x](c.md)\n```\n`[x](c.md)`",
        ] {
            assert_eq!(findings(fine), 0, "{fine}");
        }
    }
}
