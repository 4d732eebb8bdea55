import assert from "node:assert/strict";
import { test } from "node:test";
import { terminalLines, withoutEscapes } from "../src/ui/ansi.js";
import { Terminal, contrast, look } from "../src/ui/terminal.js";
import { elements, find, neverDraw, show, textOf } from "./tree.mjs";

neverDraw();

const E = "\u001b";
const plain = (text) => withoutEscapes(text);

const TEXTS = [
  ["a\r\nb\n", "a\nb"],
  ["10%\r20%\r100%", "100%"],
  ["abcdef\rxy", "xycdef"],
  [`abcdef\r${E}[Kxy`, "xy"],
  [`abcdef${E}[2K\rxy`, "xy"],
  ["abc\b\bX", "aXc"],
  ["\b\b\bx", "x"],
  [`a${E}[3Cb`, "a   b"],
  [`abc${E}[2Dx`, "axc"],
  [`abc${E}[1Gx`, "xbc"],
  [`${E}]0;title\u0007text`, "text"],
  [`${E}]8;;https://x.org${E}\\link${E}]8;;${E}\\`, "link"],
  [`${E}]0;never ended\nnext`, "\nnext"],
  [`${E}[?25l${E}[2J${E}[Hhi${E}[?25h`, "hi"],
  [`${E}(B${E}=${E}>${E}7text${E}8${E}c`, "text"],
  [`${E}P1$r0m${E}\\x`, "x"],
  [`a${E}`, "a"],
  [`a${E}[`, "a"],
  [`a${E}[3`, "a"],
  ["\u009b31mred\u009b0m", "red"],
  ["bell\u0007 null\u0000 del\u007f", "bell null del"],
  ["a\tb", "a\tb"],
  ["😀x\r😎", "😎x"],
  [`${E}[999999999Cx`, `${" ".repeat(500)}x`],
  ["abc\u202etxt.exe", "abc‹202E›txt.exe"],
];

test("texts as a terminal shows them", () => {
  for (const [given, wanted] of TEXTS) assert.equal(plain(given), wanted, JSON.stringify(given));
});

const styleOf = (codes) => terminalLines(`${E}[${codes}mx`)[0][0][1];

test("colours and kinds", () => {
  assert.equal(styleOf("31").fg, 1);
  assert.equal(styleOf("97").fg, 15);
  assert.equal(styleOf("44").bg, 4);
  assert.equal(styleOf("103").bg, 11);
  assert.equal(styleOf("38;5;9").fg, 9);
  assert.deepEqual(styleOf("38;5;196").fg, [255, 0, 0]);
  assert.deepEqual(styleOf("38;5;244").fg, [128, 128, 128]);
  assert.deepEqual(styleOf("38;2;1;2;3").fg, [1, 2, 3]);
  assert.deepEqual(styleOf("48:2::1:2:3").bg, [1, 2, 3]);
  assert.deepEqual(styleOf("38:2:1:2:3").fg, [1, 2, 3]);
  assert.deepEqual(styleOf("38:5:196").fg, [255, 0, 0]);
  assert.equal(styleOf("38;2;300;0;0").fg, null);
  assert.equal(styleOf("38;5").fg, null);
  assert.equal(styleOf("4:3").underline, true);
  assert.equal(styleOf("1;31;0").fg, null);
  const all = styleOf("1;2;3;4;7;9");
  assert.deepEqual([all.bold, all.dim, all.italic, all.underline, all.inverse, all.strike], Array(6).fill(true));
  assert.deepEqual(styleOf("1;2;3;4;7;9;22;23;24;27;29"), styleOf("0"));
  assert.equal(styleOf("38;2;1;2;3;1").bold, true);
  assert.equal(terminalLines(`${E}[31ma\nb`)[1][0][1].fg, 1);
  assert.equal(terminalLines(`${E}[31ma${E}[mb`)[0][1][1].fg, null);
  assert.equal(terminalLines(`${E}[>4;2mx`)[0][0][1].underline, false);
});

test("what a program paints is readable, whatever it chose", () => {
  const parse = (text) => text.match(/\d+/g).map(Number);
  for (let bg = 0; bg < 256; bg += 3) {
    for (let fg = 0; fg < 256; fg += 7) {
      const made = look(styleOf(`38;5;${fg};48;5;${bg}`)).style;
      assert.ok(contrast(parse(made.color), parse(made["background-color"])) >= 4.5, `${fg} on ${bg}`);
    }
  }
  assert.equal(look(styleOf("31")).class, "t-1");
  assert.equal(look(styleOf("1;91")).class, "t-bold t-1");
  assert.equal(look(styleOf("7")).class, "t-inverse");
  assert.equal(look(styleOf("90")).class, "t-0 t-dim");
  assert.deepEqual(look(styleOf("38;2;9;8;7")), { class: "t-rgb", style: { "--t": "rgb(9 8 7)" } });
  assert.ok(look(styleOf("7;31")).style["background-color"]);
});

test("lines without colours are one node; coloured words are spans", () => {
  const many = Terminal({ text: "line\n".repeat(150) });
  assert.equal(find(many, (it) => it.tag === "pre").children.length, 1);
  assert.equal(show(find(Terminal({ text: `a ${E}[1;32mok${E}[0m b\n${E}[31mc` }), (it) => it.tag === "pre").children), 'a <span class="t-bold t-2">ok</span> b\n<span class="t-1">c</span>');
});

test("long outputs are shown in part until somebody wants all", () => {
  const text = Array.from({ length: 5000 }, (_, n) => `line ${n + 1}`).join("\n");
  const holder = {};
  const first = Terminal({ text, holder });
  const shown = textOf(first);
  assert.match(shown, /line 50(?!\d)/);
  assert.doesNotMatch(shown, /line 51(?!\d)/);
  assert.match(shown, /Show all 5,000 lines \(4,800 hidden\)/);
  assert.match(shown, /line 4851(?!\d)[^]*line 5000$/);
  assert.equal(Terminal({ text, holder }), first);
  find(first, (it) => it.tag === "button").attrs.onclick();
  const all = Terminal({ text: `${text}\nmore`, holder });
  assert.equal(textOf(all).split("\n").length, 5001);
  assert.equal([...elements(all)].filter((it) => it.tag === "button").length, 0);
});

test("hostile outputs stay small and quick", () => {
  const cells = (text) => terminalLines(text).reduce((sum, runs) => sum + runs.reduce((all, [it]) => all + it.length, 0), 0);
  for (const part of [`${E}[500Cx${E}[2K`, `${E}[31m`, `${E}[`, E, `${E}]`, "\r", "x\r", "\b", `${E}[1;1;1;1;1;1;1m`, `${E}P`, "\u009b"]) {
    const text = part.repeat(Math.ceil(64 * 1024 / part.length));
    assert.ok(cells(text) <= text.length, JSON.stringify(part));
  }
});
