// Whatever a model or a tool writes: no node and no attribute that could run something or ask another server.

import assert from "node:assert/strict";
import { test } from "node:test";
import { safeUrl } from "../src/lib/dom.js";
import { Markdown } from "../src/ui/markdown.js";
import { Terminal } from "../src/ui/terminal.js";
import { Thinking } from "../src/ui/thinking.js";
import { ToolCard } from "../src/ui/toolcard.js";
import { elements, textOf } from "./tree.mjs";

const TAGS = new Set("a blockquote br button code del details div em h3 h4 h5 h6 hr img input li ol p pre span strong summary table tbody td th thead tr ul".split(" "));
const ATTRIBUTES = new Set("alt aria-busy aria-label checked class created dir disabled href key onclick onscroll onload ontoggle open rel role scope src start style tabindex target title type updated".split(" "));
const STYLES = new Set(["color", "background-color", "--t"]);

function check(node, of) {
  for (const it of elements(node)) {
    assert.ok(TAGS.has(it.tag), `${of}: <${it.tag}>`);
    for (const [name, value] of Object.entries(it.attrs)) {
      assert.ok(ATTRIBUTES.has(name), `${of}: ${name}`);
      if (value === undefined || value === null) continue;
      if (name.startsWith("on")) assert.equal(typeof value, "function", `${of}: ${name}`);
      if (name === "type") assert.ok(["button", "checkbox"].includes(value));
      if (name === "style") for (const [property, colour] of Object.entries(value)) assert.ok(STYLES.has(property) && /^rgb\(\d{1,3} \d{1,3} \d{1,3}\)$/.test(colour), `${of}: ${property}: ${colour}`);
      if (name === "href") {
        // An address that no browser understands leads nowhere.
        const { protocol, username } = URL.canParse(value) ? new URL(value) : { protocol: "https:", username: "" };
        assert.ok(/^(?:https?:\/\/|mailto:)/i.test(value) && ["http:", "https:", "mailto:"].includes(protocol), `${of}: ${value}`);
        assert.equal(safeUrl(value), value);
        assert.equal(it.attrs.rel, "noopener noreferrer");
        assert.equal(it.attrs.target, "_blank");
        assert.ok(username === "" || it.attrs.title === value, "the whole address can be seen");
      }
      if (name === "src") assert.match(value, /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/, of);
    }
    if (it.tag === "img") assert.ok(it.attrs.src, of);
  }
}

const ADDRESSES = [
  "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\tscript:alert(1)", "java\nscript:alert(1)", "java\rscript:alert(1)", "java\u0000script:alert(1)", "\u0001javascript:alert(1)", " javascript:alert(1)", "\u00a0javascript:alert(1)", "\ufeffjavascript:alert(1)",
  "javascript&colon;alert(1)", "java&#115;cript:alert(1)", "&#106;avascript:alert(1)", "&#x6A;avascript:alert(1)", "javascript&#58;alert(1)", "java&#9;script:alert(1)", "java&#10;script:alert(1)", "javascript\\:alert(1)", "j\\avascript:alert(1)",
  "data:text/html,<script>alert(1)</script>", "data:text/html;base64,PHNjcmlwdD4=", "DATA:text/html,x", "data:image/svg+xml,<svg onload=alert(1)>", "data:image/png;base64,AAAA", "vbscript:msgbox(1)", "VBScript:x", "file:///etc/passwd", "blob:https://x/y", "about:blank", "view-source:https://x", "jar:x!/", "feed:javascript:alert(1)", "filesystem:https://x/y", "ms-settings:x", "intent://x", "chrome://settings",
  "//evil.org", "/\\evil.org", "\\\\evil.org", "/api/logout", "#/config", "#", "?x", "x.html", "https:javascript:alert(1)", "https:/evil.org", "https:\\\\evil.org", "https:///evil.org", "https://x\u202egpj.exe", "https://x.org/\u0007a", "https://x.org/ a", "ｊavascript:alert(1)", "javaſcript:alert(1)", "javascript：alert(1)", "％6aavascript:alert(1)", "%6aavascript:alert(1)", "mailto:", "mailto:\u0000a@b", "http://", "https://",
];

test("an address that is not on the list becomes text, in every place of an address", () => {
  for (const address of ADDRESSES) {
    for (const text of [`[x](${address})`, `[x](<${address}>)`, `![x](${address})`, `<${address}>`, address, `[x](${address} "t")`, `[![x](${address})](${address})`, `| a |\n|---|\n| [x](${address}) |`, `[x]: ${address}\n\n[x]`, `# [x](${address})`]) {
      for (const isOpen of [false, true]) {
        const shown = Markdown({ text, isOpen });
        check(shown, JSON.stringify(text));
        const links = [...elements(shown)].filter((it) => it.tag === "a");
        // What is found inside such an address may be one of its own; what it began as is none.
        for (const it of links) assert.match(it.attrs.href, /^(?:https?:\/\/[^\s\\/]|mailto:.+@)/, text);
      }
    }
  }
});

