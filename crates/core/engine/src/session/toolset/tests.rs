//! Who may bring which name, and when what is sent is made anew.

use vocab::{
    CallContext, CommandInfo, CompactionPolicy, Json, LanePolicy, Later, Mode, Offers, Outcome, Plan, Required,
    RetryPolicy,
};

use super::*;
use crate::outbox::{DROP_BYTES_MAX, Outbox, Slow};

struct NamedTool(ToolSpec, Option<&'static str>);

impl Tool for NamedTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn gadget(&self) -> Option<&str> {
        self.1
    }
    fn required(&self) -> Required {
        Required::ReadOnly
    }
    fn plan(&self, _: &Json) -> Result<Plan, String> {
        Err("nothing to do".to_owned())
    }
    fn run(&self, _: Json, _: CallContext) -> Later<'static, Outcome> {
        Box::pin(std::future::ready(Outcome::text("ran")))
    }
}

fn tool(name: &str, gadget: Option<&'static str>) -> Arc<dyn Tool> {
    let spec = ToolSpec { name: name.into(), description: "".into(), schema: Json::empty_object() };
    Arc::new(NamedTool(spec, gadget))
}

fn host(name: &str) -> HostTool {
    HostTool { name: name.into(), description: "".into(), schema: Json::empty_object(), required: Required::ReadOnly }
}

fn extension(peer: u64, tools: &[&str], commands: &[&str]) -> Arc<RegisteredExtension> {
    let command = |name: &&str| CommandInfo { name: (*name).into(), description: None, source: "".into() };
    let offers = Offers {
        tools: tools.iter().map(|name| host(name)).collect(),
        commands: commands.iter().map(command).collect(),
        ..Offers::default()
    };
    let (peer, name) = (PeerId(peer), format!("e{peer}").into());
    Arc::new(RegisteredExtension {
        peer,
        name,
        source: "".into(),
        outbox: Outbox::new(peer, Slow::DropAt(DROP_BYTES_MAX)),
        offers,
    })
}

fn in_force() -> InForce {
    crate::session::settings::tests::in_force()
}

fn toolset() -> Toolset {
    let gadget = Gadget { name: "web".into(), description: "".into(), prompt: None };
    Toolset::new(vec![tool("look", None), tool("fetch", Some("web"))], vec![gadget])
}

fn names(tools: &mut Toolset, settings: &InForce) -> Vec<String> {
    tools.spec(settings).tools.iter().map(|tool| tool.name.to_string()).collect()
}

#[test]
fn tools_come_from_everywhere_in_one_order() {
    let (mut tools, settings) = (toolset(), in_force());
    tools.add_mcp(None, tool("mcp__a__b", None));
    tools.offer_host(&settings, PeerId(1), vec![host("mine")]).unwrap();
    tools.set_extensions(Arc::from([extension(7, &["theirs"], &[])]));
    assert_eq!(names(&mut tools, &settings), ["look", "fetch", "mcp__a__b", "mine", "theirs"]);
    let owner = |name| tools.owner_of(&settings, name);
    assert_eq!([owner("look"), owner("mine"), owner("theirs")], [None, Some(PeerId(1)), Some(PeerId(7))]);
    assert!(tools.find(&settings, "mcp__a__b").is_some() && tools.find(&settings, "mine").is_none());
}

#[test]
fn a_name_belongs_to_the_first_who_has_it() {
    let (mut tools, settings) = (toolset(), in_force());
    let refused = |tools: &mut Toolset, names: &[&str]| {
        tools.offer_host(&settings, PeerId(1), names.iter().map(|name| host(name)).collect()).is_err()
    };
    assert!(refused(&mut tools, &["look"]) && refused(&mut tools, &["x", "x"]));
    assert!(!refused(&mut tools, &["x"]) && !refused(&mut tools, &["x", "y"]), "it replaces what it offered before");
    assert!(tools.offer_host(&settings, PeerId(2), vec![host("y")]).is_err());
    tools.set_extensions(Arc::from([extension(7, &["x", "z"], &["go"]), extension(8, &["z", "look"], &["go"])]));
    let found: Vec<_> =
        tools.conflicts(&settings).iter().map(|it| (it.extension.peer.0, it.name.to_string())).collect();
    let expected = [(7, "x"), (8, "z"), (8, "look"), (8, "/go")].map(|(peer, name)| (peer, name.to_owned()));
    assert_eq!(found, expected);
    assert_eq!(tools.of_extensions(&settings).count(), 1, "what is taken is not offered");
    tools.drop_host(PeerId(1));
    assert_eq!(tools.of_extensions(&settings).count(), 2, "and is when it is free again");
}

/// One change of what a call is sent with.
type ToolsetStep = (&'static str, fn(&mut Toolset, &mut InForce));

#[test]
fn whatever_changes_what_is_sent_is_sent() {
    let steps: [ToolsetStep; 10] = [
        ("a gadget off", |_, settings| settings.set_gadgets_off(vec!["web".into()])),
        ("another mode", |_, settings| settings.set_mode(Mode::Plan)),
        ("a level", |_, settings| settings.set_thinking(Some("high".into()))),
        ("a locale", |_, settings| settings.set_locale(Some("de".into()))),
        ("another model", |_, settings| {
            settings.ask(Arc::new(crate::session::settings::tests::model("other", 400)));
        }),
        ("a host tool", |tools, settings| tools.offer_host(settings, PeerId(1), vec![host("h")]).unwrap()),
        ("a server", |tools, _| tools.add_mcp(Some(PeerId(1)), tool("s", None))),
        ("an extension", |tools, _| tools.set_extensions(Arc::from([extension(7, &["e"], &[])]))),
        ("a briefing", |tools, _| {
            tools.brief(Briefing { surroundings: "here".to_owned(), ..Briefing::default() });
        }),
        ("context", |tools, _| tools.add_to_prompt("more")),
    ];
    let (mut tools, mut settings) = (toolset(), in_force());
    let mut before = tools.spec(&settings).clone();
    for (name, step) in steps {
        assert!(tools.spec_bytes(&settings) > 0, "{name}: nothing has changed");
        step(&mut tools, &mut settings);
        assert_eq!(tools.spec_bytes(&settings), 0, "{name}: it is to be made anew");
        let after = tools.spec(&settings).clone();
        assert_ne!(before, after, "{name}");
        before = after;
    }
    tools.drop_added();
    tools.retain_mcp(|_| false);
    tools.drop_host(PeerId(1));
    assert_eq!(names(&mut tools, &settings), ["look", "e"]);
    settings.set_lane(LanePolicy::default().into());
    settings.set_retry(RetryPolicy::default());
    settings.set_compaction(CompactionPolicy::default());
    assert!(tools.spec_bytes(&settings) > 0, "what is not in it does not make it anew");
}

#[test]
fn an_answer_has_a_quarter_of_the_window_and_no_more_than_the_model_gives() {
    let settings = in_force();
    let model = crate::session::settings::tests::model;
    for (window, max_output, expected) in
        [(400, None, 100), (1_000_000, None, 16_384), (400, Some(10), 10), (1, None, 1)]
    {
        assert_eq!(max_tokens(&settings, &ModelInfo { max_output, ..model("m", window) }), expected);
    }
}
