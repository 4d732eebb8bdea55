//! What keys do: they edit the line, answer a question, or wait in a queue for their turn. Pure.

use std::collections::VecDeque;

use super::edit_buffer::EditBuffer;
use super::history::History;
use super::keys::KeyPress;
use dialect_terminal::WantedLine;

/// Lines that wait at once; more are not taken.
const QUEUE_MAX: usize = 100;

/// Where the word in front of the cursor begins, and what it could become.
pub type Complete = Box<dyn Fn(&str) -> (usize, Vec<String>) + Send>;

/// What came of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum KeyEffect {
    Nothing,
    /// A prompt, a command or an answer, as it was wanted.
    Line {
        want: WantedLine,
        text: String,
    },
    Interrupt,
    End,
    ClearScreen,
}

/// A search through the history.
#[derive(Default)]
pub(super) struct HistorySearch {
    pub(super) part: String,
    skip: usize,
}

/// Words that fit in front of the cursor.
pub(super) struct CompletionMenu {
    from: usize,
    pub(super) words: Vec<String>,
    pub(super) chosen: Option<usize>,
}

#[derive(Default)]
pub(super) struct LineEditor {
    /// What will be a prompt. It outlives turns and questions.
    pub(super) line: EditBuffer,
    /// What is typed at a question.
    pub(super) answer: EditBuffer,
    pub(super) queue: VecDeque<String>,
    pub(super) want: Option<WantedLine>,
    pub(super) search: Option<HistorySearch>,
    pub(super) menu: Option<CompletionMenu>,
    /// Said below the line until the next key.
    pub(super) hint: Option<String>,
    pub(super) history: History,
    pub(super) complete: Option<Complete>,
    /// Lines of the history that are not in its file yet.
    pub(super) new_history: Vec<String>,
    /// Ctrl-C was pressed at an empty prompt.
    leaving: bool,
    /// Ctrl-D was pressed ahead of the prompt that it is for.
    ends: bool,
}

const LEAVE_HINT: &str = "Ctrl-C once more leaves; so do Ctrl-D and /exit";
const ENDS_HINT: &str = "leaves when this is done; any other key stays";

impl LineEditor {
    /// The conversation wants a line. One that waits is it, unless a question is asked: that is answered by what is typed
    /// from now on and by nothing else.
    pub(super) fn wanted(&mut self, want: WantedLine) -> KeyEffect {
        self.answer = EditBuffer::default();
        self.want = Some(want);
        match want {
            WantedLine::Prompt => match self.queue.pop_front() {
                Some(text) => self.said(want, text),
                None if self.ends && self.line.is_empty() => KeyEffect::End,
                None => KeyEffect::Nothing,
            },
            WantedLine::Answer | WantedLine::Line | WantedLine::Choice => KeyEffect::Nothing,
        }
    }

    /// No line is wanted any more: the question is gone, or something began that a person elsewhere wants. What is half typed
    /// as a prompt stays.
    pub(super) fn unwanted(&mut self) {
        self.want = None;
    }

    pub(super) fn asked(&self) -> bool {
        self.want.is_some_and(|want| want != WantedLine::Prompt)
    }

    /// Asks for all of what a question is about, as a person would.
    pub(super) fn asked_again(&mut self) -> KeyEffect {
        match self.want {
            Some(want @ (WantedLine::Answer | WantedLine::Choice)) => self.said(want, "?".into()),
            _ => KeyEffect::Nothing,
        }
    }

    fn said(&mut self, want: WantedLine, text: String) -> KeyEffect {
        self.want = None;
        KeyEffect::Line { want, text }
    }

    /// Ctrl-C.
    pub(super) fn interrupted(&mut self) -> KeyEffect {
        let leaving = std::mem::take(&mut self.leaving);
        self.hint = None;
        self.menu = None;
        let searching = self.search.take().is_some();
        match self.want {
            Some(WantedLine::Prompt) if searching || !self.line.is_empty() => {
                self.line.take();
                KeyEffect::Nothing
            }
            Some(WantedLine::Prompt) if leaving => KeyEffect::End,
            Some(WantedLine::Prompt) => {
                self.leaving = true;
                self.hint = Some(LEAVE_HINT.into());
                KeyEffect::Nothing
            }
            // A person who stops something does not want the next thing to start by itself.
            Some(WantedLine::Answer | WantedLine::Line | WantedLine::Choice) | None => {
                let dropped = self.queue.len();
                self.queue.clear();
                self.hint = match dropped {
                    0 => None,
                    1 => Some("the queued line was not run; Up brings it back".into()),
                    many => Some(format!("{many} queued lines were not run; Up brings them back")),
                };
                KeyEffect::Interrupt
            }
        }
    }

    pub(super) fn key(&mut self, key: KeyPress) -> KeyEffect {
        self.leaving = false;
        self.hint = None;
        // A person who goes on typing wants to stay.
        self.ends &= key == KeyPress::Ctrl('d');
        if let Some(want) = self.want.filter(|want| *want != WantedLine::Prompt) {
            return self.answer_key(want, &key);
        }
        if self.search.is_some() {
            return self.search_key(key);
        }
        if key == KeyPress::Tab {
            self.completed();
            return KeyEffect::Nothing;
        }
        self.menu = None;
        self.line_key(&key)
    }