test("good addresses stay links", () => {
  for (const address of ["https://x.org", "HTTPS://X.ORG/a?b=c&d=e#f", "http://127.0.0.1:8080/", "mailto:a@b.org", "https://x.org/ü/日本"]) {
    const links = [...elements(Markdown({ text: `[x](${address})` }))].filter((it) => it.tag === "a");
    assert.deepEqual(links.map((it) => it.attrs.href), [address]);
  }
});

const MARKUP = [
  "<script>alert(1)</script>", "<SCRIPT SRC=//evil.org></SCRIPT>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<a href=javascript:alert(1)>x</a>", "<iframe srcdoc='<script>alert(1)</script>'></iframe>", "<style>*{background:url(//evil.org)}</style>", "<base href=//evil.org>", "<form action=//evil.org><input name=a></form>", "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>", "<!--><img src=x onerror=alert(1)>-->", "<![CDATA[<script>alert(1)</script>]]>", "<?xml version=1?>", "&lt;script&gt;alert(1)&lt;/script&gt;", "&#60;script&#62;", "\\<script>", "<scr\u0000ipt>", "<br onload=alert(1)>", "<br/onmouseover=alert(1)>",
  "[x](https://a.org\"onmouseover=\"alert(1))", "[x](https://a.org 'onclick=alert(1)')", "![\" onerror=\"alert(1)](https://a.org)", "```\"><script>alert(1)</script>\nx\n```", "```js onload=alert(1)\nx\n```", "`<script>`", "- [x](javascript:a)", "> <script>", "| <script> |\n|---|\n| <img src=x onerror=y> |", "[a](https://a.org)<script>", "<https://a.org/\"onclick=alert(1)>", "<a@b.org\"onclick=x>", "https://a.org/\"onclick=alert(1)", "[<img src=x onerror=alert(1)>](https://a.org)", "{{constructor.constructor('alert(1)')()}}", "[__proto__](https://a.org)", "```__proto__\nx\n```", "```constructor\nx\n```",
];

test("markup is text", () => {
  for (const text of MARKUP) {
    for (const isOpen of [false, true]) check(Markdown({ text, isOpen }), text);
    check(Terminal({ text }), text);
    check(Thinking({ text, id: {} }), text);
  }
  assert.equal(textOf(Markdown({ text: "<script>alert(1)</script>" })), "<script>alert(1)</script>");
});

test("every mixture of pieces is harmless", () => {
  const pieces = ["[", "]", "(", ")", "<", ">", "!", "*", "**", "_", "`", "```\n", "\n", "\n\n", "> ", "- ", "1. ", "| ", "|-|\n", "# ", "javascript:alert(1)", "https://a.org", "data:text/html,x", "\\", "&#106;", "\"", "'", " ", "x", "~~", "<script>", "\u202e", "\u0000", "\t", "    "];
  // The same mixtures each time.
  let seed = 7;
  const next = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  for (let round = 0; round < 4000; round += 1) {
    let text = "";
    for (let n = next(24); n >= 0; n -= 1) text += pieces[next(pieces.length)];
    check(Markdown({ text, isOpen: round % 2 === 0 }), JSON.stringify(text));
  }
});

test("calls of tools show pictures of four kinds only, and everything else as text", () => {
  const evil = "<img src=x onerror=alert(1)>\u001b]8;;javascript:alert(1)\u0007click\u001b]8;;\u0007\u202e";
  const attachments = [
    { mimeType: "image/png", data: "AAAA" }, { mimeType: "image/svg+xml", data: "PHN2Zz4=" }, { mimeType: "text/html", data: "AAAA" }, { mimeType: "image/png", data: 'AA"onerror="x' }, { mimeType: "image/png;x", data: "AAAA" }, { mimeType: "image/png", data: undefined }, { mimeType: "IMAGE/PNG", data: "AA==" },
  ];
  for (const tool of ["shell.exec", "file.edit", "file.write", "file.patch", "web.fetch", "todo.write", "mcp__a__b", evil, "constructor", "__proto__"]) {
    const args = { command: evil, path: evil, old_string: evil, new_string: `${evil}2`, input: evil, url: "javascript:alert(1)", content: evil, todos: [{ content: evil, status: evil }], phases: undefined };
    for (const state of ["running", "failed"]) {
      const shown = ToolCard({ call: { callId: "1", tool, args, state, output: evil, error: evil, attachments } });
      check(shown, tool);
      assert.equal([...elements(shown)].filter((it) => it.tag === "img").length, 1);
      assert.ok(!textOf(shown).includes("\u202e"), tool);
    }
  }
  for (const args of [null, undefined, "text", 5, [], { edits: "x" }, { edits: [null, { old_string: 1 }] }, { todos: [null, 5] }, { phases: [null, { tasks: "x" }] }]) {
    for (const tool of ["shell.exec", "file.edit", "todo.write", "file.patch", "subagent.spawn", "x"]) check(ToolCard({ call: { callId: "1", tool, args, state: "failed", result: { success: false, output: "", error: "no" } } }), tool);
  }
});
