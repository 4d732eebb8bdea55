//! As Python, for `mypy --strict`.

use std::fmt::Write;

use dialect_gateway::events::EventPlaceData;
use dialect_gateway::shape::{ShapeMember, ShapeSchema, Shaped};

use super::{Family, HEAD, all_events, errors, extension, families, members, name_of, named_types, reads, told};

/// Words that no member of a class may be called.
const KEYWORDS: &[&str] = &["from", "in", "is", "class", "import", "global", "pass", "def", "return", "None", "True"];

pub(super) fn written() -> String {
    let mut into = format!("# {HEAD}\n");
    into.push_str("from __future__ import annotations\n\n");
    into.push_str("from typing import Any, Awaitable, Callable, Dict, Final, FrozenSet, List, Literal, Mapping, NotRequired, Type, TypedDict, Union, cast\n\n");
    into.push_str("from .errors import GatewayError\n");
    named_types().iter().for_each(|it| declared(it, &mut into));
    events(&mut into);
    tables(&mut into);
    refusals(&mut into);
    into.push_str(
        "\n\nclass Unset:\n    \"\"\"Of a param that was left out; None is null.\"\"\"\n\n\nUNSET: Final = Unset()\n",
    );
    into.push_str("Request = Callable[[str, Mapping[str, Any], Union[float, None]], Awaitable[Any]]\n");
    into.push_str("\n\nclass Family:\n    \"\"\"Methods of one name.\"\"\"\n\n    def __init__(self, request: Request) -> None:\n        self._request = request\n");
    let root = families();
    root.families.iter().for_each(|(name, family)| calls(&class_of("", name), family, &mut into));
    into.push_str("\n\nclass Api:\n    \"\"\"Every method with params and an answer.\"\"\"\n\n    def __init__(self, request: Request) -> None:\n");
    for (name, _) in &root.families {
        let _ = writeln!(into, "        self.{name} = {}(request)", class_of("", name));
    }
    into
}

fn class_of(outer: &str, name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().unwrap().to_uppercase();
    format!("{}{first}{}Api", outer.trim_end_matches("Api"), letters.as_str())
}

fn ty(schema: &ShapeSchema) -> String {
    if let Some(name) = name_of(schema) {
        return name.to_owned();
    }
    match schema {
        ShapeSchema::Any => "Any".to_owned(),
        ShapeSchema::Bool => "bool".to_owned(),
        ShapeSchema::Integer { .. } => "int".to_owned(),
        ShapeSchema::Number { .. } => "float".to_owned(),
        ShapeSchema::Text { .. } => "str".to_owned(),
        ShapeSchema::List { of, .. } => format!("List[{}]", ty(of)),
        ShapeSchema::FreeObject | ShapeSchema::Object { .. } => "Dict[str, Any]".to_owned(),
        ShapeSchema::OrNull(of) => format!("Union[{}, None]", ty(of)),
        ShapeSchema::Words { .. } | ShapeSchema::OneOf { .. } => unreachable!("they have names"),
    }
}

fn member_type(member: &ShapeMember) -> String {
    let ty = ty(&member.schema);
    if member.is_required { ty } else { format!("NotRequired[{ty}]") }
}

fn declared(schema: &ShapeSchema, into: &mut String) {
    into.push('\n');
    match schema {
        ShapeSchema::Words { name, doc, words } => {
            let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            let _ = writeln!(into, "{name} = Literal[{}]\n\"\"\"{doc}\"\"\"", words.join(", "));
        }
        ShapeSchema::OneOf { name, doc, of } => {
            let of: Vec<String> = of.iter().map(ty).collect();
            let _ = writeln!(into, "{name} = Union[{}]\n\"\"\"{doc}\"\"\"", of.join(", "));
        }
        // A class cannot have members of these names.
        ShapeSchema::Object { name, doc, members } if members.iter().any(|it| KEYWORDS.contains(&it.name)) => {
            let _ = writeln!(into, "{name} = TypedDict(\n    \"{name}\",\n    {{");
            for member in members {
                let _ = writeln!(into, "        \"{}\": \"{}\",", member.name, member_type(member));
            }
            let _ = writeln!(into, "    }},\n)\n\"\"\"{doc}\"\"\"");
        }
        ShapeSchema::Object { name, doc, members } => {
            let _ = writeln!(into, "\nclass {name}(TypedDict):\n    \"\"\"{doc}\"\"\"\n");
            for member in members {
                let _ = writeln!(into, "    {}: {}", member.name, member_type(member));
                match told(member) {
                    told if told.is_empty() => {}
                    told => drop(writeln!(into, "    \"\"\"{told}\"\"\"")),
                }
            }
            into.push('\n');
        }
        _ => unreachable!("only these have names"),
    }
}

