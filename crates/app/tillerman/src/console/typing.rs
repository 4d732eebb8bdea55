//! What keys do: they edit the line, answer a question, or wait in a queue for their turn. Pure.

use std::collections::VecDeque;

use super::history::History;
use super::keys::Key;
use super::line::Line;
use crate::terminal::Want;

/// Lines that wait at once; more are not taken.
const QUEUE_MAX: usize = 100;

/// Where the word in front of the cursor begins, and what it could become.
pub(crate) type Complete = Box<dyn Fn(&str) -> (usize, Vec<String>) + Send>;

/// What came of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Heard {
    Nothing,
    /// A prompt, a command or an answer, as it was wanted.
    Line {
        want: Want,
        text: String,
    },
    Interrupt,
    End,
    ClearScreen,
}

/// A search through the history.
#[derive(Default)]
pub(super) struct Search {
    pub(super) part: String,
    skip: usize,
}

/// Words that fit in front of the cursor.
pub(super) struct Menu {
    from: usize,
    pub(super) words: Vec<String>,
    pub(super) chosen: Option<usize>,
}

#[derive(Default)]
pub(super) struct Typing {
    /// What will be a prompt. It outlives turns and questions.
    pub(super) line: Line,
    /// What is typed at a question.
    pub(super) answer: Line,
    pub(super) queue: VecDeque<String>,
    pub(super) want: Option<Want>,
    pub(super) search: Option<Search>,
    pub(super) menu: Option<Menu>,
    /// Said below the line until the next key.
    pub(super) hint: Option<String>,
    pub(super) history: History,
    pub(super) complete: Option<Complete>,
    /// Lines of the history that nobody wrote down yet.
    pub(super) new_history: Vec<String>,
    /// Ctrl-C was pressed at an empty prompt.
    leaving: bool,
    /// Ctrl-D was pressed ahead of the prompt that it is for.
    ends: bool,
}

const LEAVE_HINT: &str = "Ctrl-C once more leaves; so do Ctrl-D and /exit";
const ENDS_HINT: &str = "leaves when this is done; any other key stays";

impl Typing {
    /// The conversation wants a line. One that waits is it, unless a question is asked: that is answered by what is typed
    /// from now on and by nothing else.
    pub(super) fn wanted(&mut self, want: Want) -> Heard {
        self.answer = Line::default();
        self.want = Some(want);
        match want {
            Want::Prompt => match self.queue.pop_front() {
                Some(text) => self.said(want, text),
                None if self.ends && self.line.is_empty() => Heard::End,
                None => Heard::Nothing,
            },
            Want::Answer | Want::Line | Want::Choice => Heard::Nothing,
        }
    }

    /// The question is gone.
    pub(super) fn unwanted(&mut self) {
        if self.asked() {
            self.want = None;
        }
    }

    pub(super) fn asked(&self) -> bool {
        self.want.is_some_and(|want| want != Want::Prompt)
    }

    /// Asks for all of what a question is about, as a person would.
    pub(super) fn asked_again(&mut self) -> Heard {
        match self.want {
            Some(want @ (Want::Answer | Want::Choice)) => self.said(want, "?".into()),
            _ => Heard::Nothing,
        }
    }

    fn said(&mut self, want: Want, text: String) -> Heard {
        self.want = None;
        Heard::Line { want, text }
    }

    /// Ctrl-C.
    pub(super) fn interrupted(&mut self) -> Heard {
        let leaving = std::mem::take(&mut self.leaving);
        self.hint = None;
        self.menu = None;
        let searching = self.search.take().is_some();
        match self.want {
            Some(Want::Prompt) if searching || !self.line.is_empty() => {
                self.line.take();
                Heard::Nothing
            }
            Some(Want::Prompt) if leaving => Heard::End,
            Some(Want::Prompt) => {
                self.leaving = true;
                self.hint = Some(LEAVE_HINT.into());
                Heard::Nothing
            }
            // Whoever stops something does not want the next thing to start by itself.
            Some(Want::Answer | Want::Line | Want::Choice) | None => {
                let dropped = self.queue.len();
                self.queue.clear();
                self.hint = match dropped {
                    0 => None,
                    1 => Some("the queued line was not run; Up brings it back".into()),
                    many => Some(format!("{many} queued lines were not run; Up brings them back")),
                };
                Heard::Interrupt
            }
        }
    }

