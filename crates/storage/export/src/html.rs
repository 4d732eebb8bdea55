//! A session as one page for a browser: nothing is fetched, it reads without scripts, and whatever the log says is text.
//!
//! Three walls stand between a hostile log and the reader: everything goes through `escape`; only elements written down
//! in these files exist; and the page's own policy lets nothing run or load but the one style and the one script whose
//! hashes it names.

mod blocks;
mod branch;
mod cards;
mod colour;
mod conversation;
mod counts;
mod diff;
mod escape;
mod figures;
mod json;
mod prose;

use std::sync::Arc;

use vocab::{Body, Entry, Summary, parts_text};

use branch::Branch;
use conversation::PageBody;
use counts::PageCounts;
use escape::{cut, escape, first_line};
use figures::{cost, count, date, tokens};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
// Browsers run what has these SHA-256 sums and nothing else. A test computes them; it says what to write here.
const STYLE_SUM: &str = "XuTxaEzeWJSVMVQeNm1vO5D5O5nXFTUtQ8M+hvPSsI4=";
const SCRIPT_SUM: &str = "gugiZkrKaBD6l0kM2y5xxTxPiJyq3ZvLik5/G+AbOOE=";

/// Prompts in the table of contents; a longer session names the first ones.
const CONTENTS_MAX: usize = 500;
const TITLE_CHARS_MAX: usize = 120;
const FACT_CHARS_MAX: usize = 400;

/// `cost` is in dollars, where the caller knows it: a log has no prices.
pub(super) fn render(summary: &Summary, entries: &[Arc<Entry>], cost: Option<f64>) -> String {
    let branch = Branch::read(entries);
    let counts = PageCounts::of(entries, &branch.path);
    let mut out = String::new();
    let title = first_line(super::title(summary), TITLE_CHARS_MAX);
    open(&mut out, &title);
    facts(&mut out, summary, &counts, &branch, cost);
    contents(&mut out, &branch.path);
    out.push_str("<main>\n");
    PageBody::write(&mut out, branch);
    out.push_str("</main>\n<footer class=\"dim\">exported by tillerman; times are UTC</footer>\n</body></html>\n");
    out
}

fn open(out: &mut String, title: &str) {
    out.push_str("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    out.push_str(&format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{STYLE_SUM}'; \
         script-src 'sha256-{SCRIPT_SUM}'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
    ));
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str("<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    escape(out, title);
    // In the head, so that a remembered theme is there before the first line is drawn.
    out.push_str(&format!("</title>\n<style>{STYLE}</style>\n<script>{SCRIPT}</script>\n</head><body>\n<h1>"));
    escape(out, title);
    out.push_str("</h1>\n");
}

fn facts(out: &mut String, summary: &Summary, counts: &PageCounts<'_>, branch: &Branch<'_>, dollars: Option<f64>) {
    let models = if counts.models.is_empty() { summary.model.to_string() } else { counts.models.join(", ") };
    let undone = match branch.left_out {
        0 => String::new(),
        entries => format!("; {} undone entries are left out", count(entries as u64)),
    };
    out.push_str("<dl class=\"facts\">\n");
    for (name, fact) in [
        ("model", models),
        ("workspace", summary.workspace.display().to_string()),
        ("date", format!("{} to {} UTC", date(summary.created_ms), date(summary.updated_ms))),
        (
            "length",
            format!(
                "{}, {}, {}{undone}",
                figures::plural(counts.messages, "message"),
                figures::plural(counts.turns, "turn"),
                figures::plural(counts.calls, "tool call")
            ),
        ),
        ("tokens", tokens(&counts.usage)),
        ("cost", cost(dollars)),
        ("session", summary.id.to_string()),
    ] {
        out.push_str(&format!("<dt>{name}</dt><dd>"));
        escape(out, &cut(&fact, FACT_CHARS_MAX));
        out.push_str("</dd>\n");
    }
    out.push_str("</dl>\n");
    // Useless without the script, so it is the script that shows it.
    out.push_str(
        "<div id=\"bar\" hidden><button type=\"button\" data-act=\"open\">expand all</button>\
         <button type=\"button\" data-act=\"close\">collapse all</button>\
         <button type=\"button\" data-act=\"theme\">light / dark</button></div>\n",
    );
}

/// The prompts, each with a link to its place; only worth it when there are several.
fn contents(out: &mut String, path: &[&Entry]) {
    let prompts = path.iter().filter_map(|entry| match &entry.body {
        Body::User { parts, .. } => Some(parts),
        _ => None,
    });
    let total = prompts.clone().count();
    if total < 2 {
        return;
    }
    out.push_str(&format!("<nav><details><summary>{} prompts</summary><ol>\n", count(total as u64)));
    for (at, parts) in prompts.enumerate().take(CONTENTS_MAX) {
        out.push_str(&format!("<li><a href=\"#p{}\">", at + 1));
        let text = parts_text(parts);
        let line = first_line(&text, TITLE_CHARS_MAX);
        escape(out, if line.is_empty() { "(a picture)" } else { &line });
        out.push_str("</a></li>\n");
    }
    if total > CONTENTS_MAX {
        out.push_str(&format!("<li class=\"dim\">and {} more</li>\n", count((total - CONTENTS_MAX) as u64)));
    }
    out.push_str("</ol></details></nav>\n");
}
