//! `doctor`: one line per thing that must work, and what to do where it does not. Fails when one of them does not work.

mod asking;
mod machine;
mod ours;

use vocab::Mode;

use crate::args;
use crate::print::{exactly, one_line};
use crate::setup;
use dialect_terminal::Paint;
use dialect_terminal::exit_code::{FAILED, OK};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Ok,
    /// It works, but not as well as it could.
    Warn,
    Fail,
}

struct Finding {
    verdict: Verdict,
    what: &'static str,
    text: String,
    hints: Vec<String>,
}

fn finding(verdict: Verdict, what: &'static str, text: impl Into<String>) -> Finding {
    Finding { verdict, what, text: text.into(), hints: Vec::new() }
}

/// A fault, with what can be done about it.
fn failed(what: &'static str, fault: &vocab::Fault) -> Finding {
    Finding { hints: fault.hints.clone(), ..finding(Verdict::Fail, what, fault.message.clone()) }
}

pub(crate) fn run(args: &args::DoctorArgs) -> anyhow::Result<u8> {
    let mut sheet = Sheet { paint: Paint { on: console::wants_colours(&std::io::stdout()) }, code: OK };
    sheet.tell(vec![finding(Verdict::Ok, "version", env!("CARGO_PKG_VERSION"))])?;
    sheet.tell(machine::findings())?;
    let basics = args::Basics { workspace: args.workspace.clone(), ..args::Basics::default() };
    match setup::in_project(&basics).and_then(|basics| setup::prepare(&basics, Mode::Prompt)) {
        Ok(prepared) => {
            sheet.tell(ours::findings(&prepared))?;
            // Whoever has to be waited for comes last.
            sheet.tell(asking::findings(prepared)?)?;
        }
        Err(fault) => sheet.tell(vec![failed("config", &fault)])?,
    }
    Ok(sheet.code)
}

/// What is printed, as soon as it is known.
struct Sheet {
    paint: Paint,
    code: u8,
}

impl Sheet {
    fn tell(&mut self, findings: Vec<Finding>) -> anyhow::Result<()> {
        let mut text = String::new();
        for it in findings {
            let verdict = match it.verdict {
                Verdict::Ok => self.paint.green("ok  "),
                Verdict::Warn => self.paint.yellow("warn"),
                Verdict::Fail => self.paint.red("fail"),
            };
            if it.verdict == Verdict::Fail {
                self.code = FAILED;
            }
            text.push_str(&format!("{verdict}  {:<12} {}\n", it.what, one_line(&it.text)));
            for hint in &it.hints {
                text.push_str(&format!("      {:<12} hint: {}\n", "", one_line(hint)));
            }
        }
        exactly(&text)?;
        Ok(())
    }
}
