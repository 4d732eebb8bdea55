//! Modules become one script. Each one is a function whose imports are taken out of what the ones before it gave, in the order in
//! which they need each other, so names of one module are never seen in another. Only the small grammar of `dashboard/README.md`
//! is understood; anything else is an error with its place. Pure: the build and the tests bring the files.

use std::collections::HashMap;

/// What is wrong, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JoinFault(pub(crate) String);

pub(crate) trait Files {
    /// By a path from the root of the repository.
    fn read(&self, path: &str) -> Result<String, JoinFault>;
}

/// The script that begins with a module.
pub(crate) fn script(files: &impl Files, entry: &str) -> Result<String, JoinFault> {
    let mut joiner = Joiner { files, done: HashMap::new(), under_way: Vec::new(), out: String::new() };
    joiner.module(entry)?;
    if let Some(at) = joiner.out.to_ascii_lowercase().find("</script") {
        let near: String = joiner.out[at..].chars().take(40).collect();
        return Err(JoinFault(format!("`{near}` would end the script")));
    }
    Ok(joiner.out)
}

struct Joiner<'f, F> {
    files: &'f F,
    /// The name of each module's function.
    done: HashMap<String, String>,
    under_way: Vec<String>,
    out: String,
}

impl<F: Files> Joiner<'_, F> {
    /// The name under which what a module gives is known.
    fn module(&mut self, path: &str) -> Result<String, JoinFault> {
        if let Some(name) = self.done.get(path) {
            return Ok(name.clone());
        }
        if self.under_way.iter().any(|it| it == path) {
            return Err(JoinFault(format!("{path} needs itself, through {}", self.under_way.join(" and "))));
        }
        self.under_way.push(path.to_owned());
        let text = self.files.read(path)?;
        let (mut body, mut given) = (String::new(), Vec::new());
        for (number, line) in lines(&text).map_err(|JoinFault(why)| JoinFault(format!("{path}{why}")))? {
            let fault = |why: &str| JoinFault(format!("{path}:{number}: {why}: {line}"));
            if line.starts_with("import ") || line.starts_with("import{") {
                let (names, from) =
                    import(line).ok_or_else(|| fault("an import is `import { a, b } from \"./file.js\";`"))?;
                let from = resolve(path, from).ok_or_else(|| fault("a module is named by a relative path"))?;
                let name = self.module(&from)?;
                body.push_str(&format!("const {{ {names} }} = {name};\n"));
            } else if let Some(rest) = line.strip_prefix("export ") {
                given.push(exported(rest).ok_or_else(|| fault("only functions, classes and constants are exported"))?);
                body.push_str(rest);
                body.push('\n');
            } else {
                body.push_str(line);
                body.push('\n');
            }
        }
        self.under_way.pop();
        let name = format!("$m{}", self.done.len());
        self.out.push_str(&format!("const {name} = (() => {{\n{body}return {{ {} }};\n}})();\n", given.join(", ")));
        self.done.insert(path.to_owned(), name.clone());
        Ok(name)
    }
}

/// The names and the file of an import on one line.
fn import(line: &str) -> Option<(&str, &str)> {
    let (names, from) = line.strip_prefix("import")?.trim_start().strip_prefix('{')?.split_once('}')?;
    let from = from.trim().strip_prefix("from")?.trim().trim_end_matches(';');
    let file = from.strip_prefix('"')?.strip_suffix('"')?;
    let names = names.trim().trim_end_matches(',');
    names.split(',').all(|name| is_name(name.trim())).then_some((names, file))
}

fn exported(rest: &str) -> Option<&str> {
    let kinds = ["function ", "async function ", "class ", "const "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?.trim_start_matches('*').trim_start();
    let end = rest.find(|it: char| !is_name_part(it)).unwrap_or(rest.len());
    is_name(&rest[..end]).then_some(&rest[..end])
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_name_part)
}

fn is_name_part(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_' || it == '$'
}

