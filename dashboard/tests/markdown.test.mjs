import assert from "node:assert/strict";
import { test } from "node:test";
import { Markdown, MarkdownCache } from "../src/ui/markdown.js";
import { work } from "../src/ui/mdtree.js";
import { depthOf, elements, find, neverDraw, show, textOf } from "./tree.mjs";

neverDraw();

const inner = (text, isOpen) => show(Markdown({ text, isOpen }).children, ["href", "start", "type", "checked"]);
const paragraph = (text, isOpen) => inner(text, isOpen).replace(/^<p>(.*)<\/p>$/s, "$1");

const LINES = [
  ["plain", "plain"],
  ["*em* _em_ **strong** __strong__ ~~gone~~", "<em>em</em> <em>em</em> <strong>strong</strong> <strong>strong</strong> <del>gone</del>"],
  ["***both***", "<em><strong>both</strong></em>"],
  ["**a *b* c**", "<strong>a <em>b</em> c</strong>"],
  ["*a **b** c*", "<em>a <strong>b</strong> c</em>"],
  ["snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"],
  ["foo*bar*baz", "foo<em>bar</em>baz"],
  ["**unclosed and *this", "**unclosed and *this"],
  ["*a **b* c**", "<em>a <em><em>b</em> c</em></em>"],
  ["~5 to ~10", "~5 to ~10"],
  ["これは**重要。**です", "これは<strong>重要。</strong>です"],
  ["**✅ done** next", "<strong>✅ done</strong> next"],
  ["`a * b` and ``c ` d``", "<code>a * b</code> and <code>c ` d</code>"],
  ["`unclosed", "`unclosed"],
  ["\\*not em\\* \\q", "*not em* \\q"],
  ["a  \nb\\\nc\nd", "a  <br>b<br>c\nd"],
  ["cell<br>next<br/>", "cell<br>next<br>"],
  ["&lt;b&gt; &amp; &copy; &#65;&#x42; &nope; &#0;", "&lt;b&gt; &amp; © AB &amp;nope; \ufffd"],
  ["[text](https://x.org/a_b_c)", '<a href="https://x.org/a_b_c">text</a>'],
  ['[t](<https://x.org/a b> "title")', "t<span> (https://x.org/a b)</span>"],
  ['[t](https://x.org "title")', '<a href="https://x.org">t</a>'],
  ["[**b** `c`](https://x.org)", '<a href="https://x.org"><strong>b</strong> <code>c</code></a>'],
  ["[a](https://x.org/(y)z)", '<a href="https://x.org/(y)z">a</a>'],
  ["[https://x.org](https://y.org)", '<a href="https://y.org">https://x.org</a>'],
  ["[a [b](https://x.org) c](https://y.org)", '[a <a href="https://x.org">b</a> c](<a href="https://y.org">https://y.org</a>)'],
  ["see https://x.org/a_b*c*, ok", 'see <a href="https://x.org/a_b*c">https://x.org/a_b*c</a>*, ok'],
  ["(https://x.org/a(b))", '(<a href="https://x.org/a(b)">https://x.org/a(b)</a>)'],
  ["**https://x.org**", '<strong><a href="https://x.org">https://x.org</a></strong>'],
  ["<https://x.org> <a@b.org>", '<a href="https://x.org">https://x.org</a> <a href="mailto:a@b.org">a@b.org</a>'],
  ["![alt](https://x.org/a.png)", '<a href="https://x.org/a.png">Image: alt</a>'],
  ["[![alt](https://x.org/a.png)](https://y.org)", '<a href="https://y.org">alt</a>'],
  ["[main.rs](src/main.rs)", "main.rs<span> (src/main.rs)</span>"],
  ["[src/main.rs](src/main.rs)", "src/main.rs"],
  ["[not a link] [x]", "[not a link] [x]"],
  ["<b onclick=x>html</b>", "&lt;b onclick=x&gt;html&lt;/b&gt;"],
];

test("the inside of a line", () => {
  for (const [given, wanted] of LINES) assert.equal(paragraph(given), wanted, given);
});

