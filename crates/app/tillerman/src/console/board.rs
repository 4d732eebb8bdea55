//! What is on the screen: the flow of text, and below it, as long as they are needed, what is waited for, the lines that
//! wait and the line that is typed. Pure: everything returns what has to be written. The rows below are taken away before
//! anything else is written and drawn again behind it, so nothing of them stays in the scrollback.

use std::time::Instant;

use unicode_width::UnicodeWidthChar;

use super::flow::Flow;
use super::keys::Key;
use super::typing::{Heard, Typing};
use super::waiting::{FRAME, Waiting, fit};
use crate::terminal::{CHOICES, Paint, Size, Want};

/// Waiting lines that are shown; the rest is counted.
const QUEUE_ROWS: usize = 3;
/// Rows of the screen that a long line leaves to everything else.
const ROWS_SPARE: usize = 4;
/// In front of the further rows of a text of several lines.
const GOES_ON: &str = "… ";
/// Clears the screen and goes to its first cell.
const CLEAR: &str = "\x1b[H\x1b[2J";

pub(super) struct Board {
    pub(super) typing: Typing,
    paint: Paint,
    /// The screen can be drawn on; otherwise everything is said once, in lines.
    draws: bool,
    flow: Flow,
    waiting: Option<Waiting>,
    /// What is waited for was said in a line.
    announced: bool,
    /// Nobody looks: nothing is drawn below the flow.
    pub(super) behind: bool,
    /// Somebody else writes to this screen: nothing moves on it any more.
    still: bool,
    /// When it was drawn last.
    drawn_at: Option<Instant>,
    /// What stands between the end of the flow and the cursor, while something is drawn below the flow.
    drawn: Option<Drawn>,
}

/// A terminal that becomes narrower breaks long rows, so that more rows have to be taken away than were drawn.
struct Drawn {
    /// How wide each row above the cursor is.
    above: Vec<usize>,
    col: usize,
}

impl Drawn {
    /// Rows from the cursor up to the end of the flow on a screen of this width.
    fn rows(&self, cols: usize) -> usize {
        let cols = cols.max(1);
        self.above.iter().map(|width| width.div_ceil(cols).max(1)).sum::<usize>() + self.col / cols
    }
}

/// Rows below the flow, and where the cursor goes in them.
struct Rows {
    rows: Vec<String>,
    cursor: Option<(usize, usize)>,
}

impl Board {
    pub(super) fn new(paint: Paint, draws: bool) -> Self {
        Self {
            typing: Typing::default(),
            paint,
            draws,
            flow: Flow::default(),
            waiting: None,
            announced: false,
            behind: false,
            still: false,
            drawn_at: None,
            drawn: None,
        }
    }

    /// More of the conversation.
    pub(super) fn text(&mut self, text: &str, now: Instant, size: Size) -> String {
        let mut out = self.hide(size);
        self.flow.push(text, size.cols, &mut out);
        self.draw(now, size, &mut out);
        out
    }

    /// Somebody else ended the line.
    pub(super) fn line_ended(&mut self) {
        self.flow.ended();
    }

    /// Takes everything away that is drawn below the flow, for somebody else who writes.
    pub(super) fn hide(&mut self, size: Size) -> String {
        self.flow.resized(size.cols);
        match self.drawn.take().map(|drawn| drawn.rows(size.cols)) {
            None => String::new(),
            Some(0) => format!("{}\x1b[J", to_col(self.flow.col())),
            Some(rows) => format!("\x1b[{rows}A{}\x1b[J", to_col(self.flow.col())),
        }
    }

    /// Somebody else writes to this screen from now on.
    pub(super) fn shared(&mut self, size: Size) -> String {
        self.still = true;
        self.waiting = None;
        self.hide(size)
    }

    /// `None`: for nothing any more.
    pub(super) fn waits(&mut self, what: Option<&str>, now: Instant, size: Size) -> String {
        let Some(what) = what else {
            self.waiting = None;
            return self.redrawn(now, size);
        };
        // Who waits for something else asks nothing.
        self.typing.unwanted();
        if self.still {
            return self.redrawn(now, size);
        }
        if self.waiting.as_ref().is_none_or(|waiting| !waiting.is_for(what)) {
            let follows = self.waiting.as_ref().is_some_and(|waiting| waiting.is_noticed(now));
            self.waiting = Some(Waiting::new(what, now, follows));
            self.announced = false;
        }
        self.redrawn(now, size)
    }

