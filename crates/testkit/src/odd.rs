//! Input that nobody meant: awkward strings for every text member, and lines of garbage. The same on every run.

/// Small seeded dice.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Pieces of JSON, and of what is none.
const BITS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u",
    "\\ud800",
    "null",
    "true",
    "1e999",
    "-0",
    "\u{2028}",
    "\u{0}",
    "\u{feff}",
    "\"type\":",
    "\"prompt\"",
    " ",
    "\t",
    "\r",
    "é",
    "\u{10ffff}",
];

/// One line: random bytes, pieces of JSON, or a good line that something happened to. `own` are more pieces, in the words
/// of the dialect.
pub fn garbage(dice: &mut Dice, good: &[&str], own: &[&str]) -> Vec<u8> {
    let bits: Vec<&str> = BITS.iter().chain(own).copied().collect();
    let mut line = match dice.below(4) {
        0 => (0..dice.below(40)).map(|_| dice.below(256) as u8).collect(),
        1 => (0..dice.below(12)).flat_map(|_| dice.pick(&bits).bytes()).collect(),
        _ => dice.pick(good).as_bytes().to_vec(),
    };
    for _ in 0..dice.below(4) {
        let at = dice.below(line.len() + 1);
        match dice.below(4) {
            0 => line.insert(at, dice.below(256) as u8),
            1 => line.truncate(at),
            2 if at < line.len() => drop(line.remove(at)),
            _ => drop(line.splice(at..at, dice.pick(&bits).bytes())),
        }
    }
    // The framing has cut at LF already.
    line.retain(|byte| *byte != b'\n');
    line
}

/// More than sixty strings that something somewhere stumbles over.
pub fn strings() -> Vec<String> {
    let mut all: Vec<String> = (0..0x20u8).map(|code| format!("a{}b", char::from(code))).collect();
    let more = [
        "\u{7f}",
        "\u{80}",
        "\u{85}",
        "\u{a0}",
        "\u{ad}",
        "\u{200b}",
        "\u{200e}",
        "\u{202e}",
        "\u{2028}",
        "\u{2029}",
        "\u{feff}",
        "\u{fffd}",
        "\u{fffe}",
        "\u{ffff}",
        "\u{e000}",
        "\u{1f600}",
        "\u{10ffff}",
        "\"",
        "\\",
        "\\\\\"",
        "\\u0041",
        "\\ud800",
        "/",
        "</script>",
        "é",
        "e\u{301}",
        "👩‍👩‍👧",
        "日本語",
        "x\0y",
        "\r\n",
        "{\"type\":\"error\"}",
        "null",
        "%s%n",
        "'; --",
    ];
    all.extend(more.map(String::from));
    all.push("long ".repeat(5000));
    all
}