const BLOCKS = [
  ["# a\n\n## b ##\n\n####### no", "<h3>a</h3><h4>b</h4><p>####### no</p>"],
  ["###### first\n# second", "<h3>first</h3><h3>second</h3>"],
  ["a\n===\nb\n---", "<h3>a</h3><h4>b</h4>"],
  ["a\nb\n\nc", "<p>a\nb</p><p>c</p>"],
  ["a\n\n---\n***\n", "<p>a</p><hr><hr>"],
  ["> a\n> b\nlazy\n\nout", "<blockquote><p>a\nb\nlazy</p></blockquote><p>out</p>"],
  ["> > deep", "<blockquote><blockquote><p>deep</p></blockquote></blockquote>"],
  ["- a\n- b\n  - c\n  - d\n- e", "<ul><li>a</li><li>b<ul><li>c</li><li>d</li></ul></li><li>e</li></ul>"],
  ["1. a\n  - b\n2. c", "<ol><li>a<ul><li>b</li></ul></li><li>c</li></ol>"],
  ["3) a\n4) b", '<ol start="3"><li>a</li><li>b</li></ol>'],
  ["- a\n\n- b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>"],
  ["- a\n\n  more\n- b", "<ul><li><p>a</p><p>more</p></li><li><p>b</p></li></ul>"],
  ["* a\n+ b", "<ul><li>a</li></ul><ul><li>b</li></ul>"],
  ["- [ ] open\n- [x] done", '<ul><li><input type="checkbox">open</li><li><input type="checkbox" checked>done</li></ul>'],
  ["a\n1986. was a year", "<p>a\n1986. was a year</p>"],
  ["a\n1. one", "<p>a</p><ol><li>one</li></ol>"],
  ["-\n- b", "<ul><li></li><li>b</li></ul>"],
  ["| a | b |\n|---|:-:|\n| 1 | 2 \\| 3 |\n| 4 |", "<div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2 | 3</td></tr><tr><td>4</td><td></td></tr></tbody></table></div>"],
  ["text\n| a |\n|---|\n| 1 |", "<p>text</p><div><table><thead><tr><th>a</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table></div>"],
  ["| a | b |\n|---|", "<p>| a | b |\n|---|</p>"],
  ["<script>\nalert(1)\n</script>", "<p>&lt;script&gt;\nalert(1)\n&lt;/script&gt;</p>"],
];

test("blocks", () => {
  for (const [given, wanted] of BLOCKS) assert.equal(inner(given), wanted, given);
});

const codeOf = (text, isOpen) => [...elements(Markdown({ text, isOpen }))].filter((it) => it.tag === "code").map(textOf);

test("code stays what it is", () => {
  assert.deepEqual(codeOf("```rust\nfn a() {\n  \"x\" // y\n}\n```"), ["fn a() {\n  \"x\" // y\n}"]);
  assert.deepEqual(codeOf("~~~\n```\n~~~"), ["```"]);
  assert.deepEqual(codeOf("````\n```\n````"), ["```"]);
  assert.deepEqual(codeOf("    indented\n\n      more\n\ntext"), ["indented\n\n  more"]);
  assert.deepEqual(codeOf("- a\n  ```\n  code\n   x\n  ```"), ["code\n x"]);
  assert.deepEqual(codeOf("> ```\n> a\n> ```"), ["a"]);
  assert.deepEqual(codeOf("```\nunclosed *a*"), ["unclosed *a*"]);
  assert.deepEqual(codeOf("\ttab"), ["tab"]);
});

test("code of every language is coloured without losing a character", () => {
  const code = "/* a */ 'b' \"c\\\" `d` # e\n-- f 12.5 if for fn def select '\n\"\"\"x\ny /* open \\";
  for (const language of ["js", "rust", "python", "sh", "toml", "json", "sql", "go", "css", "constructor", "__proto__"]) assert.deepEqual(codeOf(`\`\`\`${language}\n${code}\n\`\`\``), [code], language);
  const spans = [...elements(Markdown({ text: "```js\nconst a = \"b\"; // c 1\nlet d = 2;\n```" }))].filter((it) => it.attrs.class?.startsWith("hl-"));
  assert.deepEqual(spans.map((it) => `${it.attrs.class} ${textOf(it)}`).sort(), ["hl-note // c 1", "hl-number 2", "hl-text \"b\"", "hl-word const", "hl-word let"]);
});

