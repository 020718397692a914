//! What of a page fits: whole pieces, the most important first, in the order of the page.

use std::collections::BTreeSet;

/// What a piece is, for those who are told that it was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A row of the list of all releases.
    Row,
    /// A finding.
    Finding,
    /// The table of a release.
    Table,
    /// The diff of one object.
    Diff,
}

/// A part of the page that is there whole or not at all.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    /// Smaller ones are taken first.
    pub(super) rank: u8,
    pub(super) text: String,
    /// What it is called when it is left out.
    pub(super) name: String,
    /// The group that it stands in.
    pub(super) group: Option<usize>,
    /// The piece without which it says nothing.
    pub(super) needs: Option<usize>,
}

/// What stands around neighbouring pieces, where one of them is there.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) open: String,
    pub(super) close: String,
}

/// The pieces of a page in their order.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) pieces: Vec<Piece>,
    pub(super) groups: Vec<Group>,
}

impl Piece {
    /// Whether the text was too long to be kept, so that the part cannot be there.
    pub(super) fn is_dropped(&self) -> bool {
        self.text.is_empty()
    }
}

impl Page {
    /// Adds a group; pieces added next may name it.
    pub(super) fn group(&mut self, open: String, close: &str) -> usize {
        self.groups.push(Group { open, close: close.to_owned() });
        self.groups.len() - 1
    }

    /// Returns the indices of the pieces that fit into so many bytes. No kind but tables and diffs takes more than a third
    /// of the room from the others.
    pub(super) fn fitting(&self, room: usize) -> BTreeSet<usize> {
        let mut order: Vec<usize> = (0..self.pieces.len()).collect();
        order.sort_by_key(|index| self.pieces[*index].rank);
        let (mut taken, mut opened, mut used) = (BTreeSet::new(), BTreeSet::new(), 0);
        for is_capped in [true, false] {
            let mut by_kind = [0; 4];
            for index in &order {
                let piece = &self.pieces[*index];
                let around = piece.group.filter(|group| !opened.contains(group)).map_or(0, |group| self.groups[group].length());
                let size = piece.text.len() + around;
                let cap = match piece.kind {
                    Kind::Row | Kind::Finding if is_capped => room / 3,
                    Kind::Row | Kind::Finding | Kind::Table | Kind::Diff => room,
                };
                let of_kind = &mut by_kind[piece.kind as usize];
                let is_wanted = !piece.is_dropped() && !taken.contains(index) && piece.needs.is_none_or(|needs| taken.contains(&needs));
                if is_wanted && used + size <= room && *of_kind + size <= cap {
                    taken.insert(*index);
                    opened.extend(piece.group);
                    used += size;
                    *of_kind += size;
                }
            }
        }
        taken
    }

    /// Returns the text of these pieces.
    pub(super) fn text(&self, taken: &BTreeSet<usize>) -> String {
        let (mut text, mut open) = (String::new(), None);
        for index in taken {
            let piece = &self.pieces[*index];
            if open != piece.group {
                self.close(&mut text, open);
                text.extend(piece.group.map(|group| self.groups[group].open.as_str()));
                open = piece.group;
            }
            text.push_str(&piece.text);
        }
        self.close(&mut text, open);
        text
    }

    fn close(&self, text: &mut String, open: Option<usize>) {
        text.extend(open.map(|group| self.groups[group].close.as_str()));
    }
}

impl Group {
    fn length(&self) -> usize {
        self.open.len() + self.close.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(kind: Kind, rank: u8, length: usize) -> Piece {
        Piece { kind, rank, text: "x".repeat(length), name: String::new(), group: None, needs: None }
    }

    fn fitting(pieces: Vec<Piece>, room: usize) -> Vec<usize> {
        let page = Page { pieces, groups: Vec::new() };
        let taken = page.fitting(room);
        assert!(page.text(&taken).len() <= room);
        taken.into_iter().collect()
    }

    #[test]
    fn what_does_not_fit_makes_room_for_what_does() {
        let pieces = vec![piece(Kind::Diff, 5, 50), piece(Kind::Diff, 5, 2_000_000), piece(Kind::Diff, 5, 40), piece(Kind::Table, 3, 10)];
        assert_eq!(fitting(pieces, 100), [0, 2, 3]);
    }

    #[test]
    fn many_findings_leave_room_for_a_table() {
        let mut pieces: Vec<Piece> = (0..100).map(|_| piece(Kind::Finding, 0, 10)).collect();
        pieces.push(piece(Kind::Table, 3, 40));
        let taken = fitting(pieces, 100);
        assert_eq!(taken, [0, 1, 2, 3, 4, 5, 100]);
    }

    #[test]
    fn a_diff_needs_its_table() {
        let mut diff = piece(Kind::Diff, 5, 10);
        diff.needs = Some(0);
        assert_eq!(fitting(vec![piece(Kind::Table, 3, 1_000), diff], 100), Vec::<usize>::new());
    }

    #[test]
    fn a_group_is_opened_and_closed_once_and_only_where_it_holds_something() {
        let mut page = Page::default();
        for (open, lengths) in [("<", [1, 2]), ("{", [500, 500])] {
            let group = page.group(open.to_owned(), ">");
            page.pieces.extend(lengths.map(|length| Piece { group: Some(group), ..piece(Kind::Diff, 5, length) }));
        }
        assert_eq!(page.text(&page.fitting(100)), "<xxx>");
    }
}
