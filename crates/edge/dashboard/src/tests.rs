//! The joiner on small modules, and what the page is that was really built.

use std::collections::HashMap;

use expect_test::expect;

use crate::join::{self, Files, JoinFault};

struct Memory(HashMap<&'static str, &'static str>);

impl Files for Memory {
    fn read(&self, path: &str) -> Result<String, JoinFault> {
        self.0.get(path).map(|it| (*it).to_owned()).ok_or_else(|| JoinFault(format!("{path}: not there")))
    }
}

fn joined(files: &[(&'static str, &'static str)]) -> Result<String, String> {
    join::script(&Memory(files.iter().copied().collect()), "src/main.js").map_err(|JoinFault(why)| why)
}

#[test]
fn modules_become_functions_in_the_order_of_their_need() {
    let main = "// A comment.\nimport { a, b } from \"./lib/one.js\";\nimport { c } from \"./two.js\";\na(b, c);\n";
    let one = "/** What\n * it does. */\nexport function a() {\n  return `${1}`;\n}\nexport const b = 2;\n";
    let two = "import { b } from \"./lib/one.js\";\nexport class c extends Object {}\n";
    let script = joined(&[("src/main.js", main), ("src/lib/one.js", one), ("src/two.js", two)]).unwrap();
    expect![[r#"
        const $m0 = (() => {
        function a() {
        return `${1}`;
        }
        const b = 2;
        return { a, b };
        })();
        const $m1 = (() => {
        const { b } = $m0;
        class c extends Object {}
        return { c };
        })();
        const $m2 = (() => {
        const { a, b } = $m0;
        const { c } = $m1;
        a(b, c);
        return {  };
        })();
    "#]]
    .assert_eq(&script);
}

#[test]
fn what_is_not_understood_is_an_error_with_its_place() {
    let wrong =
        |line: &'static str| joined(&[("src/main.js", line), ("src/x.js", "export const x = 1;\n")]).unwrap_err();
    expect![[r#"src/main.js:1: an import is `import { a, b } from "./file.js";`: import x from "./x.js";"#]]
        .assert_eq(&wrong("import x from \"./x.js\";"));
    expect![[r#"src/main.js:1: an import is `import { a, b } from "./file.js";`: import { x as y } from "./x.js";"#]]
        .assert_eq(&wrong("import { x as y } from \"./x.js\";"));
    expect![[r#"src/main.js:1: a module is named by a relative path: import { x } from "x";"#]]
        .assert_eq(&wrong("import { x } from \"x\";"));
    expect![[r#"src/main.js:2: only functions, classes and constants are exported: export let x = 1;"#]]
        .assert_eq(&wrong("\nexport let x = 1;"));
    expect![[r#"src/main.js:1: a template literal ends on its line: const a = `one"#]]
        .assert_eq(&wrong("const a = `one\n  two`;"));
    expect![[r#"src/main.js needs itself, through src/main.js"#]].assert_eq(&wrong("import { x } from \"./main.js\";"));
    expect![[r#"
        `</SCRIPT>";
        return {  };
        })();
        ` would end the script"#]]
    .assert_eq(&wrong("const a = \"</SCRIPT>\";"));
}

#[test]
fn a_backtick_that_is_no_template_is_none() {
    for line in [
        "const a = \"`\";",
        "const b = /`+/.exec(text);",
        "const c = `${d ? `x` : \"}\"}`;",
        "const e = f / g; // `",
        "const i = /[/`]/;",
        "const j = '\\'`';",
    ] {
        let script = join::without_comments(line).map_err(|JoinFault(why)| why);
        assert_eq!(script.as_deref(), Ok(format!("{line}\n").as_str()));
    }
}

#[test]
fn the_page_brings_everything_with_it() {
    let page = std::str::from_utf8(crate::PAGE.bytes).unwrap();
    let policy = crate::PAGE.policy.unwrap();
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.matches("<script").count(), 1, "one script");
    assert_eq!(page.matches("<style").count(), 1, "one style");
    for word in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        
        "//# source",
    ] {
        assert!(!page.contains(word), "the page has `{word}`");
    }
    // No address of another machine, but for names of standards and what a person is shown.
    for (at, _) in page.match_indices("https://") {
        panic!(
            "the page names {}",
            &page[at..page[at..].find(['"', '`', '\'', ' ']).map_or(page.len(), |end| at + end)]
        );
    }
}
