//! Stories at a screen: what is said, pressed and waited for goes in, what a person sees comes out.

use std::time::Duration;

use super::*;
use crate::keys::KeyDecoder;
use crate::test_screen::TestScreen;

struct Workplace {
    screen: Screen,
    seen: TestScreen,
    now: Instant,
    size: ScreenSize,
    effects: Vec<KeyEffect>,
}

impl Workplace {
    fn new(cols: usize) -> Self {
        Self {
            screen: Screen::new(Paint { on: false }, true),
            seen: TestScreen::new(cols),
            now: Instant::now(),
            size: ScreenSize { cols, rows: 24 },
            effects: Vec::new(),
        }
    }
    fn see(&mut self, out: &str) -> &mut Self {
        self.seen.write(out);
        self
    }
    fn text(&mut self, text: &str) -> &mut Self {
        let out = self.screen.text(text, self.now, self.size);
        self.see(&out)
    }
    fn waits(&mut self, what: &str) -> &mut Self {
        let out = self.screen.waits(Some(what).filter(|what| !what.is_empty()), self.now, self.size);
        self.see(&out)
    }
    fn after(&mut self, ms: u64) -> &mut Self {
        self.now += Duration::from_millis(ms);
        let out = self.screen.redrawn(self.now, self.size);
        self.see(&out)
    }
    fn takes(&mut self, (effect, out): (KeyEffect, String)) -> &mut Self {
        if effect != KeyEffect::Nothing {
            self.effects.push(effect);
        }
        self.see(&out)
    }
    fn want(&mut self, want: WantedLine) -> &mut Self {
        let wanted = self.screen.wanted(want, self.now, self.size);
        self.takes(wanted)
    }
    fn ctrl_c(&mut self) -> &mut Self {
        let said = self.screen.interrupted(self.now, self.size);
        self.takes(said)
    }
    fn types(&mut self, bytes: &str) -> &mut Self {
        let mut decoder = KeyDecoder::default();
        let mut keys = decoder.feed(bytes.as_bytes());
        keys.extend(decoder.settle());
        for key in keys {
            let said = self.screen.key(key, self.now, self.size);
            self.takes(said);
        }
        self
    }
    /// What is seen, with the cursor as `|`.
    #[track_caller]
    fn shows(&mut self, screen: &str) -> &mut Self {
        assert_eq!(self.seen.text(), screen);
        self
    }
    #[track_caller]
    fn lines(&mut self, lines: &[&str]) -> &mut Self {
        let effects: Vec<String> = std::mem::take(&mut self.effects)
            .into_iter()
            .map(|effect| match effect {
                KeyEffect::Line { text, .. } => text,
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(effects, lines);
        self
    }
}

#[test]
fn a_wait_shows_itself_below_the_text_and_leaves_nothing_behind() {
    let mut workplace = Workplace::new(60);
    workplace.text("go\n").waits("waiting for tour").after(100).shows("go");
    workplace.after(100).shows("go\n⠹ waiting for tour · 0 s · Ctrl-C stops");
    workplace.text("Hello").shows("go\nHello\n⠹ waiting for tour · 0 s · Ctrl-C stops");
    workplace.waits("tour is answering").shows("go\nHello\n⠋ tour is answering · 0 s · Ctrl-C stops");
    workplace.text(" world").after(3_000).shows("go\nHello world\n⠋ tour is answering · 3 s · Ctrl-C stops");
    workplace.waits("").shows("go\nHello world").text("!\nbye\n").shows("go\nHello world!\nbye");
}

#[test]
fn a_short_wait_shows_nothing() {
    Workplace::new(60).waits("waiting for tour").after(100).text("Hello\n").waits("").after(1_000).shows("Hello");
}

#[test]
fn on_a_screen_that_cannot_be_drawn_on_it_is_said_once() {
    let mut workplace = Workplace::new(60);
    workplace.screen = Screen::new(Paint { on: false }, false);
    workplace.text("go\n").waits("waiting for tour").after(200).after(200).after(5_000);
    workplace.shows("go\nwaiting for tour · Ctrl-C stops");
    workplace.text("Hello").waits("running bash").after(400).shows("go\nwaiting for tour · Ctrl-C stops\nHello");
}

#[test]
fn lines_typed_while_it_works_wait_and_run_in_order() {
    let mut workplace = Workplace::new(60);
    workplace.want(WantedLine::Prompt).types("slow\r").lines(&["slow"]).shows("> slow");
    workplace.waits("waiting for tour").after(200).text("w1 w2 ");
    workplace.types("say AAA\rsay BBB\r/status\rhalf").lines(&[]);
    workplace.shows(
        "> slow\nw1 w2\n⠹ waiting for tour · 0 s · Ctrl-C stops\nqueued: say AAA\nqueued: say BBB\nqueued: /status · Up \
         takes it back\n> half",
    );
    workplace.text("w3\n").want(WantedLine::Prompt).lines(&["say AAA"]);
    workplace.shows("> slow\nw1 w2 w3\n> say AAA\nqueued: say BBB\nqueued: /status · Up takes it back\n> half");
    workplace.text("AAA\n").want(WantedLine::Prompt).want(WantedLine::Prompt).lines(&["say BBB", "/status"]);
    workplace.want(WantedLine::Prompt).types("-done\r").lines(&["half-done"]);
    workplace.shows("> slow\nw1 w2 w3\n> say AAA\nAAA\n> say BBB\n> /status\n> half-done");
}

#[test]
fn a_queued_line_is_taken_back_and_a_stop_runs_none_of_them() {
    let mut workplace = Workplace::new(80);
    workplace.waits("waiting for tour").types("one\rtwo\r\x1b[A").shows("queued: one · Up takes it back\n> two");
    workplace.types("\x15three\r").shows("queued: one\nqueued: three · Up takes it back");
    workplace.types("\x1b").lines(&["Interrupt"]).shows("2 queued lines were not run; Up brings them back");
    workplace.want(WantedLine::Prompt).lines(&[]).types("\x1b[A").shows("> three").types("\x1b[A\r").lines(&["two"]);
}

#[test]
fn what_was_typed_before_a_question_never_answers_it() {
    let mut workplace = Workplace::new(80);
    workplace.waits("waiting for tour").types("y\ryes").text("Allow ls?\n").want(WantedLine::Answer).lines(&[]);
    workplace.shows("Allow ls?\nqueued: y\n[y]es [n]o [a]lways this session [?]");
    workplace.types("n\r").lines(&["n"]).waits("running ls").want(WantedLine::Prompt).lines(&["y"]);
    workplace.want(WantedLine::Prompt).types("!\r").lines(&["yes!"]);
}

#[test]
fn a_question_that_is_gone_takes_no_answer() {
    let mut workplace = Workplace::new(80);
    workplace.text("Allow ls?\n").want(WantedLine::Answer).types("y").waits("stopping").shows("Allow ls?");
    workplace.types("\r").lines(&[]);
}

#[test]
fn a_prompt_is_taken_back_while_somebody_elses_turn_runs_and_what_is_half_typed_stays() {
    let mut workplace = Workplace::new(80);
    workplace.want(WantedLine::Prompt).types("half").waits("waiting for tour").text("w1\n").shows("w1\n> half");
    workplace.types(" done\r").lines(&[]).shows("w1\nqueued: half done · Up takes it back");
    workplace.types("more").waits("").want(WantedLine::Prompt).lines(&["half done"]).shows("w1\n> half done\n> more");
    workplace.waits("").want(WantedLine::Prompt).waits("waiting for tour").ctrl_c().lines(&["Interrupt"]);
    workplace.types("\x1b").lines(&["Interrupt"]).want(WantedLine::Prompt).shows("w1\n> half done\n> more");
}

#[test]
fn what_is_said_beside_a_prompt_stands_above_it() {
    let mut workplace = Workplace::new(20);
    workplace.want(WantedLine::Prompt).types("a long line that goes on").text("· hi\n");
    workplace.shows("· hi\n> a long line that\ngoes on");
    assert_eq!((workplace.seen.row(), workplace.seen.col()), (2, 7), "behind the last letter");
    workplace.types("\x1b[H").text("· ho\n");
    assert_eq!((workplace.seen.row(), workplace.seen.col()), (2, 2), "before the first letter");
}

#[test]
fn ctrl_c_clears_the_line_then_says_how_to_leave_then_leaves() {
    let mut workplace = Workplace::new(80);
    workplace.want(WantedLine::Prompt).types("abc").ctrl_c().shows(">").lines(&[]);
    workplace.ctrl_c().shows(">\nCtrl-C once more leaves; so do Ctrl-D and /exit").lines(&[]);
    workplace.types("x").shows("> x").types("\x7f").ctrl_c().ctrl_c().lines(&["End"]);
}

#[test]
fn the_end_of_input_typed_ahead_comes_behind_the_lines() {
    let mut workplace = Workplace::new(80);
    workplace.types("one\r\x04").want(WantedLine::Prompt).lines(&["one"]).want(WantedLine::Prompt).lines(&["End"]);
}

#[test]
fn an_end_that_was_typed_ahead_says_so_and_whoever_types_on_stays() {
    let mut workplace = Workplace::new(60);
    workplace.waits("answering: m").types("\x04").shows("leaves when this is done; any other key stays");
    workplace.types("rm -rf junk").want(WantedLine::Prompt).lines(&[]).shows("> rm -rf junk");
    workplace.types("\r").lines(&["rm -rf junk"]);
}

#[test]
fn a_line_that_waits_is_taken_back_also_where_another_is_half_typed() {
    let mut workplace = Workplace::new(60);
    workplace.waits("answering: m").types("danger\rhalf\x1b[A").shows("> danger");
    workplace.types("\x15").want(WantedLine::Prompt).lines(&[]);
    workplace.types("\x1b[A").shows("> half");
}

#[test]
fn at_a_question_nothing_is_said_of_taking_lines_back() {
    let mut workplace = Workplace::new(60);
    workplace.waits("answering: m").types("later\r").want(WantedLine::Answer);
    assert!(workplace.seen.text().starts_with("queued: later\n"), "{}", workplace.seen.text());
}

#[test]
fn a_question_is_explained_again_to_whoever_was_away() {
    let mut workplace = Workplace::new(60);
    workplace.want(WantedLine::Answer);
    let again = workplace.screen.asked_again(workplace.now, workplace.size);
    workplace.takes(again).lines(&["?"]);
    workplace.want(WantedLine::Line);
    let nothing = workplace.screen.asked_again(workplace.now, workplace.size);
    workplace.takes(nothing).lines(&[]);
}

#[test]
fn a_window_that_becomes_narrower_keeps_nothing_of_what_was_drawn() {
    let mut workplace = Workplace::new(60);
    workplace.text("some words").waits("answering: model").after(500);
    workplace.types("a line that is longer than a narrow screen\x1b[D");
    workplace.seen.narrows(20);
    workplace.size.cols = 20;
    workplace.after(10).text(" and more\n").types("\x15\x0b").waits("");
    workplace.shows("some words and more");
}

#[test]
fn several_lines_are_pasted_or_broken_and_sent_as_one() {
    let mut workplace = Workplace::new(80);
    workplace.want(WantedLine::Prompt).types("\x1b[200~a\rb\x1b[201~ c\\\rd\x1b\re").shows("> a\n… b c\n… d\n… e");
    workplace.types("\r").lines(&["a\nb c\nd\ne"]).shows("> a\n… b c\n… d\n… e");
}

#[test]
fn tab_completes_and_shows_what_there_is() {
    let mut workplace = Workplace::new(80);
    let words = ["model ", "mode ", "status "];
    workplace.screen.editor.complete = Some(Box::new(move |line| match line.strip_prefix('/') {
        Some(part) => (1, words.iter().filter(|word| word.starts_with(part)).map(|word| (*word).to_owned()).collect()),
        None => (0, Vec::new()),
    }));
    workplace.want(WantedLine::Prompt).types("/s\t").shows("> /status").types("\x15/m\t").shows("> /mode\nmodel  mode");
    workplace
        .types("\t")
        .shows("> /model\nmodel  mode")
        .types("\t")
        .shows("> /mode\nmodel  mode")
        .types("x")
        .shows("> /mode x");
}

#[test]
fn the_history_is_searched() {
    let mut workplace = Workplace::new(80);
    workplace
        .want(WantedLine::Prompt)
        .types("cargo build\r")
        .want(WantedLine::Prompt)
        .types("cargo test\r")
        .want(WantedLine::Prompt);
    workplace.types("\x12car").types("\x12").types("\x12");
    assert!(workplace.seen.text().ends_with("search: car▏cargo build"), "{}", workplace.seen.text());
    workplace.types("\r").lines(&["cargo build", "cargo test", "cargo build"]);
}

#[test]
fn a_text_higher_than_the_screen_shows_where_the_cursor_is() {
    let mut workplace = Workplace::new(80);
    workplace.size.rows = 6;
    workplace.want(WantedLine::Prompt).types("\x1b[200~1\r2\r3\r4\x1b[201~").shows("… 3\n… 4");
}
