//! Inputs made of others: bytes change, pieces go, come twice, come from elsewhere, and words of the language come in.

/// Longer inputs say nothing that shorter ones do not, and take longer.
const LONGEST: usize = 32 << 10;

/// Makes inputs, the same for the same seed and corpus.
pub(crate) struct Mutator<'a> {
    state: u64,
    corpus: &'a [Vec<u8>],
    words: &'a [&'a str],
}

impl<'a> Mutator<'a> {
    pub(crate) fn new(seed: u64, corpus: &'a [Vec<u8>], words: &'a [&'a str]) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, corpus, words }
    }

    /// A new input.
    pub(crate) fn input(&mut self) -> Vec<u8> {
        let mut input = self.seed().to_vec();
        for _ in 0..=self.below(6) {
            self.change(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let end = (at + 1 + self.below(40)).min(input.len());
        match self.below(9) {
            0 => {
                let bit = self.below(8);
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            1 => drop(input.drain(at.min(end)..end)),
            2 => {
                let piece = input[at.min(end)..end].to_vec();
                let times = 1 + self.below(3) * self.below(200);
                insert(input, at, &piece.repeat(times));
            }
            3 | 4 => {
                let word = self.words[self.below(self.words.len())].as_bytes();
                insert(input, at, word);
            }
            5 => {
                let word = self.words[self.below(self.words.len())].as_bytes();
                input.splice(at.min(end)..end, word.iter().copied());
            }
            6 => {
                let other = self.seed();
                let from = self.below(other.len() + 1);
                let to = (from + self.below(400)).min(other.len());
                insert(input, at, &other[from..to]);
            }
            7 => self.lines(input),
            _ => {
                let byte = u8::try_from(self.below(256)).unwrap_or(0);
                input.insert(at, byte);
            }
        }
    }

    /// A line goes, or stands elsewhere, or at another column.
    fn lines(&mut self, input: &mut Vec<u8>) {
        let mut lines: Vec<Vec<u8>> = input.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        if lines.is_empty() {
            return;
        }
        let (from, to) = (self.below(lines.len()), self.below(lines.len()));
        match self.below(4) {
            0 => drop(lines.remove(from)),
            1 => lines.swap(from, to),
            2 => lines[from].splice(0..0, vec![b' '; 2]).for_each(drop),
            _ => {
                let line = lines[from].clone();
                lines.insert(to, line);
            }
        }
        *input = lines.concat();
    }

    fn seed(&mut self) -> &'a [u8] {
        let corpus = self.corpus;
        &corpus[self.below(corpus.len())]
    }

    /// A number below `end`; 0 when that is 0.
    fn below(&mut self, end: usize) -> usize {
        // Xorshift, whose upper bits are the better ones.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 16).unwrap_or(0) % end.max(1)
    }
}

fn insert(input: &mut Vec<u8>, at: usize, piece: &[u8]) {
    let room = LONGEST.saturating_sub(input.len());
    input.splice(at..at, piece.iter().take(room).copied());
}
