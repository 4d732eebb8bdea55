//! What is on the screen: the text, and below it, as long as they are needed, what is waited for, the lines that
//! wait and the line that is typed. Pure: everything returns what has to be written. The rows below are taken away before
//! anything else is written and drawn again behind it, so nothing of them stays in the scrollback.

use std::time::Instant;

use unicode_width::UnicodeWidthChar;

use super::keys::KeyPress;
use super::line_editor::{KeyEffect, LineEditor};
use super::spinner::{FRAME, Spinner, fit};
use super::word_wrap::WordWrap;
use dialect_terminal::{CHOICES, Paint, ScreenSize, WantedLine};

/// Waiting lines that are shown; the rest is counted.
const QUEUE_ROWS: usize = 3;
/// Rows of the screen that a long line leaves to everything else.
const ROWS_SPARE: usize = 4;
/// In front of the further rows of a text of several lines.
const GOES_ON: &str = "… ";
/// Clears the screen and goes to its first cell.
const CLEAR: &str = "\x1b[H\x1b[2J";

pub(super) struct Screen {
    pub(super) editor: LineEditor,
    paint: Paint,
    /// The screen can be drawn on; otherwise everything is said once, in lines.
    draws: bool,
    wrap: WordWrap,
    spinner: Option<Spinner>,
    /// What is waited for was said in a line.
    announced: bool,
    /// Another process is in front of the terminal: nothing is drawn below the text.
    pub(super) behind: bool,
    /// Another program writes to this screen: nothing moves on it any more.
    still: bool,
    /// When it was drawn last.
    drawn_at: Option<Instant>,
    /// What stands between the end of the text and the cursor, while something is drawn below the text.
    drawn: Option<DrawnRows>,
}

/// A terminal that becomes narrower breaks long rows, so that more rows have to be taken away than were drawn.
struct DrawnRows {
    /// How wide each row above the cursor is.
    above: Vec<usize>,
    col: usize,
}

impl DrawnRows {
    /// Rows from the cursor up to the end of the text on a screen of this width.
    fn rows(&self, cols: usize) -> usize {
        let cols = cols.max(1);
        self.above.iter().map(|width| width.div_ceil(cols).max(1)).sum::<usize>() + self.col / cols
    }
}

/// Rows below the text, and where the cursor goes in them.
struct RowsBelow {
    rows: Vec<String>,
    cursor: Option<(usize, usize)>,
}

impl Screen {
    pub(super) fn new(paint: Paint, draws: bool) -> Self {
        Self {
            editor: LineEditor::default(),
            paint,
            draws,
            wrap: WordWrap::default(),
            spinner: None,
            announced: false,
            behind: false,
            still: false,
            drawn_at: None,
            drawn: None,
        }
    }

    /// More of the conversation.
    pub(super) fn text(&mut self, text: &str, now: Instant, size: ScreenSize) -> String {
        let mut out = self.hide(size);
        self.wrap.push(text, size.cols, &mut out);
        self.draw(now, size, &mut out);
        out
    }

    /// The terminal's own echo ended the line.
    pub(super) fn line_ended(&mut self) {
        self.wrap.ended();
    }

    /// Takes everything away that is drawn below the text, for another writer.
    pub(super) fn hide(&mut self, size: ScreenSize) -> String {
        self.wrap.resized(size.cols);
        match self.drawn.take().map(|drawn| drawn.rows(size.cols)) {
            None => String::new(),
            Some(0) => format!("{}\x1b[J", to_col(self.wrap.col())),
            Some(rows) => format!("\x1b[{rows}A{}\x1b[J", to_col(self.wrap.col())),
        }
    }

    /// Another program writes to this screen from now on.
    pub(super) fn shared(&mut self, size: ScreenSize) -> String {
        self.still = true;
        self.spinner = None;
        self.hide(size)
    }

    /// `None`: for nothing any more.
    pub(super) fn waits(&mut self, what: Option<&str>, now: Instant, size: ScreenSize) -> String {
        let Some(what) = what else {
            self.spinner = None;
            return self.redrawn(now, size);
        };
        // Who waits for something else asks nothing.
        self.editor.unwanted();
        if self.still {
            return self.redrawn(now, size);
        }
        if self.spinner.as_ref().is_none_or(|spinner| !spinner.is_for(what)) {
            let follows = self.spinner.as_ref().is_some_and(|spinner| spinner.is_noticed(now));
            self.spinner = Some(Spinner::new(what, now, follows));
            self.announced = false;
        }
        self.redrawn(now, size)
    }

    /// Whether time alone changes what is shown.
    pub(super) fn moves(&self) -> bool {
        self.spinner.is_some()
    }