test("what is being written is shown as it will be", () => {
  assert.equal(paragraph("some **bold te", true), "some <strong>bold te</strong>");
  assert.equal(paragraph("some **bold*", true), "some <strong>bold</strong>");
  assert.equal(paragraph("a `code x", true), "a <code>code x</code>");
  assert.equal(paragraph("see [the docs](https://exa", true), "see the docs");
  assert.equal(paragraph("see [the *docs", true), "see [the <em>docs</em>");
  assert.equal(paragraph("[*a](https://x.org) b", true), '<a href="https://x.org">*a</a> b');
  assert.equal(inner("text\n-", true), "<p>text</p>");
  assert.equal(inner("text\n#", true), "<p>text</p>");
  assert.equal(inner("- a\n-", true), "<ul><li>a</li></ul>");
  assert.deepEqual(codeOf("```js\nlet a", true), ["let a"]);
  assert.deepEqual(codeOf("```js\nlet a\n``", true), ["let a\n"]);
  assert.equal(paragraph("some **bold te", false), "some **bold te");
});

const LONG = `# Title\n\nA paragraph with **bold** and \`code\`\nthat goes on.\n\n- one\n- two\n  - three\n\n    more\n\n1. x\n\n\`\`\`rust\nfn main() {}\n\n// # no heading\n\`\`\`\n\n> quote\n> \`\`\`\n> code\n> \`\`\`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nHead\n---\n***bold*** text\n***\nend\n### last\n\nbefore\n\`\`\`x\`\`\` is no fence\n\n1. a\n10) b\n`;

test("a text that grows by single characters ends as the whole text does", () => {
  const cache = new MarkdownCache();
  for (let end = 1; end <= LONG.length; end += 1) {
    const shown = show(Markdown({ text: LONG.slice(0, end), isOpen: true, cache }));
    assert.equal(shown, show(Markdown({ text: LONG.slice(0, end), isOpen: true })), JSON.stringify(LONG.slice(Math.max(0, end - 40), end)));
  }
  assert.equal(show(Markdown({ text: LONG, isOpen: false, cache })), show(Markdown({ text: LONG })));
});

test("finished blocks are not read again, and stay the same nodes", () => {
  const cache = new MarkdownCache();
  let text = "";
  for (let n = 0; n < 400; n += 1) {
    text += `Paragraph number ${n} with *some* words.\n\n`;
    Markdown({ text, isOpen: true, cache });
  }
  assert.ok(cache.read < text.length * 4, `${cache.read} characters read of ${text.length}`);
  const before = Markdown({ text, isOpen: true, cache }).children;
  const after = Markdown({ text: `${text}more`, isOpen: true, cache }).children;
  assert.equal(after[0], before[0]);
  assert.equal(after[300], before[300]);
  assert.equal(new Set(after.map((it) => it.key)).size, after.length);
  assert.equal(Markdown({ text: `${text}more`, isOpen: true, cache }), Markdown({ text: `${text}more`, isOpen: true, cache }));
  assert.equal(show(Markdown({ text: "other", isOpen: false, cache })), show(Markdown({ text: "other" })));
});

test("a very long text is shown in part, and whole when somebody wants it", () => {
  const cache = new MarkdownCache();
  const shown = Markdown({ text: "word ".repeat(60_000), cache });
  assert.match(textOf(shown.children.at(-1)), /Show 200,000 more characters/);
  find(shown, (it) => it.tag === "button").attrs.onclick();
  assert.equal(textOf(Markdown({ text: "word ".repeat(60_000), cache })).length, 60_000 * 5 - 1);
  // What somebody saw growing does not shrink when it is done.
  const grown = new MarkdownCache();
  Markdown({ text: "word ".repeat(50_000), isOpen: true, cache: grown });
  assert.equal(textOf(Markdown({ text: "word ".repeat(60_000), cache: grown })).length, 60_000 * 5 - 1);
});

