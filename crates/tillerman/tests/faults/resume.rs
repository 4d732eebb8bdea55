//! Going on after a kill: the end of the turn that died is never taken for the end of the new one.

use std::fs;
use std::process::Stdio;

use crate::acp_driver::Acp;
use crate::driver::{PATIENCE, Serve, World, within};
use crate::loaf_driver::Loaf;
use crate::log::{Controller, Meaning};
use crate::rpc_driver::Rpc;

/// Says a prompt and reads until it is acknowledged.
fn acknowledged(controller: &mut impl Controller, prompt: &str) {
    controller.say(prompt);
    loop {
        let message = controller.process().next(PATIENCE).expect("the prompt is acknowledged");
        match controller.meaning(&message) {
            Meaning::Acknowledged => return,
            Meaning::Ended => panic!("it ended before it was acknowledged: {message}"),
            Meaning::Nothing => {}
        }
    }
}

fn goes_on<C: Controller>() {
    let world = World::tour();
    let mut controller = C::begin(&world, None).expect("a new session");
    acknowledged(&mut controller, "slow 200 say one two three four five six seven eight nine ten");
    let session = controller.session().to_owned();
    controller.process().kill();
    controller.process().ended(PATIENCE).expect("killed processes end");
    let mut controller = C::begin(&world, Some(&session)).expect("the session is there");
    controller.whole_turn(r#"call glob {"pattern":"*"} then say done"#);
    controller.whole_turn("say and on");
}

#[test]
fn after_a_kill_in_a_turn_the_next_prompt_has_an_end_of_its_own_in_every_dialect() {
    goes_on::<Serve>();
    goes_on::<Rpc>();
    goes_on::<Loaf>();
    goes_on::<Acp>();
}

#[test]
fn after_a_kill_in_a_turn_the_next_run_does_what_it_was_asked_for() {
    for more in [&[][..], &["--json"][..]] {
        let world = World::tour();
        let mut slow = world.dialect_command("run", &[], &["slow 100 say 50 words"]);
        let mut slow = slow.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(world.stderr_log()).spawn().unwrap();
        let mut first = [0];
        std::io::Read::read_exact(slow.stdout.as_mut().unwrap(), &mut first).unwrap();
        slow.kill().unwrap();
        slow.wait().unwrap();
        let mut next = world.dialect_command("run", &[], &["-c", "-y", "create z.txt with hi"]);
        let ran = next.args(more).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(0), "{said}");
        assert!(within(PATIENCE, || world.workspace.join("z.txt").exists()).is_some(), "{said}");
        assert_eq!(fs::read_to_string(world.workspace.join("z.txt")).unwrap().trim(), "hi", "{said}");
    }
}