    /// Whether it shows another picture by now.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let stands = |at: Instant| now.saturating_duration_since(at) < FRAME;
        self.spinner.is_some() && !self.drawn_at.is_some_and(stands)
    }

    pub(super) fn redrawn(&mut self, now: Instant, size: ScreenSize) -> String {
        let mut out = self.hide(size);
        self.draw(now, size, &mut out);
        out
    }

    /// The conversation wants a line.
    pub(super) fn wanted(&mut self, want: WantedLine, now: Instant, size: ScreenSize) -> (KeyEffect, String) {
        self.spinner = None;
        let effect = self.editor.wanted(want);
        self.settle(effect, now, size)
    }

    pub(super) fn key(&mut self, key: KeyPress, now: Instant, size: ScreenSize) -> (KeyEffect, String) {
        let effect = self.editor.key(key);
        self.settle(effect, now, size)
    }

    /// An open question is explained once more.
    pub(super) fn asked_again(&mut self, now: Instant, size: ScreenSize) -> (KeyEffect, String) {
        let effect = self.editor.asked_again();
        self.settle(effect, now, size)
    }

    pub(super) fn interrupted(&mut self, now: Instant, size: ScreenSize) -> (KeyEffect, String) {
        let effect = self.editor.interrupted();
        self.settle(effect, now, size)
    }

    /// A line that was taken becomes part of the text.
    fn settle(&mut self, effect: KeyEffect, now: Instant, size: ScreenSize) -> (KeyEffect, String) {
        let mut out = self.hide(size);
        match &effect {
            KeyEffect::Line { want, text } => {
                let text = text.replace('\n', &format!("\n{GOES_ON}"));
                self.wrap.push(&format!("{}{text}\n", prompt_of(*want)), size.cols, &mut out);
            }
            KeyEffect::End => self.editor.want = None,
            KeyEffect::ClearScreen => {
                out.push_str(CLEAR);
                self.wrap.ended();
            }
            KeyEffect::Nothing | KeyEffect::Interrupt => {}
        }
        self.draw(now, size, &mut out);
        (effect, out)
    }

    fn draw(&mut self, now: Instant, size: ScreenSize, out: &mut String) {
        self.drawn_at = Some(now);
        if self.behind {
            return;
        }
        if !self.draws {
            return self.announce(now, size, out);
        }
        let RowsBelow { rows, cursor } = self.rows(now, size);
        // Behind the last column there is no place to come back to.
        if rows.is_empty() || self.wrap.col() >= size.cols {
            return;
        }
        let below = usize::from(self.wrap.col() > 0);
        if below > 0 {
            out.push('\n');
        }
        out.push_str(&rows.join("\n"));
        let last = rows.len() - 1 + below;
        let (row, col) = cursor.map_or((0, self.wrap.col()), |(row, col)| (row + below, col));
        if last > row {
            out.push_str(&format!("\x1b[{}A", last - row));
        }
        out.push_str(&to_col(col));
        let mut above = vec![0; below.min(row)];
        above.extend(rows.iter().take(row.saturating_sub(below)).map(|row| width_of(row)));
        self.drawn = Some(DrawnRows { above, col });
    }

    fn announce(&mut self, now: Instant, size: ScreenSize, out: &mut String) {
        let due = |spinner: &&Spinner| spinner.is_noticed(now) && !self.announced && self.wrap.col() == 0;
        if let Some(line) = self.spinner.as_ref().filter(due).map(Spinner::line) {
            self.announced = true;
            self.wrap.push(&format!("{line}\n"), size.cols, out);
        }
    }

    fn rows(&self, now: Instant, size: ScreenSize) -> RowsBelow {
        let mut rows = Vec::new();
        let cols = size.cols.saturating_sub(1).max(1);
        let dim = |row: &str| self.paint.dim(&fit(row, cols));
        if let Some(spinner) = self.spinner.as_ref().filter(|spinner| spinner.is_noticed(now)) {
            rows.push(dim(&spinner.row(now, cols)));
        }
        let queue = &self.editor.queue;
        for (at, line) in queue.iter().take(QUEUE_ROWS).enumerate() {
            let line = line.replace('\n', " ");
            let how = if at + 1 == queue.len() && !self.editor.asked() { " · Up takes it back" } else { "" };
            let row = format!("queued: {line}");
            rows.push(dim(if row.chars().count() + how.len() < cols { format!("{row}{how}") } else { row }.as_str()));
        }
        if let more @ 1.. = queue.len().saturating_sub(QUEUE_ROWS) {
            let how = if self.editor.asked() { "" } else { " · Up takes the last one back" };
            rows.push(dim(&format!("queued: {more} more{how}")));
        }
        let cursor = self.input(size, cols, &mut rows);
        if let Some(menu) = &self.editor.menu {
            let words = menu.words.iter().map(|word| word.trim_end()).collect::<Vec<_>>().join("  ");
            rows.push(dim(&words));
        }
        rows.extend(self.editor.hint.as_deref().map(dim));
        RowsBelow { rows, cursor }
    }

    /// The line that is typed; where the cursor is in the rows.
    fn input(&self, size: ScreenSize, cols: usize, rows: &mut Vec<String>) -> Option<(usize, usize)> {
        let editor = &self.editor;
        let (prompt, line) = match (editor.want, &editor.search) {
            (Some(want @ (WantedLine::Answer | WantedLine::Line | WantedLine::Choice)), _) => {
                (prompt_of(want).to_owned(), &editor.answer)
            }
            (_, Some(search)) => {
                let found = editor.found().unwrap_or_default().replace('\n', " ");
                let row = format!("search: {}▏{found}", search.part);
                rows.push(fit(&row, cols));
                let col = fit(&format!("search: {}", search.part), cols).chars().count();
                return Some((rows.len() - 1, col));
            }
            (Some(WantedLine::Prompt), _) => (prompt_of(WantedLine::Prompt).to_owned(), &editor.line),
            (None, _) if editor.line.is_empty() => return None,
            (None, _) => (prompt_of(WantedLine::Prompt).to_owned(), &editor.line),
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
pub(super) fn prompt_of(want: WantedLine) -> &'static str {
    match want {
        WantedLine::Prompt => "> ",
        WantedLine::Answer => CHOICES,
        WantedLine::Line => ": ",
        WantedLine::Choice => "your choice (a number, y, n, ? for more): ",
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
