//! Colours by example, and what must hold for any text: nothing lost, nothing added, no time wasted.

use std::time::{Duration, Instant};

use super::*;

const NAMES: [&str; 14] =
    ["rust", "python", "js", "ts", "go", "c", "shell", "json", "yaml", "toml", "html", "css", "sql", "diff"];

const HOSTILE_BYTES: usize = 32 * 1024;

/// The page with its spans as `k(...)`.
fn marked(name: &str, text: &str) -> String {
    let mut out = String::new();
    write(&mut out, text, by_name(name));
    let out = out.replace("</span>", ")").replace("\">", "(").replace("<span class=\"", "");
    out.replace("&quot;", "\"").replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn unmarked(name: &str, text: &str) -> String {
    let mut out = String::new();
    write(&mut out, text, by_name(name));
    let mut plain = out.replace("</span>", "");
    while let Some(at) = plain.find("<span class=\"") {
        let end = at + plain[at..].find('>').unwrap() + 1;
        plain.replace_range(at..end, "");
    }
    plain.replace("&quot;", "\"").replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[test]
fn rust_is_coloured() {
    assert_eq!(
        marked("rust", "fn f<'a>(x: &'a str) -> u8 { b'\\n' + 0x1f } // \"no\""),
        "k(fn) f<t('a)>(x: &t('a) k(str)) -> k(u8) { bs('\\n') + n(0x1f) } c(// \"no\")"
    );
    assert_eq!(marked("rs", "r#\"a\"b\"# + \"x\\\"y\""), "s(r#\"a\"b\"#) + s(\"x\\\"y\")");
    assert_eq!(marked("rust", "println!(\"{}\", Vec::new())"), "f(println)!(s(\"{}\"), t(Vec)::f(new)())");
}

#[test]
fn scripts_are_coloured() {
    assert_eq!(marked("py", "def f(): # x\n  return '''a\nb'''"), "k(def) f(f)(): c(# x)\n  k(return) s('''a\nb''')");
    assert_eq!(marked("js", "const s = `a\n${b}` + 'c' /* d */"), "k(const) s = s(`a\n${b}`) + s('c') c(/* d */)");
    assert_eq!(marked("bash", "if [ $X ]; then ls a#b # c\nfi"), "k(if) [ t($X) ]; k(then) ls a#b c(# c)\nk(fi)");
    assert_eq!(marked("go", "x := `raw\\` + 1"), "x := s(`raw\\`) + n(1)");
    assert_eq!(marked("sql", "SELECT 'it' FROM t -- x"), "k(SELECT) s('it') k(FROM) t c(-- x)");
}

#[test]
fn data_is_coloured() {
    assert_eq!(marked("json", "{\"a\": \"b\", \"c\": [1, true]}"), "{t(\"a\"): s(\"b\"), t(\"c\"): [n(1), k(true)]}");
    assert_eq!(marked("yaml", "a-b: yes # c"), "t(a-b): k(yes) c(# c)");
    assert_eq!(marked("toml", "[x]\na = 'b'"), "[x]\nt(a) = s('b')");
    assert_eq!(marked("css", "a { color: red; }"), "a { t(color): red; }");
    assert_eq!(marked("html", "<a href=\"x\">t</a><!-- c"), "k(<a) href=s(\"x\")k(>)tk(</a)k(>)c(<!-- c)");
    assert_eq!(marked("diff", "@@ -1 +1 @@\n-a\n+b\n c"), "dm(@@ -1 +1 @@\n)dr(-a\n)da(+b\n) c");
}

#[test]
fn no_character_is_lost_or_added() {
    let bits = [
        "'",
        "\"",
        "`",
        "\\",
        "r#\"",
        "\"#",
        "/*",
        "*/",
        "//",
        "#",
        "<!--",
        "-->",
        "<",
        ">",
        "&",
        "$",
        "${",
        "}",
        "'a",
        "'\\",
        "\u{e9}",
        "\u{1f600}",
        "'\u{1f600}'",
        "\n",
        " ",
        "x",
        "1.",
        "..",
        "br",
        "\"\"\"",
        "'''",
        "+",
        "-",
        "@@",
        "if",
        "Type",
        "f(",
        "a:",
        "a =",
        "--",
        "\u{2028}",
    ];
    let mut seed = 7u64;
    for _ in 0..400 {
        let mut text = String::new();
        for _ in 0..40 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(bits[(seed >> 33) as usize % bits.len()]);
        }
        for name in NAMES {
            assert_eq!(unmarked(name, &text), text, "{name}");
        }
    }
}

#[test]
fn hostile_text_takes_no_longer_than_other_text() {
    let bits = [
        "'", "\"", "`", "\\", "r#", "r#\"", "\"#", "/*", "//", "#", "<", "<!--", "$", "${", "a ", "'a", "\n", "\"\"\"",
        "1", "1.", "-", "\u{e9}", "a\t\t:",
    ];
    for bit in bits {
        let text = bit.repeat(HOSTILE_BYTES / bit.len());
        for name in NAMES {
            let start = Instant::now();
            let mut out = String::new();
            write(&mut out, &text, by_name(name));
            // Quadratic work on this much text takes many seconds.
            assert!(start.elapsed() < Duration::from_secs(2), "{name} {bit:?}: {:?}", start.elapsed());
        }
    }
}

#[test]
fn what_is_too_long_or_unknown_stays_plain() {
    let long = format!("fn {}", "x".repeat(COLOUR_BYTES_MAX));
    assert!(!marked("rust", &long).contains("k("));
    assert_eq!(marked("klingon", "if <x>"), "if <x>");
    assert!(by_path("src/deep/main.RS").is_some() && by_path("Cargo.lock").is_some());
    assert!(by_path("no_ending").is_none() && by_path("").is_none());
}
