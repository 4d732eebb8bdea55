//! Where the person is not asked: `--yes`, no keyboard, the end of input.

use super::*;

#[test]
fn where_nobody_can_be_asked_a_call_is_denied_and_the_exit_code_says_so() {
    let steps = vec![
        opened(),
        call("c1", "write_file", r#"{"path":"src/x.rs"}"#),
        permission("ask1"),
        result("c1", "write_file", CallEnd::Denied, "denied: nobody can be asked here"),
        text("Then not."),
        said(),
        ended(Stop::EndTurn, None),
    ];
    in_pipe(
        AnswerPolicy::Nobody,
        steps,
        expect![[r#"
            Then not.
            -> prompt "go"
            -> answer ask1 Deny(Some("denied: nobody can be asked here. The user can allow it with `--yes` or `--mode workspace-write`."))
            -- side
            model: tour (no key, no local server)
            ● write_file src/x.rs
            denied write src/x.rs (+1 -1): nobody can be asked here; `--yes` or `--mode workspace-write` would allow it
            -- exit 3
        "#]],
    );
}

#[test]
fn yes_goes_as_far_as_the_mode_beside_it() {
    let wants = |required| vec![opened(), permission_for("ask1", required), ended(Stop::EndTurn, None)];
    let seen = |mode, required| {
        let options = TerminalOptions { bound: Some(mode), ..run_options(AnswerPolicy::AllowAll) };
        show(&play(options, inline(false, false), wants(required)))
    };
    let (write, all) = (Required::WorkspaceWrite, Required::DangerFullAccess);
    for (mode, required) in [(Mode::WorkspaceWrite, write), (Mode::Prompt, all), (Mode::DangerFullAccess, all)] {
        let seen = seen(mode, required);
        assert!(seen.contains("answer ask1 Allow(Once)") && seen.contains("exit 0"), "{mode:?}: {seen}");
    }
    let denied = seen(Mode::WorkspaceWrite, all);
    let why = "`--yes` beside `--mode workspace-write` allows nothing that could leave the workspace";
    assert!(
        denied.contains(&format!("Deny(Some(\"denied: {why}. The user can allow it with `--mode danger-full-access`.")),
        "{denied}"
    );
    assert!(denied.contains(&format!("{why}; `--mode danger-full-access` would allow it")), "{denied}");
    assert!(denied.contains("exit 3"), "{denied}");
}

#[test]
fn yes_allows_everything_without_a_question() {
    let steps = vec![opened(), permission("ask1"), ended(Stop::EndTurn, None)];
    in_pipe(
        AnswerPolicy::AllowAll,
        steps,
        expect![[r#"
        -> prompt "go"
        -> answer ask1 Allow(Once)
        -- side
        model: tour (no key, no local server)
        -- exit 0
    "#]],
    );
}

#[test]
fn end_of_input_denies_what_is_open_and_what_comes() {
    let steps =
        vec![opened(), permission("ask1"), Parted(Parting::Eof), permission("ask2"), ended(Stop::EndTurn, None)];
    on_terminal(
        AnswerPolicy::Person,
        steps,
        expect![[r#"
            model: tour (no key, no local server)
              src/x.rs:
              │ @@ -1 +1 @@
              │ -a
              │ +b
              a  allow every write_file that needs workspace-write from now on, in this session
            Allow write src/x.rs (+1 -1)?
            {answer?}
            denied write src/x.rs (+1 -1): nobody can be asked here; `--yes` or `--mode workspace-write` would allow it
            denied write src/x.rs (+1 -1): nobody can be asked here; `--yes` or `--mode workspace-write` would allow it
            1.2k tokens in, 34 out, 1 tool round
            -> prompt "go"
            -> answer ask1 Deny(Some("denied: the user left before answering."))
            -> answer ask2 Deny(Some("denied: the user left before answering."))
            -- exit 3
        "#]],
    );
}
