//! What the model of a town says beside what every simulated one does: long replies, so that people leave and come back in the
//! middle of them, and calls that change something, so that processes die and lose their leases in the middle of those.

use vocab::{Finish, ModelEvent, Usage};

use crate::player::{Play, Step, done, text};
use crate::sim::dice::Dice;

pub(super) fn talk(dice: &mut Dice) -> Play {
    let mut play = Vec::new();
    let calls = dice.pick(&[0, 0, 1, 1, 2, 3]);
    let words = if calls == 0 { 4 + dice.below(12) } else { dice.below(4) };
    for n in 0..words {
        play.push(Step::Wait(dice.pick(&[0, 1, 30, 100, 300])));
        play.push(match dice.chance(15) {
            true => Step::Event(ModelEvent::Thinking(format!("th{n} "))),
            false => text(&format!("wo{n} ")),
        });
    }
    for index in 0..calls {
        let name = dice.pick(&["change", "change", "danger", "look", "host1", "host2"]);
        let (id, name) = (Some(format!("c{index}")), Some(name.to_owned()));
        play.push(Step::Event(ModelEvent::Call { index, id, name, input: "{}".to_owned() }));
        play.push(Step::Wait(dice.pick(&[0, 0, 20])));
    }
    let usage = Usage { input: 1 + dice.below(300), output: words, ..Usage::default() };
    play.push(Step::Event(ModelEvent::Usage(usage)));
    play.push(done(if calls > 0 { Finish::ToolUse } else { Finish::Stop }));
    play
}
