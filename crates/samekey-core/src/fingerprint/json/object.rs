//! The members of an object that is being written, sorted when it closes.

use std::ops::Range;

/// An open object: where it lies in the output, and its members so far.
pub(super) struct Object {
    /// Just behind the opening brace, in the output.
    content: usize,
    /// Where this object's names begin, in the buffer of names.
    names: usize,
    members: Vec<Member>,
}

struct Member {
    name: Range<usize>,
    /// `"name":value` in the output; empty for a member that was left out.
    written: Range<usize>,
}

impl Object {
    pub(super) fn starting_at(content: usize, names: usize) -> Self {
        Self { content, names, members: Vec::new() }
    }

    pub(super) fn begin_member(&mut self, out: usize, names: usize) {
        self.members.push(Member { name: names..names, written: out..out });
    }

    pub(super) fn end_name(&mut self, names: usize) {
        if let Some(member) = self.members.last_mut() {
            member.name.end = names;
        }
    }

    /// The value of the last member has been written.
    pub(super) fn end_member(&mut self, out: &mut Vec<u8>, left_out: bool) {
        let Some(member) = self.members.last_mut() else { return };
        if left_out {
            out.truncate(member.written.start);
        }
        member.written.end = out.len();
    }

    /// The unescaped name of the member that is being read.
    pub(super) fn current_name<'n>(&self, names: &'n [u8]) -> &'n [u8] {
        self.members.last().map_or(&[], |member| &names[member.name.clone()])
    }

    /// Sorts the members in the output and closes the brace; `None` where two of them bear one name.
    pub(super) fn close(mut self, out: &mut Vec<u8>, names: &mut Vec<u8>) -> Option<()> {
        self.members.sort_by(|a, b| names[a.name.clone()].cmp(&names[b.name.clone()]));
        if self.members.windows(2).any(|pair| names[pair[0].name.clone()] == names[pair[1].name.clone()]) {
            return None;
        }
        let content = out.split_off(self.content);
        for member in self.members.iter().filter(|member| !member.written.is_empty()) {
            if out.len() > self.content {
                out.push(b',');
            }
            out.extend_from_slice(
                &content[member.written.start - self.content..member.written.end - self.content],
            );
        }
        out.push(b'}');
        names.truncate(self.names);
        Some(())
    }
}