    /// Whether time alone changes what is shown.
    pub(super) fn moves(&self) -> bool {
        self.waiting.is_some()
    }

    /// Whether it shows another picture by now.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let stands = |at: Instant| now.saturating_duration_since(at) < FRAME;
        self.waiting.is_some() && !self.drawn_at.is_some_and(stands)
    }

    pub(super) fn redrawn(&mut self, now: Instant, size: Size) -> String {
        let mut out = self.hide(size);
        self.draw(now, size, &mut out);
        out
    }

    /// The conversation wants a line.
    pub(super) fn wanted(&mut self, want: Want, now: Instant, size: Size) -> (Heard, String) {
        self.waiting = None;
        let heard = self.typing.wanted(want);
        self.settle(heard, now, size)
    }

    pub(super) fn key(&mut self, key: Key, now: Instant, size: Size) -> (Heard, String) {
        let heard = self.typing.key(key);
        self.settle(heard, now, size)
    }

    /// An open question is explained once more.
    pub(super) fn asked_again(&mut self, now: Instant, size: Size) -> (Heard, String) {
        let heard = self.typing.asked_again();
        self.settle(heard, now, size)
    }

    pub(super) fn interrupted(&mut self, now: Instant, size: Size) -> (Heard, String) {
        let heard = self.typing.interrupted();
        self.settle(heard, now, size)
    }

    /// A line that was taken becomes part of the flow.
    fn settle(&mut self, heard: Heard, now: Instant, size: Size) -> (Heard, String) {
        let mut out = self.hide(size);
        match &heard {
            Heard::Line { want, text } => {
                let text = text.replace('\n', &format!("\n{GOES_ON}"));
                self.flow.push(&format!("{}{text}\n", prompt_of(*want)), size.cols, &mut out);
            }
            Heard::End => self.typing.want = None,
            Heard::ClearScreen => {
                out.push_str(CLEAR);
                self.flow.ended();
            }
            Heard::Nothing | Heard::Interrupt => {}
        }
        self.draw(now, size, &mut out);
        (heard, out)
    }

    fn draw(&mut self, now: Instant, size: Size, out: &mut String) {
        self.drawn_at = Some(now);
        if self.behind {
            return;
        }
        if !self.draws {
            return self.announce(now, size, out);
        }
        let Rows { rows, cursor } = self.rows(now, size);
        // Behind the last column there is no place to come back to.
        if rows.is_empty() || self.flow.col() >= size.cols {
            return;
        }
        let below = usize::from(self.flow.col() > 0);
        if below > 0 {
            out.push('\n');
        }
        out.push_str(&rows.join("\n"));
        let last = rows.len() - 1 + below;
        let (row, col) = cursor.map_or((0, self.flow.col()), |(row, col)| (row + below, col));
        if last > row {
            out.push_str(&format!("\x1b[{}A", last - row));
        }
        out.push_str(&to_col(col));
        let mut above = vec![0; below.min(row)];
        above.extend(rows.iter().take(row.saturating_sub(below)).map(|row| width_of(row)));
        self.drawn = Some(Drawn { above, col });
    }

    fn announce(&mut self, now: Instant, size: Size, out: &mut String) {
        let due = |waiting: &&Waiting| waiting.is_noticed(now) && !self.announced && self.flow.col() == 0;
        if let Some(line) = self.waiting.as_ref().filter(due).map(Waiting::line) {
            self.announced = true;
            self.flow.push(&format!("{line}\n"), size.cols, out);
        }
    }

    fn rows(&self, now: Instant, size: Size) -> Rows {
        let mut rows = Vec::new();
        let cols = size.cols.saturating_sub(1).max(1);
        let dim = |row: &str| self.paint.dim(&fit(row, cols));
        if let Some(waiting) = self.waiting.as_ref().filter(|waiting| waiting.is_noticed(now)) {
            rows.push(dim(&waiting.row(now, cols)));
        }
        let queue = &self.typing.queue;
        for (at, line) in queue.iter().take(QUEUE_ROWS).enumerate() {
            let line = line.replace('\n', " ");
            let how = if at + 1 == queue.len() && !self.typing.asked() { " · Up takes it back" } else { "" };
            let row = format!("queued: {line}");
            rows.push(dim(if row.chars().count() + how.len() < cols { format!("{row}{how}") } else { row }.as_str()));
        }
        if let more @ 1.. = queue.len().saturating_sub(QUEUE_ROWS) {
            let how = if self.typing.asked() { "" } else { " · Up takes the last one back" };
            rows.push(dim(&format!("queued: {more} more{how}")));
        }
        let cursor = self.input(size, cols, &mut rows);
        if let Some(menu) = &self.typing.menu {
            let words = menu.words.iter().map(|word| word.trim_end()).collect::<Vec<_>>().join("  ");
            rows.push(dim(&words));
        }
        rows.extend(self.typing.hint.as_deref().map(dim));
        Rows { rows, cursor }
    }

    /// The line that is typed; where the cursor is in the rows.
    fn input(&self, size: Size, cols: usize, rows: &mut Vec<String>) -> Option<(usize, usize)> {
        let typing = &self.typing;
        let (prompt, line) = match (typing.want, &typing.search) {
            (Some(want @ (Want::Answer | Want::Line | Want::Choice)), _) => {
                (prompt_of(want).to_owned(), &typing.answer)
            }
            (_, Some(search)) => {
                let found = typing.found().unwrap_or_default().replace('\n', " ");
                let row = format!("search: {}▏{found}", search.part);
                rows.push(fit(&row, cols));
                let col = fit(&format!("search: {}", search.part), cols).chars().count();
                return Some((rows.len() - 1, col));
            }
            (Some(Want::Prompt), _) => (prompt_of(Want::Prompt).to_owned(), &typing.line),
            (None, _) if typing.line.is_empty() => return None,
            (None, _) => (prompt_of(Want::Prompt).to_owned(), &typing.line),
        };
        let (all, (row, col)) = laid(&prompt, line.text(), line.at(), cols);
        // The part of a long text that the cursor is in.
        let room = size.rows.saturating_sub(ROWS_SPARE).max(1);
        let from = row.saturating_sub(room - 1);
        let cursor = (rows.len() + row - from, col);
        rows.extend(all.into_iter().skip(from).take(room));
        Some(cursor)
    }
}