    fn answer_key(&mut self, want: WantedLine, key: &KeyPress) -> KeyEffect {
        match key {
            KeyPress::Enter => {
                let text = self.answer.take();
                self.said(want, text)
            }
            KeyPress::Esc => self.interrupted(),
            KeyPress::Ctrl('d') if self.answer.is_empty() => KeyEffect::End,
            // One line is one answer.
            KeyPress::Break => KeyEffect::Nothing,
            key => {
                self.answer.edit(key);
                KeyEffect::Nothing
            }
        }
    }

    fn line_key(&mut self, key: &KeyPress) -> KeyEffect {
        match key {
            KeyPress::Enter => return self.entered(),
            KeyPress::Esc if self.want.is_none() => return self.interrupted(),
            KeyPress::Ctrl('d') if !self.line.is_empty() => drop(self.line.edit(&KeyPress::Delete)),
            KeyPress::Ctrl('d') if self.want.is_some() => return KeyEffect::End,
            KeyPress::Ctrl('d') => {
                self.ends = true;
                self.hint = Some(ENDS_HINT.into());
            }
            KeyPress::Ctrl('l') => return KeyEffect::ClearScreen,
            KeyPress::Ctrl('r') => self.search = Some(HistorySearch::default()),
            KeyPress::Up if self.line.row_up() => {}
            KeyPress::Down if self.line.row_down() => {}
            KeyPress::Up | KeyPress::Ctrl('p') if !self.queue.is_empty() => self.take_back(),
            KeyPress::Up | KeyPress::Ctrl('p') => {
                let line = self.history.up(self.line.text()).map(str::to_owned);
                line.into_iter().for_each(|line| self.line.set(&line));
            }
            KeyPress::Down | KeyPress::Ctrl('n') => {
                let line = self.history.down();
                line.into_iter().for_each(|line| self.line.set(&line));
            }
            key => drop(self.line.edit(key)),
        }
        KeyEffect::Nothing
    }

    /// The line that waits last is typed again. What is half typed is the next thing that Up finds.
    fn take_back(&mut self) {
        let draft = self.line.take();
        if !draft.trim().is_empty() {
            self.history.add(&draft);
        }
        let last = self.queue.pop_back().unwrap_or_default();
        self.line.set(&last);
    }

    fn entered(&mut self) -> KeyEffect {
        // A backslash at the end goes on in the next row.
        if self.line.text().ends_with('\\') {
            self.line.edit(&KeyPress::End);
            self.line.edit(&KeyPress::Backspace);
            self.line.edit(&KeyPress::Break);
            return KeyEffect::Nothing;
        }
        if self.line.text().trim().is_empty() {
            self.line.take();
            return KeyEffect::Nothing;
        }
        if self.want.is_none() && self.queue.len() >= QUEUE_MAX {
            self.hint = Some(format!("{QUEUE_MAX} lines are waiting already"));
            return KeyEffect::Nothing;
        }
        let text = self.line.take();
        self.history.add(&text);
        self.new_history.push(text.clone());
        match self.want {
            Some(want) => self.said(want, text),
            None => {
                self.queue.push_back(text);
                KeyEffect::Nothing
            }
        }
    }

    fn search_key(&mut self, key: KeyPress) -> KeyEffect {
        let Some(search) = &mut self.search else { return KeyEffect::Nothing };
        match key {
            KeyPress::Char(c) => {
                search.part.push(c);
                search.skip = 0;
            }
            KeyPress::Backspace => drop(search.part.pop()),
            KeyPress::Ctrl('r') => search.skip += 1,
            KeyPress::Esc => {
                self.search = None;
                return KeyEffect::Nothing;
            }
            key => {
                let found = self.found().map(str::to_owned);
                self.search = None;
                found.into_iter().for_each(|line| self.line.set(&line));
                return self.line_key(&key);
            }
        }
        if self.found().is_none()
            && let Some(search) = &mut self.search
        {
            search.skip = search.skip.saturating_sub(1);
        }
        KeyEffect::Nothing
    }

    /// What a search has found.
    pub(super) fn found(&self) -> Option<&str> {
        let search = self.search.as_ref().filter(|search| !search.part.is_empty())?;
        self.history.find(&search.part, search.skip)
    }

    /// Tab: as far as all words agree, then one after the other.
    fn completed(&mut self) {
        if let Some(menu) = &mut self.menu {
            let chosen = menu.chosen.map_or(0, |at| (at + 1) % menu.words.len());
            menu.chosen = Some(chosen);
            let word = menu.words[chosen].clone();
            return self.line.replace(menu.from, &word);
        }
        let Some(complete) = &self.complete else { return };
        let before = &self.line.text()[..self.line.at()];
        let (from, words) = complete(before);
        let typed = &before[from.min(before.len())..];
        match words.as_slice() {
            [] => {}
            [word] => self.line.replace(from, word),
            [first, rest @ ..] => {
                let common = rest.iter().fold(first.as_str(), |common, word| {
                    let agreed = common.char_indices().zip(word.chars()).find(|((_, a), b)| a != b);
                    &common[..agreed.map_or(common.len().min(word.len()), |((at, _), _)| at)]
                });
                if common.len() > typed.len() {
                    self.line.replace(from, common);
                }
                self.menu = Some(CompletionMenu { from, words, chosen: None });
            }
        }
    }
}
