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
    heard: Vec<KeyEffect>,
}

impl Workplace {
    fn new(cols: usize) -> Self {
        Self {
            screen: Screen::new(Paint { on: false }, true),
            seen: TestScreen::new(cols),
            now: Instant::now(),
            size: ScreenSize { cols, rows: 24 },
            heard: Vec::new(),
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
    fn heard(&mut self, (heard, out): (KeyEffect, String)) -> &mut Self {
        if heard != KeyEffect::Nothing {
            self.heard.push(heard);
        }
        self.see(&out)
    }
    fn want(&mut self, want: WantedLine) -> &mut Self {
        let wanted = self.screen.wanted(want, self.now, self.size);
        self.heard(wanted)
    }
    fn ctrl_c(&mut self) -> &mut Self {
        let said = self.screen.interrupted(self.now, self.size);
        self.heard(said)
    }
    fn types(&mut self, bytes: &str) -> &mut Self {
        let mut decoder = KeyDecoder::default();
        let mut keys = decoder.feed(bytes.as_bytes());
        keys.extend(decoder.settle());
        for key in keys {
            let said = self.screen.key(key, self.now, self.size);
            self.heard(said);
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
        let heard: Vec<String> = std::mem::take(&mut self.heard)
            .into_iter()
            .map(|heard| match heard {
                KeyEffect::Line { text, .. } => text,
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(heard, lines);
        self
    }
}

#[test]
fn a_wait_shows_itself_below_the_text_and_leaves_nothing_behind() {
    let mut desk = Workplace::new(60);
    desk.text("go\n").waits("waiting for tour").after(100).shows("go");
    desk.after(100).shows("go\n⠹ waiting for tour · 0 s · Ctrl-C stops");
    desk.text("Hello").shows("go\nHello\n⠹ waiting for tour · 0 s · Ctrl-C stops");
    desk.waits("tour is answering").shows("go\nHello\n⠋ tour is answering · 0 s · Ctrl-C stops");
    desk.text(" world").after(3_000).shows("go\nHello world\n⠋ tour is answering · 3 s · Ctrl-C stops");
    desk.waits("").shows("go\nHello world").text("!\nbye\n").shows("go\nHello world!\nbye");
}

#[test]
fn a_short_wait_shows_nothing() {
    Workplace::new(60).waits("waiting for tour").after(100).text("Hello\n").waits("").after(1_000).shows("Hello");
}

#[test]
fn on_a_screen_that_cannot_be_drawn_on_it_is_said_once() {
    let mut desk = Workplace::new(60);
    desk.screen = Screen::new(Paint { on: false }, false);
    desk.text("go\n").waits("waiting for tour").after(200).after(200).after(5_000);
    desk.shows("go\nwaiting for tour · Ctrl-C stops");
    desk.text("Hello").waits("running bash").after(400).shows("go\nwaiting for tour · Ctrl-C stops\nHello");
}

#[test]
fn lines_typed_while_it_works_wait_and_run_in_order() {
    let mut desk = Workplace::new(60);
    desk.want(WantedLine::Prompt).types("slow\r").lines(&["slow"]).shows("> slow");
    desk.waits("waiting for tour").after(200).text("w1 w2 ");
    desk.types("say AAA\rsay BBB\r/status\rhalf").lines(&[]);
    desk.shows(
        "> slow\nw1 w2\n⠹ waiting for tour · 0 s · Ctrl-C stops\nqueued: say AAA\nqueued: say BBB\nqueued: /status · Up \
         takes it back\n> half",
    );
    desk.text("w3\n").want(WantedLine::Prompt).lines(&["say AAA"]);
    desk.shows("> slow\nw1 w2 w3\n> say AAA\nqueued: say BBB\nqueued: /status · Up takes it back\n> half");
    desk.text("AAA\n").want(WantedLine::Prompt).want(WantedLine::Prompt).lines(&["say BBB", "/status"]);
    desk.want(WantedLine::Prompt).types("-done\r").lines(&["half-done"]);
    desk.shows("> slow\nw1 w2 w3\n> say AAA\nAAA\n> say BBB\n> /status\n> half-done");
}

#[test]
fn a_queued_line_is_taken_back_and_a_stop_runs_none_of_them() {
    let mut desk = Workplace::new(80);
    desk.waits("waiting for tour").types("one\rtwo\r\x1b[A").shows("queued: one · Up takes it back\n> two");
    desk.types("\x15three\r").shows("queued: one\nqueued: three · Up takes it back");
    desk.types("\x1b").lines(&["Interrupt"]).shows("2 queued lines were not run; Up brings them back");
    desk.want(WantedLine::Prompt).lines(&[]).types("\x1b[A").shows("> three").types("\x1b[A\r").lines(&["two"]);
}

#[test]
fn what_was_typed_before_a_question_never_answers_it() {
    let mut desk = Workplace::new(80);
    desk.waits("waiting for tour").types("y\ryes").text("Allow ls?\n").want(WantedLine::Answer).lines(&[]);
    desk.shows("Allow ls?\nqueued: y\n[y]es [n]o [a]lways this session [?]");
    desk.types("n\r").lines(&["n"]).waits("running ls").want(WantedLine::Prompt).lines(&["y"]);
    desk.want(WantedLine::Prompt).types("!\r").lines(&["yes!"]);
}

#[test]
fn a_question_that_is_gone_takes_no_answer() {
    let mut desk = Workplace::new(80);
    desk.text("Allow ls?\n").want(WantedLine::Answer).types("y").waits("stopping").shows("Allow ls?");
    desk.types("\r").lines(&[]);
}

#[test]
fn what_is_said_beside_a_prompt_stands_above_it() {
    let mut desk = Workplace::new(20);
    desk.want(WantedLine::Prompt).types("a long line that goes on").text("· hi\n");
    desk.shows("· hi\n> a long line that\ngoes on");
    assert_eq!((desk.seen.row(), desk.seen.col()), (2, 7), "behind the last letter");
    desk.types("\x1b[H").text("· ho\n");
    assert_eq!((desk.seen.row(), desk.seen.col()), (2, 2), "before the first letter");
}

#[test]
fn ctrl_c_clears_the_line_then_says_how_to_leave_then_leaves() {
    let mut desk = Workplace::new(80);
    desk.want(WantedLine::Prompt).types("abc").ctrl_c().shows(">").lines(&[]);
    desk.ctrl_c().shows(">\nCtrl-C once more leaves; so do Ctrl-D and /exit").lines(&[]);
    desk.types("x").shows("> x").types("\x7f").ctrl_c().ctrl_c().lines(&["End"]);
}

#[test]
fn the_end_of_input_typed_ahead_comes_behind_the_lines() {
    let mut desk = Workplace::new(80);
    desk.types("one\r\x04").want(WantedLine::Prompt).lines(&["one"]).want(WantedLine::Prompt).lines(&["End"]);
}

#[test]
fn an_end_that_was_typed_ahead_says_so_and_whoever_types_on_stays() {
    let mut desk = Workplace::new(60);
    desk.waits("answering: m").types("\x04").shows("leaves when this is done; any other key stays");
    desk.types("rm -rf junk").want(WantedLine::Prompt).lines(&[]).shows("> rm -rf junk");
    desk.types("\r").lines(&["rm -rf junk"]);
}

#[test]
fn a_line_that_waits_is_taken_back_also_where_another_is_half_typed() {
    let mut desk = Workplace::new(60);
    desk.waits("answering: m").types("danger\rhalf\x1b[A").shows("> danger");
    desk.types("\x15").want(WantedLine::Prompt).lines(&[]);
    desk.types("\x1b[A").shows("> half");
}

#[test]
fn at_a_question_nothing_is_said_of_taking_lines_back() {
    let mut desk = Workplace::new(60);
    desk.waits("answering: m").types("later\r").want(WantedLine::Answer);
    assert!(desk.seen.text().starts_with("queued: later\n"), "{}", desk.seen.text());
}

#[test]
fn a_question_is_explained_again_to_whoever_was_away() {
    let mut desk = Workplace::new(60);
    desk.want(WantedLine::Answer);
    let again = desk.screen.asked_again(desk.now, desk.size);
    desk.heard(again).lines(&["?"]);
    desk.want(WantedLine::Line);
    let nothing = desk.screen.asked_again(desk.now, desk.size);
    desk.heard(nothing).lines(&[]);
}

#[test]
fn a_window_that_becomes_narrower_keeps_nothing_of_what_was_drawn() {
    let mut desk = Workplace::new(60);
    desk.text("some words").waits("answering: model").after(500);
    desk.types("a line that is longer than a narrow screen\x1b[D");
    desk.seen.narrows(20);
    desk.size.cols = 20;
    desk.after(10).text(" and more\n").types("\x15\x0b").waits("");
    desk.shows("some words and more");
}

#[test]
fn several_lines_are_pasted_or_broken_and_sent_as_one() {
    let mut desk = Workplace::new(80);
    desk.want(WantedLine::Prompt).types("\x1b[200~a\rb\x1b[201~ c\\\rd\x1b\re").shows("> a\n… b c\n… d\n… e");
    desk.types("\r").lines(&["a\nb c\nd\ne"]).shows("> a\n… b c\n… d\n… e");
}

#[test]
fn tab_completes_and_shows_what_there_is() {
    let mut desk = Workplace::new(80);
    let words = ["model ", "mode ", "status "];
    desk.screen.editor.complete = Some(Box::new(move |line| match line.strip_prefix('/') {
        Some(part) => (1, words.iter().filter(|word| word.starts_with(part)).map(|word| (*word).to_owned()).collect()),
        None => (0, Vec::new()),
    }));
    desk.want(WantedLine::Prompt).types("/s\t").shows("> /status").types("\x15/m\t").shows("> /mode\nmodel  mode");
    desk.types("\t")
        .shows("> /model\nmodel  mode")
        .types("\t")
        .shows("> /mode\nmodel  mode")
        .types("x")
        .shows("> /mode x");
}

#[test]
fn the_history_is_searched() {
    let mut desk = Workplace::new(80);
    desk.want(WantedLine::Prompt)
        .types("cargo build\r")
        .want(WantedLine::Prompt)
        .types("cargo test\r")
        .want(WantedLine::Prompt);
    desk.types("\x12car").types("\x12").types("\x12");
    assert!(desk.seen.text().ends_with("search: car▏cargo build"), "{}", desk.seen.text());
    desk.types("\r").lines(&["cargo build", "cargo test", "cargo build"]);
}

#[test]
fn a_text_higher_than_the_screen_shows_where_the_cursor_is() {
    let mut desk = Workplace::new(80);
    desk.size.rows = 6;
    desk.want(WantedLine::Prompt).types("\x1b[200~1\r2\r3\r4\x1b[201~").shows("… 3\n… 4");
}
