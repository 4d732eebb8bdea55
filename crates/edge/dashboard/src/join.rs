//! Modules become one script, in one scope: each variable gets a short name of its own, so that names of one module are never those
//! of another, and what only people read is left out. Only the small grammar of `dashboard/README.md` is understood; anything else
//! is an error with its place. Pure: the build and the tests bring the files.

use std::collections::HashMap;

use crate::names::{Declared, Role, roles};
use crate::short::{ShortNames, is_shared};
use crate::tokens::{Token, TokenKind, tokens};
use crate::write::written;

/// What is wrong, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JoinFault(pub(crate) String);

pub(crate) trait ModuleFiles {
    /// By a path from the root of the repository.
    fn read(&self, path: &str) -> Result<String, JoinFault>;
}

/// The script that begins with a module.
pub(crate) fn script(files: &impl ModuleFiles, entry: &str) -> Result<String, JoinFault> {
    let mut order = Order { files, done: Vec::new(), under_way: Vec::new() };
    order.visit(entry)?;
    let modules = order.done.iter().map(|(path, text)| Module::read(path, text)).collect::<Result<Vec<_>, _>>()?;
    let names = given_names(&modules)?;
    let parts = modules.iter().enumerate();
    let parts = parts.map(|(at, module)| written(&module.tokens, &module.roles, &|word| names.of(at, word)));
    let script: String = names.declared().into_iter().chain(parts).collect();
    if let Some(at) = script.to_ascii_lowercase().find("</script") {
        let near: String = script[at..].chars().take(40).collect();
        return Err(JoinFault(format!("`{near}` would end the script")));
    }
    Ok(script)
}

/// A name in a joined script that neither it nor a browser declares.
#[cfg(test)]
pub(crate) fn free_name(script: &str) -> Result<(), JoinFault> {
    Module::read("the script", script).map(drop)
}

/// A script of its own, with the names it has.
pub(crate) fn alone(text: &str) -> Result<String, JoinFault> {
    let module = Module::parsed("", text)?;
    Ok(written(&module.tokens, &module.roles, &|_| None))
}

/// Modules in the order of their need.
struct Order<'f, F> {
    files: &'f F,
    done: Vec<(String, String)>,
    under_way: Vec<String>,
}

impl<F: ModuleFiles> Order<'_, F> {
    fn visit(&mut self, path: &str) -> Result<(), JoinFault> {
        if self.done.iter().any(|(it, _)| it == path) {
            return Ok(());
        }
        if self.under_way.iter().any(|it| it == path) {
            return Err(JoinFault(format!("{path} needs itself, through {}", self.under_way.join(" and "))));
        }
        self.under_way.push(path.to_owned());
        let text = self.files.read(path)?;
        for import in Module::read(path, &text)?.imports {
            self.visit(&import.from)?;
        }
        self.under_way.pop();
        self.done.push((path.to_owned(), text));
        Ok(())
    }
}

struct Import<'t> {
    names: Vec<&'t str>,
    /// From the root of the repository.
    from: String,
}

struct Module<'t> {
    path: &'t str,
    imports: Vec<Import<'t>>,
    exports: Vec<&'t str>,
    tokens: Vec<Token<'t>>,
    roles: Vec<Role>,
    declared: Declared<'t>,
}

impl<'t> Module<'t> {
    fn read(path: &'t str, text: &'t str) -> Result<Self, JoinFault> {
        let module = Self::parsed(path, text)?;
        let placed = |JoinFault(why)| JoinFault(format!("{path}{why}"));
        module.declared.check(&module.tokens, &module.roles).map_err(placed)?;
        Ok(module)
    }

    fn parsed(path: &'t str, text: &'t str) -> Result<Self, JoinFault> {
        let placed = |JoinFault(why)| JoinFault(format!("{path}{why}"));
        let all = tokens(text).map_err(placed)?;
        let (mut imports, mut exports, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        let mut at = 0;
        while at < all.len() {
            let token = all[at];
            let fault = |why: &str| JoinFault(format!("{path}:{}: {why}", token.line));
            if token.is("import") && token.is_first {
                let (names, file, end) =
                    import(&all, at).ok_or_else(|| fault("an import is `import { a, b } from \"./file.js\";`"))?;
                let from = resolve(path, file).ok_or_else(|| fault("a module is named by a relative path"))?;
                imports.push(Import { names, from });
                at = end;
            } else if token.is("export") && token.is_first {
                exports.push(
                    exported(&all[at + 1..])
                        .ok_or_else(|| fault("only functions, classes and constants are exported"))?,
                );
                at += 1;
            } else {
                kept.push(token);
                at += 1;
            }
        }
        let roles = roles(&kept);
        let mut declared = Declared::of(&kept, &roles);
        declared.module.extend(imports.iter().flat_map(|import| import.names.iter().copied()));
        Ok(Self { path, imports, exports, tokens: kept, roles, declared })
    }
}

/// The names and the file of an import, and where it ends.
fn import<'t>(all: &[Token<'t>], at: usize) -> Option<(Vec<&'t str>, &'t str, usize)> {
    let end = at + all[at..].iter().position(|token| token.is(";"))?;
    let [brace, inner @ .., from, file] = &all[at + 1..end] else { return None };
    let (close, names) = inner.split_last()?;
    let is_list = names
        .iter()
        .enumerate()
        .all(|(nth, token)| if nth % 2 == 0 { token.kind == TokenKind::Word } else { token.is(",") });
    let is_whole = brace.is("{") && close.is("}") && from.is("from") && file.kind == TokenKind::Text && is_list;
    let names = names.iter().step_by(2).map(|token| token.text).collect();
    is_whole.then(|| (names, file.text.trim_matches('"'), end + 1))
}

fn exported<'t>(behind: &[Token<'t>]) -> Option<&'t str> {
    let mut words = behind.iter().skip_while(|token| token.is("async"));
    let kind = words.next()?;
    let name = words.find(|token| !token.is("*"))?;
    let is_known = ["function", "class", "const"].iter().any(|it| kind.is(it));
    (is_known && name.kind == TokenKind::Word).then_some(name.text)
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

/// What every variable of every module is called.
fn given_names(modules: &[Module<'_>]) -> Result<ShortNames, JoinFault> {
    let place: HashMap<&str, usize> = modules.iter().enumerate().map(|(at, module)| (module.path, at)).collect();
    let mut names = ShortNames::default();
    for (at, module) in modules.iter().enumerate() {
        for import in &module.imports {
            let from = place[import.from.as_str()];
            for name in &import.names {
                if !modules[from].exports.contains(name) {
                    return Err(JoinFault(format!("{}: {} exports no `{name}`", module.path, import.from)));
                }
                names.same(at, name, from);
            }
        }
        for (token, role) in module.tokens.iter().zip(&module.roles) {
            if is_shared(token.text) && !matches!(role, Role::Plain | Role::Key) {
                names.count_shared(token.text);
            } else if matches!(role, Role::Private | Role::Variable | Role::Both) {
                names.count(at, token.text, module.declared.module.contains(token.text));
            }
        }
    }
    names.settle();
    Ok(names)
}