// Texts of about `size` characters, twice that where two halves belong together.
function hostile(size) {
  const fill = (part) => part.repeat(Math.ceil(size / part.length)).slice(0, size);
  const rows = Math.floor(Math.sqrt(size * 2));
  return {
    "brackets that open": fill("["), "brackets that close": fill("]"), "pairs of brackets": fill("[]"), "half links": fill("[a]("), "half links with text": fill("[a](b"), "links in links": `${fill("[a")}${fill("](u)")}`,
    "titles without an end": fill('[a](b "'), "titles in both quotes": fill("[a](b '[a](b \""), "angles": fill("[a](<b"), "less than": fill("<"), "half addresses": fill("<https://"), "images in images": `${fill("![a")}${fill("](x)")}`,
    "asterisks": fill("*"), "asterisks with letters": fill("*a "), "asterisks and underscores": fill("*a_ "), "many lengths": fill("*a **b ***c "), "nested emphasis": `${fill("*")}a${fill("*")}`, "nested strong": `${fill("**a ")}${fill("b** ")}`, "openers of one kind, closers of another": `${fill("a**b")}${fill("c* ")}`,
    "tildes": fill("~~a"), "backticks": fill("`"), "backticks of growing runs": Array.from({ length: rows }, (_, n) => "`".repeat(n + 1)).join("a"), "backticks with letters": fill("`a``b```c"),
    "quotes": fill("> "), "quotes by line": fill(">>>>>>>>>>>>>>> a\n"), "lists in a line": fill("- "), "deep lists": Array.from({ length: rows }, (_, n) => `${" ".repeat(n * 2)}- a`).join("\n"), "list and blank": fill("- a\n\n"), "numbers": fill("1. "), "underlines": fill("a\n-\n"), "rules": fill("- - -a\n"),
    "tables": fill("|"), "a table of bars": `${fill("|a")}\n${fill("|-")}`, "dashes": fill("|-|\n"), "half tables": fill("a|b\n-|-|-\n"), "fences": fill("```\n"), "half fences": fill("```a`\n"), "entities": fill("&#"), "ampersands": fill("&amp"), "escapes": fill("\\"), "addresses": fill("http://a"), "closing marks behind an address": `https://a${fill(")")}`, "h": fill("h"), "spaces": fill(" "), "space and mark": fill(" #"), "heading": `# ${fill(" #")}`, "trailing": `# ${fill(" ")}a`, "lines": fill("\n"), "tabs": fill("\t"), "tab lines": fill("\ta\n"), "exclamations": fill("!["), "breaks": fill("a  \n"), "marks": fill("(*(_(~~("),
  };
}

test("what is too much to be drawn in pieces is plain, and all there", () => {
  for (const part of ["- a\n", "a\n\n", "# a\n", "> a\n\n", "```\na\n```\n", "1. a\n\n", "- - a\n"]) {
    const shown = Markdown({ text: part.repeat(10_000).slice(0, 99_000) });
    assert.ok([...elements(shown)].length < 40_000, part);
    assert.equal(shown.children.at(-1).attrs.class, "md-rest", part);
    assert.ok(textOf(shown).replace(/[^a]/g, "").length >= Math.min(10_000, Math.floor(99_000 / part.length)), part);
  }
  const table = Markdown({ text: `| a |\n|---|\n${"| b |\n".repeat(9000)}` });
  assert.equal(textOf(table).replace(/[^b]/g, "").length, 9000);
});

test("hostile texts cost steps in proportion to their length, and make no deep tree", () => {
  const smaller = hostile(25_000);
  const whole = (text, isOpen) => Markdown({ text, isOpen, cache: Object.assign(new MarkdownCache(), { isWhole: true }) });
  for (const [name, text] of Object.entries(hostile(100_000))) {
    for (const isOpen of [false, true]) {
      work.steps = 0;
      whole(smaller[name], isOpen);
      const few = work.steps;
      work.steps = 0;
      const shown = whole(text, isOpen);
      assert.ok(work.steps <= text.length * 45, `${name}: ${work.steps} steps for ${text.length} characters`);
      assert.ok(work.steps <= few * 5 + 1000, `${name}: ${few} steps, and four times the text ${work.steps}`);
      const deepest = depthOf(shown);
      assert.ok(deepest <= 60, `${name}: ${deepest} deep`);
      const nodes = [...elements(shown)].length;
      assert.ok(nodes <= 60_000, `${name}: ${nodes} elements`);
    }
  }
});