fn events(into: &mut String) {
    let mut classes = Vec::new();
    for row in all_events() {
        let class = format!("{}Event", row.name.split('_').map(capital).collect::<String>());
        let _ = writeln!(into, "\nclass {class}(TypedDict):\n    \"\"\"{}\"\"\"\n", row.doc);
        let _ = writeln!(into, "    event: Literal[\"{}\"]\n    data: {}", row.name, ty(&(row.data)()));
        for member in members(&EventPlaceData::schema()) {
            let _ = writeln!(into, "    {}: NotRequired[{}]", member.name, ty(&member.schema));
        }
        into.push('\n');
        classes.push(class);
    }
    let _ = writeln!(into, "\nAnyEvent = Union[{}]", classes.join(", "));
    into.push_str("\"\"\"An event; where it stands is said to subscribers.\"\"\"\n");
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| format!("{}{}", first.to_uppercase(), letters.as_str())).unwrap_or_default()
}

fn tables(into: &mut String) {
    let names: Vec<String> = reads().iter().map(|name| format!("\"{name}\"")).collect();
    let _ = writeln!(into, "\nREADS: FrozenSet[str] = frozenset([{}])", names.join(", "));
    into.push_str("\"\"\"Methods that change nothing.\"\"\"\n");
    let _ = writeln!(into, "COMMANDS: FrozenSet[str] = frozenset({})", extension("x-commands"));
    into.push_str("\"\"\"First words of messages that are commands.\"\"\"\n");
    let _ = writeln!(into, "LIMITS: Final[GatewayLimits] = {}", extension("x-limits"));
    into.push_str("\"\"\"What a connection must not exceed.\"\"\"\n");
}

fn refusals(into: &mut String) {
    for (code, class) in errors() {
        let _ = writeln!(into, "\n\nclass {class}(GatewayError):\n    \"\"\"{code}\"\"\"");
    }
    into.push_str("\n\nERRORS: Dict[int, Type[GatewayError]] = {\n");
    for (code, class) in errors() {
        let _ = writeln!(into, "    {code}: {class},");
    }
    into.push_str("}\n");
}

fn snake(name: &str) -> String {
    let mut into = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            into.push('_');
        }
        into.extend(letter.to_lowercase());
    }
    if KEYWORDS.contains(&into.as_str()) {
        into.push('_');
    }
    into
}

fn calls(class: &str, family: &Family, into: &mut String) {
    family.families.iter().for_each(|(name, inner)| calls(&class_of(class, name), inner, into));
    let _ = writeln!(into, "\n\nclass {class}(Family):");
    if !family.families.is_empty() {
        into.push_str("    def __init__(self, request: Request) -> None:\n        super().__init__(request)\n");
        for (name, _) in &family.families {
            let _ = writeln!(into, "        self.{name} = {}(request)", class_of(class, name));
        }
        into.push('\n');
    }
    for (name, row) in &family.methods {
        let list = members(&(row.params)());
        let (needed, more): (Vec<_>, Vec<_>) = list.iter().partition(|member| member.is_required);
        let mut takes = vec!["self".to_owned()];
        takes.extend(needed.iter().map(|member| format!("{}: {}", snake(member.name), ty(&member.schema))));
        takes.push("*".to_owned());
        let optional =
            |member: &&&ShapeMember| format!("{}: Union[{}, Unset] = UNSET", snake(member.name), ty(&member.schema));
        takes.extend(more.iter().map(|member| optional(&member)));
        takes.push("timeout: Union[float, None] = None".to_owned());
        let (takes, result) = (takes.join(", "), ty(&(row.result)()));
        let _ = writeln!(into, "    async def {}({takes}) -> {result}:\n        \"\"\"{}\"\"\"", snake(name), row.doc);
        let pairs: Vec<String> =
            list.iter().map(|member| format!("\"{}\": {}", member.name, snake(member.name))).collect();
        let (wire, pairs) = (row.name, pairs.join(", "));
        let _ =
            writeln!(into, "        return cast({result}, await self._request(\"{wire}\", {{{pairs}}}, timeout))\n");
    }
    let end = into.trim_end().len();
    into.truncate(end);
    into.push('\n');
}
