//! The generated halves of the client libraries: written from the same declarations as the readers, the writers and the OpenRPC
//! document. `UPDATE_EXPECT=1` writes them anew.

mod python;
mod typescript;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dialect_gateway::events::EventPlaceData;
use dialect_gateway::services::SERVICE_EVENTS;
use dialect_gateway::shape::{ShapeMember, ShapeSchema, Shaped};
use dialect_gateway::{EVENTS, EventRow, METHODS, MethodRow, Scopes, openrpc};
use expect_test::expect_file;
use serde_json::Value;

/// What both files begin with, behind the language's comment.
const HEAD: &str =
    "Made from the gateway's own types by `UPDATE_EXPECT=1 cargo test -p dialect-gateway --test it sdk`.";

/// Methods that the libraries wrap by hand: runs, subscriptions, and what belongs to a connection.
const BY_HAND: &[&str] = &["agent.send", "events.subscribe", "events.unsubscribe", "auth.login", "system.disconnect"];

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../sdk").join(name)
}

#[test]
fn the_typescript_types_are_those_of_the_wire() {
    expect_file![file("typescript/src/generated.ts")].assert_eq(&typescript::written());
}

#[test]
fn the_python_types_are_those_of_the_wire() {
    expect_file![file("python/tillerman/generated.py")].assert_eq(&python::written());
}

/// Every type that has a name, once, those that others are made of first.
fn named_types() -> Vec<ShapeSchema> {
    let mut found = Vec::new();
    for row in METHODS {
        visit(&(row.params)(), &mut found);
        visit(&(row.result)(), &mut found);
    }
    all_events().for_each(|row| visit(&(row.data)(), &mut found));
    visit(&EventPlaceData::schema(), &mut found);
    found
}

fn visit(schema: &ShapeSchema, into: &mut Vec<ShapeSchema>) {
    match schema {
        ShapeSchema::Object { members, .. } => members.iter().for_each(|member| visit(&member.schema, into)),
        ShapeSchema::List { of, .. } | ShapeSchema::OrNull(of) => visit(of, into),
        ShapeSchema::OneOf { of, .. } => of.iter().for_each(|it| visit(it, into)),
        ShapeSchema::Any
        | ShapeSchema::Bool
        | ShapeSchema::Integer { .. }
        | ShapeSchema::Number { .. }
        | ShapeSchema::Text { .. }
        | ShapeSchema::Words { .. }
        | ShapeSchema::FreeObject => {}
    }
    let Some(name) = name_of(schema) else { return };
    match into.iter().find(|it| name_of(it) == Some(name)) {
        Some(known) => assert_eq!(known, schema, "{name} means two things"),
        None => into.push(schema.clone()),
    }
}

/// Objects without members have no type of their own.
fn name_of(schema: &ShapeSchema) -> Option<&'static str> {
    match schema {
        ShapeSchema::Object { name, members, .. } if !members.is_empty() => Some(name),
        ShapeSchema::Words { name, .. } | ShapeSchema::OneOf { name, .. } => Some(name),
        _ => None,
    }
}

fn members(schema: &ShapeSchema) -> Vec<ShapeMember> {
    match schema {
        ShapeSchema::Object { members, .. } => members.clone(),
        _ => Vec::new(),
    }
}

fn all_events() -> impl Iterator<Item = &'static EventRow> {
    EVENTS.iter().chain(SERVICE_EVENTS)
}

/// Methods that change nothing: they are asked again where an answer was lost.
fn reads() -> Vec<&'static str> {
    let only_reads = |row: &&MethodRow| row.may_ask.scopes() == Scopes::READ || row.name == "rpc.discover";
    METHODS.iter().filter(only_reads).map(|row| row.name).filter(|name| !BY_HAND.contains(name)).collect()
}

/// `system.info` is `info` of `system`.
#[derive(Default)]
struct Family {
    methods: Vec<(&'static str, &'static MethodRow)>,
    families: Vec<(&'static str, Family)>,
}

fn families() -> Family {
    let mut root = Family::default();
    for row in METHODS.iter().filter(|row| !BY_HAND.contains(&row.name)) {
        let (path, name) = row.name.rsplit_once('.').unwrap();
        let mut at = &mut root;
        for part in path.split('.') {
            let place = at.families.iter().position(|(name, _)| *name == part).unwrap_or_else(|| {
                at.families.push((part, Family::default()));
                at.families.len() - 1
            });
            at = &mut at.families[place].1;
        }
        at.methods.push((name, row));
    }
    root
}

/// The codes of errors, each with the name of its class.
fn errors() -> BTreeMap<i64, String> {
    let document = openrpc("");
    let class = |name: &str| if name.ends_with("Error") { name.to_owned() } else { format!("{name}Error") };
    let errors = document["components"]["errors"].as_object().unwrap();
    errors.iter().map(|(name, error)| (error["code"].as_i64().unwrap(), class(name))).collect()
}

fn extension(name: &str) -> Value {
    openrpc("")[name].clone()
}

/// What is said of a member: its comment, and what it is where it is left out.
fn told(member: &ShapeMember) -> String {
    let usual = member.usual.as_ref().map(|usual| format!("Usually {usual}."));
    let parts = [(!member.doc.is_empty()).then(|| member.doc.to_owned()), usual];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