/// A path beside another one.
fn resolve(of: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = of.split('/').collect();
    parts.pop();
    if !path.starts_with("./") && !path.starts_with("../") {
        return None;
    }
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Without lines that only comment, and without what only indents.
pub(crate) fn without_comments(text: &str) -> Result<String, JoinFault> {
    Ok(lines(text)?.into_iter().fold(String::new(), |all, (_, line)| all + line + "\n"))
}

fn lines(text: &str) -> Result<Vec<(usize, &str)>, JoinFault> {
    let mut kept = Vec::new();
    let mut in_comment = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if in_comment || line.starts_with("/*") {
            in_comment = !line.contains("*/");
            if !in_comment && !line.ends_with("*/") {
                return Err(JoinFault(format!(":{}: code stands behind a comment: {line}", at + 1)));
            }
        } else if !line.is_empty() && !line.starts_with("//") {
            if leaves_template_open(line) {
                return Err(JoinFault(format!(":{}: a template literal ends on its line: {line}", at + 1)));
            }
            kept.push((at + 1, line));
        }
    }
    Ok(kept)
}

/// Whether a line ends inside a template literal, whose indentation would be a part of it.
fn leaves_template_open(line: &str) -> bool {
    // What we are inside of: quotes, and braces of templates.
    let mut inside: Vec<char> = Vec::new();
    let (mut before, mut chars) = ('(', line.chars().peekable());
    while let Some(it) = chars.next() {
        match (inside.last().copied(), it) {
            (_, '\\') => drop(chars.next()),
            (Some('`'), '$') if chars.peek() == Some(&'{') => {
                chars.next();
                inside.push('{');
            }
            (Some(quote @ ('"' | '\'' | '`')), it) => {
                if it == quote {
                    inside.pop();
                }
            }
            (_, '/') if chars.peek() == Some(&'/') => return inside.contains(&'`'),
            // Behind anything else it divides.
            (_, '/') if "(,=:[!&|?{};+~<>".contains(before) => skip_pattern(&mut chars),
            (_, '"' | '\'' | '`') => inside.push(it),
            (Some('{'), '{') | (None, '{') => inside.push('{'),
            (Some('{'), '}') => drop(inside.pop()),
            _ => {}
        }
        if it != ' ' {
            before = it;
        }
    }
    inside.contains(&'`')
}

fn skip_pattern(chars: &mut impl Iterator<Item = char>) {
    let mut in_class = false;
    while let Some(it) = chars.next() {
        match it {
            '\\' => drop(chars.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => return,
            _ => {}
        }
    }
}

pub(crate) fn style(sheets: &[String]) -> Result<String, JoinFault> {
    let mut out = String::new();
    for sheet in sheets {
        let mut rest = sheet.as_str();
        while let Some(at) = rest.find("/*") {
            out.push_str(&rest[..at]);
            let end = rest[at..].find("*/").ok_or_else(|| JoinFault("a comment of a style has no end".to_owned()))?;
            rest = &rest[at + end + 2..];
        }
        out.push_str(rest);
    }
    let out: String =
        out.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| line.to_owned() + "\n").collect();
    if out.contains("</") || out.contains("@import") || out.contains("url(") {
        return Err(JoinFault("a style brings nothing from elsewhere".to_owned()));
    }
    Ok(out)
}

const STYLE_PLACE: &str = "<!--style-->";
const SCRIPT_PLACE: &str = "<!--script-->";

pub(crate) fn page(frame: &str, style: &str, script: &str) -> Result<String, JoinFault> {
    let missing = |place: &str| JoinFault(format!("index.html has no {place}"));
    let (head, rest) = frame.split_once(STYLE_PLACE).ok_or_else(|| missing(STYLE_PLACE))?;
    let (middle, tail) = rest.split_once(SCRIPT_PLACE).ok_or_else(|| missing(SCRIPT_PLACE))?;
    let page = [head, style, middle, script, tail].concat();
    if page.contains('\r') {
        // Browsers read it as a line end, and the hashes would not fit.
        return Err(JoinFault("there is a carriage return".to_owned()));
    }
    Ok(page)
}

/// What the page may do: run this script, wear this style, speak with us.
pub(crate) fn policy(script_hash: &str, style_hash: &str) -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; \
         img-src 'self' data: blob:; connect-src 'self'; manifest-src 'self'; worker-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}
