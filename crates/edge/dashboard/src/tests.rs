//! The joiner on small modules, and what the page is that was really built.

use std::collections::HashMap;

use expect_test::expect;

use crate::join::{self, JoinFault, ModuleFiles};
use crate::page;

struct Memory(HashMap<&'static str, &'static str>);

impl ModuleFiles for Memory {
    fn read(&self, path: &str) -> Result<String, JoinFault> {
        self.0.get(path).map(|it| (*it).to_owned()).ok_or_else(|| JoinFault(format!("{path}: not there")))
    }
}

fn joined(files: &[(&'static str, &'static str)]) -> Result<String, String> {
    join::script(&Memory(files.iter().copied().collect()), "src/main.js").map_err(|JoinFault(why)| why)
}

#[test]
fn modules_share_one_scope_in_the_order_of_their_need() {
    let main = "// A comment.\nimport { a, b } from \"./lib/one.js\";\nimport { c } from \"./two.js\";\na(b, c);\n";
    let one =
        "/** What\n * it does. */\nexport function a(first) {\n  return `${first} and ${b}`;\n}\nexport const b = 2;\n";
    let two = "import { b } from \"./lib/one.js\";\nconst first = b;\nexport class c extends Object {\n  #x = first;\n  b = 1;\n}\n";
    let script = joined(&[("src/main.js", main), ("src/lib/one.js", one), ("src/two.js", two)]).unwrap();
    expect![[r#"
        function c(b){return`${b} and ${a}`}let a=2;
        let e=a;class d extends Object{#b=e;b=1}
        c(a,d);
    "#]]
    .assert_eq(&script);
}

#[test]
fn properties_keep_their_names() {
    let lines = [
        "const b = {};\nconst a = { one: 1, two() {}, get three() {}, ...b };",
        "const one = 1;\nconst a = { one, b: one ? one : 2 };",
        "function f({ one, two = 1, three: four }) {\n  return one + two - -four;\n}",
        "const f = (one) => one.one?.two[one];",
        "switch (this.a) {\n  case 1: {\n    break;\n  }\n  default:\n    f({ a: 1 });\n}\nfunction f() {}",
        "const t = `a ${[1].map((x) => `${x}}`)} b`;",
        "const r = /[/\"`]/g, d = 4 / 2 / 1;",
        "let x = 1\nx++\nfor (const y of [x]) while (y);\n",
        "const a = undefined ?? true, c = { true: false };",
        "const a = [1, , 2,];\nconst b = { a, },\n  c = [10_000, 0.5, 100, 0x1000, 1.5];",
        "function f() {}\ntry {\n  f();\n} catch {\n  f.a = 1;\n}",
        "function f() {}\ntry {\n  f();\n} catch {\n  f(1);\n  f = {};\n}",
        "if (this) {\n  f();\n}\nfunction f() {}\nconst a = () => {}\nconst b = {}\nf()\n",
    ];
    let all: String = lines.iter().map(|line| joined(&[("src/main.js", line)]).unwrap()).collect();
    expect![[r#"
        let a={},b={one:1,two(){},get three(){},...a};
        let a=1,b={one:a,b:a?a:2};
        function d({one:b,two:c=1,three:a}){return b+c- -a}
        let b=a=>a.one?.two[a];
        switch(this.a){case 1:{break}default:a({a:1})}function a(){}
        let b=`a ${[1].map(a=>`${a}}`)} b`;
        let b=/[/"`]/g,a=4/2/1;
        let a=1
        a++
        for(let b of[a])while(b);
        let a=void 0??!0,b={true:!1};
        let a=[1,,2],b={a},c=[1e4,.5,100,0x1000,1.5];
        function a(){}try{a()}catch{a.a=1}
        function a(){}try{a()}catch{a(1);a={}}
        if(this){a()}function a(){}let b=()=>{}
        let c={}
        a()
    "#]]
    .assert_eq(&all);
}

#[test]
fn words_that_every_script_has_get_a_name_where_that_is_shorter() {
    let lines = "function f({ location }) {\n  return location.document ?? null;\n}\nconst a = [document, document, document, document, { document: document.x }, typeof history];\nf(location);\n";
    expect![[r#"
        let a=document,b=location;
        function c({location:b}){return b.document??null}let d=[a,a,a,a,{document:a.x},typeof history];c(b);
    "#]]
    .assert_eq(&joined(&[("src/main.js", lines)]).unwrap());
}

#[test]
fn what_is_not_understood_is_an_error_with_its_place() {
    let wrong =
        |line: &'static str| joined(&[("src/main.js", line), ("src/x.js", "export const x = 1;\n")]).unwrap_err();
    let import = "src/main.js:1: an import is `import { a, b } from \"./file.js\";`";
    assert_eq!(wrong("import x from \"./x.js\";"), import);
    assert_eq!(wrong("import { x as y } from \"./x.js\";"), import);
    assert_eq!(wrong("import { x } from \"x\";"), "src/main.js:1: a module is named by a relative path");
    assert_eq!(wrong("import { y } from \"./x.js\";"), "src/main.js: src/x.js exports no `y`");
    assert_eq!(wrong("\nexport let x = 1;"), "src/main.js:2: only functions, classes and constants are exported");
    assert_eq!(wrong("const a = `one"), "src/main.js:1: a template literal has no end");
    assert_eq!(wrong("const a = \"one\n\";"), "src/main.js:1: a string has no end");
    assert_eq!(wrong("import { x } from \"./main.js\";"), "src/main.js needs itself, through src/main.js");
    assert_eq!(wrong("const a = b;"), "src/main.js:1: nobody has declared `b`");
    assert_eq!(wrong("try {\n} catch {\n  b.c = 1;\n}"), "src/main.js:3: nobody has declared `b`");
    assert_eq!(wrong("const a = { b.c };"), "src/main.js:1: `b` is no name of a property");
    assert_eq!(wrong("const a = { b() };"), "src/main.js:1: `b` is no name of a property");
    assert_eq!(wrong("const history = 1;"), "src/main.js:1: `history` is the browser's");
    assert!(wrong("const a = \"</SCRIPT>\";").ends_with("would end the script"));
}

#[test]
fn a_style_loses_blanks_and_no_meaning() {
    let sheet = "/* a */\n.a  .b:hover > .c,\n.d { color : red; margin: calc(1px + 2px) 0 }\n@media (max-width: 600px) { .a::before { content: \" ; \"; } }\n";
    let style = page::style(&[sheet.to_owned()]).unwrap();
    expect![[
        r#".a .b:hover>.c,.d{color :red;margin:calc(1px + 2px) 0}@media (max-width:600px){.a::before{content:" ; "}}"#
    ]]
    .assert_eq(&style);
    assert!(page::style(&["a { background: url(x) }".to_owned()]).is_err());
    let style = ":root{--space-3:1px;--line:red;--t:0}.a{margin:var(--space-3) var(--space-3,0);color:var(--line)}";
    expect![":root{--a:1px;--b:red;--t:0}.a{margin:var(--a) var(--a,0);color:var(--b)}"]
        .assert_eq(&page::short_properties(style, "setProperty(\"--t\")"));
}

/// Read again as it was written: a name that was not exchanged like its declaration is nobody's.
#[test]
fn the_script_of_the_page_has_no_name_that_nobody_declares() {
    let page = std::str::from_utf8(crate::PAGE.bytes).unwrap();
    let (_, behind) = page.split_once("<script type=\"module\">").unwrap();
    let (script, _) = behind.split_once("</script>").unwrap();
    assert_eq!(join::free_name(script), Ok(()));
}

#[test]
fn the_page_brings_everything_with_it() {
    let page = std::str::from_utf8(crate::PAGE.bytes).unwrap();
    let policy = crate::PAGE.policy.unwrap();
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.matches("<script").count(), 1, "one script");
    assert_eq!(page.matches("<style").count(), 1, "one style");
    for word in
        ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "//# source"]
    {
        assert!(!page.contains(word), "the page has `{word}`");
    }
    // No address of another machine, but for names of standards and what a person is shown.
    let foreign = page.find("https://").map(|at| page[at..].chars().take(60).collect::<String>());
    assert_eq!(foreign, None);
}