/// What is shown in front of the cursor.
pub(super) fn prompt_of(want: Want) -> &'static str {
    match want {
        Want::Prompt => "> ",
        Want::Answer => CHOICES,
        Want::Line => ": ",
        Want::Choice => "your choice (a number, y, n, ? for more): ",
    }
}

/// Columns of a row, without the colours in it.
fn width_of(row: &str) -> usize {
    let mut escape = false;
    let visible = row.chars().filter(|c| {
        let hidden = escape || *c == '\x1b';
        escape = hidden && !c.is_ascii_alphabetic();
        !hidden
    });
    visible.map(|c| c.width().unwrap_or(0)).sum()
}

fn to_col(col: usize) -> String {
    format!("\x1b[{}G", col + 1)
}

/// A text in rows of at most `cols` columns, and where the byte `at` is in them.
fn laid(prompt: &str, text: &str, at: usize, cols: usize) -> (Vec<String>, (usize, usize)) {
    let (mut rows, mut row, mut used) = (Vec::new(), String::new(), 0);
    let mut cursor = None;
    let letters = prompt.chars().map(|c| (None, c)).chain(text.char_indices().map(|(at, c)| (Some(at), c)));
    for (byte, c) in letters {
        let width = if c == '\n' { 0 } else { c.width().unwrap_or(0) };
        if used + width > cols {
            rows.push(std::mem::take(&mut row));
            used = 0;
        }
        if byte == Some(at) {
            cursor = Some((rows.len(), used));
        }
        match c {
            '\n' => {
                rows.push(std::mem::replace(&mut row, GOES_ON.to_owned()));
                used = GOES_ON.chars().count();
            }
            c => {
                row.push(c);
                used += width;
            }
        }
    }
    let end = (rows.len(), used);
    rows.push(row);
    (rows, cursor.unwrap_or(end))
}

#[cfg(test)]
mod tests;