    pub(super) fn key(&mut self, key: Key) -> Heard {
        self.leaving = false;
        self.hint = None;
        // Whoever goes on typing wants to stay.
        self.ends &= key == Key::Ctrl('d');
        if let Some(want) = self.want.filter(|want| *want != Want::Prompt) {
            return self.answer_key(want, &key);
        }
        if self.search.is_some() {
            return self.search_key(key);
        }
        if key == Key::Tab {
            self.completed();
            return Heard::Nothing;
        }
        self.menu = None;
        self.line_key(&key)
    }

    fn answer_key(&mut self, want: Want, key: &Key) -> Heard {
        match key {
            Key::Enter => {
                let text = self.answer.take();
                self.said(want, text)
            }
            Key::Esc => self.interrupted(),
            Key::Ctrl('d') if self.answer.is_empty() => Heard::End,
            // One line is one answer.
            Key::Break => Heard::Nothing,
            key => {
                self.answer.edit(key);
                Heard::Nothing
            }
        }
    }

    fn line_key(&mut self, key: &Key) -> Heard {
        match key {
            Key::Enter => return self.entered(),
            Key::Esc if self.want.is_none() => return self.interrupted(),
            Key::Ctrl('d') if !self.line.is_empty() => drop(self.line.edit(&Key::Delete)),
            Key::Ctrl('d') if self.want.is_some() => return Heard::End,
            Key::Ctrl('d') => {
                self.ends = true;
                self.hint = Some(ENDS_HINT.into());
            }
            Key::Ctrl('l') => return Heard::ClearScreen,
            Key::Ctrl('r') => self.search = Some(Search::default()),
            Key::Up if self.line.row_up() => {}
            Key::Down if self.line.row_down() => {}
            Key::Up | Key::Ctrl('p') if !self.queue.is_empty() => self.take_back(),
            Key::Up | Key::Ctrl('p') => {
                let line = self.history.up(self.line.text()).map(str::to_owned);
                line.into_iter().for_each(|line| self.line.set(&line));
            }
            Key::Down | Key::Ctrl('n') => {
                let line = self.history.down();
                line.into_iter().for_each(|line| self.line.set(&line));
            }
            key => drop(self.line.edit(key)),
        }
        Heard::Nothing
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

    fn entered(&mut self) -> Heard {
        // A backslash at the end goes on in the next row.
        if self.line.text().ends_with('\\') {
            self.line.edit(&Key::End);
            self.line.edit(&Key::Backspace);
            self.line.edit(&Key::Break);
            return Heard::Nothing;
        }
        if self.line.text().trim().is_empty() {
            self.line.take();
            return Heard::Nothing;
        }
        if self.want.is_none() && self.queue.len() >= QUEUE_MAX {
            self.hint = Some(format!("{QUEUE_MAX} lines are waiting already"));
            return Heard::Nothing;
        }
        let text = self.line.take();
        self.history.add(&text);
        self.new_history.push(text.clone());
        match self.want {
            Some(want) => self.said(want, text),
            None => {
                self.queue.push_back(text);
                Heard::Nothing
            }
        }
    }

    fn search_key(&mut self, key: Key) -> Heard {
        let Some(search) = &mut self.search else { return Heard::Nothing };
        match key {
            Key::Char(c) => {
                search.part.push(c);
                search.skip = 0;
            }
            Key::Backspace => drop(search.part.pop()),
            Key::Ctrl('r') => search.skip += 1,
            Key::Esc => {
                self.search = None;
                return Heard::Nothing;
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
        Heard::Nothing
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
                self.menu = Some(Menu { from, words, chosen: None });
            }
        }
    }
}
