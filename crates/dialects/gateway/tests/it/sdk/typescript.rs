//! As TypeScript.

use std::fmt::Write;

use dialect_gateway::METHODS;
use dialect_gateway::shape::ShapeSchema;

use super::{Family, HEAD, all_events, errors, extension, families, members, name_of, named_types, reads, told};

const CALLS: &str = r#"
export interface CallOptions {
  /** Nobody wants the answer any more. */
  signal?: AbortSignal;
  /** How long an answer may take, connecting included; 0: for ever. */
  timeoutMs?: number;
}
"#;

const API_OF: &str = r#"type Families = { readonly [name: string]: number | Families };

/** The methods, each of which asks by its full name. */
export function apiOf(request: (method: string, params: object, options?: CallOptions) => Promise<unknown>, families = FAMILIES, path = ""): Api {
  const calls = Object.entries(families).map(([name, it]) => {
    const full = path + name;
    const call = (params: object = {}, options?: CallOptions) => request(full, params, options);
    return [name, typeof it === "object" ? apiOf(request, it, `${full}.`) : call];
  });
  return Object.fromEntries(calls);
}
/** Whether a method changes nothing: it is asked again where an answer was lost. */
export function isRead(method: string): boolean {
  return method.split(".").reduce<number | Families | undefined>((at, part) => (typeof at === "object" ? at[part] : undefined), FAMILIES) === 1;
}
"#;

pub(super) fn written() -> String {
    let mut into = format!("// {HEAD}\nimport {{ GatewayError }} from \"./errors.js\";\n");
    named_types().iter().for_each(|it| declared(it, &mut into));
    methods(&mut into);
    events(&mut into);
    refusals(&mut into);
    into.push_str(CALLS);
    into.push_str("\n/** Every method with params and an answer, by its name. */\nexport interface Api ");
    calls(&families(), 0, &mut into);
    into.push_str(
        "\n\n/** The names again, for those who call them; 1: it changes nothing. */\nconst FAMILIES: Families = ",
    );
    names(&families(), 0, &mut into);
    into.push_str(";\n");
    into.push_str(API_OF);
    into
}

fn ty(schema: &ShapeSchema) -> String {
    if let Some(name) = name_of(schema) {
        return name.to_owned();
    }
    match schema {
        ShapeSchema::Any => "unknown".to_owned(),
        ShapeSchema::Bool => "boolean".to_owned(),
        ShapeSchema::Integer { .. } | ShapeSchema::Number { .. } => "number".to_owned(),
        ShapeSchema::Text { .. } => "string".to_owned(),
        ShapeSchema::List { of, .. } => match ty(of) {
            of if of.contains(' ') => format!("({of})[]"),
            of => format!("{of}[]"),
        },
        ShapeSchema::FreeObject => "Record<string, unknown>".to_owned(),
        ShapeSchema::OrNull(of) => format!("{} | null", ty(of)),
        ShapeSchema::Object { .. } => "Record<string, never>".to_owned(),
        ShapeSchema::Words { .. } | ShapeSchema::OneOf { .. } => unreachable!("they have names"),
    }
}

fn comment(doc: &str, indent: &str, into: &mut String) {
    if !doc.is_empty() {
        let _ = writeln!(into, "{indent}/** {doc} */");
    }
}

fn declared(schema: &ShapeSchema, into: &mut String) {
    into.push('\n');
    match schema {
        ShapeSchema::Words { name, doc, words } => {
            comment(doc, "", into);
            let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            let _ = writeln!(into, "export type {name} = {};", words.join(" | "));
        }
        ShapeSchema::OneOf { name, doc, of } => {
            comment(doc, "", into);
            let of: Vec<String> = of.iter().map(ty).collect();
            let _ = writeln!(into, "export type {name} = {};", of.join(" | "));
        }
        ShapeSchema::Object { name, doc, members } => {
            comment(doc, "", into);
            let _ = writeln!(into, "export interface {name} {{");
            for member in members {
                comment(&told(member), "  ", into);
                let mark = if member.is_required { "" } else { "?" };
                let _ = writeln!(into, "  {}{mark}: {};", member.name, ty(&member.schema));
            }
            into.push_str("}\n");
        }
        _ => unreachable!("only these have names"),
    }
}

fn methods(into: &mut String) {
    into.push_str("\n/** What each method takes and gives. */\nexport interface Methods {\n");
    for row in METHODS {
        let (params, result) = (ty(&(row.params)()), ty(&(row.result)()));
        let _ = writeln!(into, "  /** {} */\n  \"{}\": {{ params: {params}; result: {result} }};", row.doc, row.name);
    }
    into.push_str("}\nexport type MethodName = keyof Methods;\n");
    into.push('\n');
    let _ = writeln!(
        into,
        "/** First words of messages that are commands. */\nexport const COMMANDS: ReadonlySet<string> = new Set({});",
        extension("x-commands")
    );
    into.push_str("/** What a connection must not exceed. */\nexport const LIMITS = {\n");
    for (name, value) in extension("x-limits").as_object().unwrap() {
        let _ = writeln!(into, "  {name}: {value},");
    }
    into.push_str("};\n");
}

fn events(into: &mut String) {
    into.push_str("\n/** The data of each event. */\nexport interface Events {\n");
    for row in all_events() {
        let _ = writeln!(into, "  /** {} */\n  {}: {};", row.doc, row.name, ty(&(row.data)()));
    }
    into.push_str("}\n/** An event; where it stands is said to subscribers. */\n");
    into.push_str(
        "export type AnyEvent = { [E in keyof Events]: { event: E; data: Events[E] } & Partial<EventPlaceData> }[keyof Events];\n",
    );
}

fn refusals(into: &mut String) {
    into.push('\n');
    for (code, class) in errors() {
        let _ = writeln!(into, "/** {code} */\nexport class {class} extends GatewayError {{}}");
    }
    into.push_str("const CLASSES: Record<number, typeof GatewayError> = {\n");
    for (code, class) in errors() {
        let _ = writeln!(into, "  [{code}]: {class},");
    }
    into.push_str("};\n/** The error of this code. */\n");
    into.push_str("export function errorOf(code: number, message: string, data?: Record<string, unknown>, method?: string): GatewayError {\n");
    into.push_str("  return new (CLASSES[code] ?? GatewayError)(message, code, data ?? {}, method);\n}\n");
}

fn calls(family: &Family, depth: usize, into: &mut String) {
    let indent = "  ".repeat(depth + 1);
    into.push_str("{\n");
    for (name, row) in &family.methods {
        comment(row.doc, &indent, into);
        let (params, result) = ((row.params)(), ty(&(row.result)()));
        let mark = if members(&params).iter().any(|member| member.is_required) { "" } else { "?" };
        let _ =
            writeln!(into, "{indent}{name}(params{mark}: {}, options?: CallOptions): Promise<{result}>;", ty(&params));
    }
    for (name, family) in &family.families {
        let _ = write!(into, "{indent}readonly {name}: ");
        calls(family, depth + 1, into);
        into.push_str(";\n");
    }
    let _ = write!(into, "{}}}", "  ".repeat(depth));
}

fn names(family: &Family, depth: usize, into: &mut String) {
    let (indent, reads) = ("  ".repeat(depth + 1), reads());
    into.push_str("{\n");
    for (name, row) in &family.methods {
        let _ = writeln!(into, "{indent}{name}: {},", u8::from(reads.contains(&row.name)));
    }
    for (name, family) in &family.families {
        let _ = write!(into, "{indent}{name}: ");
        names(family, depth + 1, into);
        into.push_str(",\n");
    }
    let _ = write!(into, "{}}}", "  ".repeat(depth));
}
