//! What a script printed, as much of it as anybody reads.

const MOST_LINES: usize = 1000;
const MOST_BYTES: usize = 64 << 10;

#[derive(Default)]
pub(super) struct Printed {
    lines: Vec<String>,
    bytes: usize,
    dropped: usize,
}

impl Printed {
    pub(super) fn add(&mut self, line: &[u8]) {
        self.bytes = self.bytes.saturating_add(line.len());
        if self.dropped > 0 || self.lines.len() >= MOST_LINES || self.bytes > MOST_BYTES {
            self.dropped += 1;
        } else {
            self.lines.push(String::from_utf8_lossy(line).into_owned());
        }
    }

    pub(super) fn into_lines(mut self) -> Vec<String> {
        match self.dropped {
            0 => {}
            1 => self.lines.push("… and 1 line more".to_owned()),
            dropped => self.lines.push(format!("… and {dropped} lines more")),
        }
        self.lines
    }
}
