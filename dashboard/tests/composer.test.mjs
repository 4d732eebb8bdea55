import assert from "node:assert/strict";
import { test } from "node:test";
import { attachmentOf, limitsOf, matchingCommands, refuse, sendFault, typedCommand } from "../src/ui/attaching.js";
import { find, neverDraw, textOf } from "./tree.mjs";

neverDraw();
// The connection is made of these when its module is read; nothing connects here.
globalThis.location = { protocol: "http:", host: "gateway.test" };
globalThis.WebSocket ??= class {};
const { Composer } = await import("../src/ui/composer.js");

const COMMANDS = [{ name: "model", args: "NAME", summary: "Another model" }, { name: "/compact", summary: "Make room" }, { name: "remodel", summary: "x" }, { name: "stop", summary: "End it" }];

function composer(more) {
  const state = { text: "", attachments: [] };
  const sent = [];
  const stopped = [];
  const draw = () => Composer({ state, onsend: (it) => sent.push(it), onstop: () => stopped.push(1), commands: COMMANDS, ...more });
  const area = () => find(draw(), (it) => it.tag === "textarea").attrs;
  const type = (text) => area().oninput({ target: { value: text } });
  const key = (name, extra) => {
    let isHandled = false;
    area().onkeydown({ key: name, preventDefault: () => (isHandled = true), stopPropagation() {}, ...extra });
    return isHandled;
  };
  const button = (word) => find(draw(), (it) => it.tag === "button" && textOf(it) === word)?.attrs;
  return { state, sent, stopped, draw, area, type, key, button };
}

test("Enter sends, with Shift it does not, and not while a word is put together", () => {
  const { type, key, sent } = composer();
  type("hello");
  assert.equal(key("Enter", { shiftKey: true }), false);
  assert.equal(key("Enter", { isComposing: true }), false);
  assert.equal(key("Enter", { keyCode: 229 }), false);
  assert.deepEqual(sent, []);
  assert.equal(key("Enter"), true);
  assert.deepEqual(sent, [{ text: "hello", attachments: [] }]);
});

test("nothing is lost by sending: the page empties the state", () => {
  const { type, key, state } = composer();
  type("hello");
  key("Enter");
  assert.equal(state.text, "hello");
});

test("what cannot be sent says why", () => {
  const empty = composer();
  assert.equal(empty.button("Send").disabled, true);
  assert.equal(empty.button("Send").title, "Nothing is written yet.");
  empty.key("Enter");
  assert.deepEqual(empty.sent, []);
  const long = composer();
  long.type("x".repeat(1024 * 1024 + 1));
  assert.match(textOf(long.draw()), /1\.0 MiB is the most/);
  long.key("Enter");
  assert.deepEqual(long.sent, []);
});

test("stop is there while something runs", () => {
  assert.equal(composer().button("Stop"), undefined);
  const { button, stopped } = composer({ isRunning: true });
  button("Stop").onclick();
  assert.deepEqual(stopped, [1]);
});

test("commands are completed by keys", () => {
  const it = composer();
  it.type("/mo");
  const list = find(it.draw(), (node) => node.attrs.role === "listbox");
  assert.deepEqual(list.children.map((node) => [node.key, node.attrs["aria-selected"]]), [["model", "true"], ["remodel", "false"]]);
  assert.equal(it.area()["aria-controls"], list.attrs.id);
  assert.equal(it.area()["aria-activedescendant"], list.children[0].attrs.id);
  it.key("ArrowDown");
  assert.equal(it.area()["aria-activedescendant"], list.children[1].attrs.id);
  it.key("ArrowDown");
  assert.equal(it.area()["aria-activedescendant"], list.children[0].attrs.id);
  it.key("ArrowUp");
  assert.equal(it.key("Tab"), true);
  assert.equal(it.state.text, "/remodel ");
  it.type("/com");
  it.key("Enter");
  assert.equal(it.state.text, "/compact ");
  assert.deepEqual(it.sent, []);
  assert.match(textOf(it.draw()), /\/compact Make room/);
  it.key("Enter");
  assert.equal(it.sent.length, 1);
});

test("a command that is typed whole is sent at once, and Escape closes the list", () => {
  const it = composer();
  it.type("/stop");
  it.key("Enter");
  assert.deepEqual(it.sent.map((sent) => sent.text), ["/stop"]);
  it.type("/s");
  assert.equal(it.key("Escape"), true);
  assert.equal(find(it.draw(), (node) => node.attrs.role === "listbox"), undefined);
  assert.ok(!it.area()["aria-controls"]);
  it.key("Enter");
  assert.deepEqual(it.sent.map((sent) => sent.text), ["/stop", "/s"]);
  it.type("");
  it.type("/s");
  assert.ok(find(it.draw(), (node) => node.attrs.role === "listbox"));
});

test("keys that come before the last letter was drawn mean what is typed", () => {
  const it = composer();
  const { oninput, onkeydown } = it.area();
  const event = (key) => ({ key, preventDefault() {}, stopPropagation() {} });
  oninput({ target: { value: "/sto" } });
  onkeydown(event("Tab"));
  assert.equal(it.state.text, "/stop ");
  oninput({ target: { value: "/mo" } });
  onkeydown(event("ArrowDown"));
  oninput({ target: { value: "/com" } });
  onkeydown(event("Enter"));
  assert.equal(it.state.text, "/compact ");
});

test("which commands fit", () => {
  const names = (text) => matchingCommands(text, COMMANDS, 50).map((it) => it.name);
  assert.deepEqual(names("/"), ["model", "compact", "remodel", "stop"]);
  assert.deepEqual(names("/MO"), ["model", "remodel"]);
  assert.deepEqual(names("/model x"), []);
  assert.deepEqual(names("a /m"), []);
  assert.equal(matchingCommands("/", COMMANDS, 2).length, 2);
  assert.equal(typedCommand("/compact now", COMMANDS).summary, "Make room");
  assert.equal(typedCommand("/nope", COMMANDS), null);
});

const file = (name, type, data) => {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  return { name, type, size: bytes.length, arrayBuffer: async () => bytes.buffer };
};

test("files are read as what they are", async () => {
  assert.deepEqual(await attachmentOf(file("a.png", "image/png", new Uint8Array([1, 2, 255]))), { mimeType: "image/png", data: "AQL/", filename: "a.png", bytes: 3 });
  assert.deepEqual(await attachmentOf(file("a.rs", "", "fn é")), { mimeType: "text/plain", data: Buffer.from("fn é").toString("base64"), filename: "a.rs", bytes: 5 });
  assert.equal((await attachmentOf(file("a.json", "application/json", "{}"))).mimeType, "application/json");
  assert.equal((await attachmentOf(file("a.ts", "video/mp2t", "let a"))).mimeType, "text/plain");
  assert.equal((await attachmentOf(file("", "image/webp", new Uint8Array([1])))).filename, "image.webp");
  const large = new Uint8Array(200_000).fill(65);
  assert.equal((await attachmentOf(file("l", "", large))).data, Buffer.from(large).toString("base64"));
  await assert.rejects(attachmentOf(file("a.zip", "application/zip", new Uint8Array([80, 75, 3, 4, 255]))), /a\.zip is neither text nor an image/);
  await assert.rejects(attachmentOf(file("a.bin", "", new Uint8Array([65, 0, 66]))), /neither/);
  await assert.rejects(attachmentOf(file("a.svg", "image/svg+xml", new Uint8Array([255]))), /neither/);
});

test("limits are those of the gateway", () => {
  const limits = limitsOf({ limits: { maxAttachments: 2, maxAttachmentBytes: 1000, maxMessageBytes: 100 } });
  const one = { bytes: 400 };
  assert.doesNotThrow(() => refuse({ name: "a", size: 600 }, [one], limits));
  assert.throws(() => refuse({ name: "a", size: 601 }, [one], limits), /a has 601 B; the files of a message may have 1000 B together/);
  assert.throws(() => refuse({ name: "a", size: 1 }, [one, one], limits), /2 files at most/);
  assert.throws(() => refuse({ name: "a", size: 0 }, [], limits), /empty/);
  assert.equal(sendFault({ text: "x".repeat(100), attachments: [] }, limits), "");
  assert.match(sendFault({ text: "é".repeat(51), attachments: [] }, limits), /102 B; 100 B is the most/);
  assert.equal(sendFault({ text: "", attachments: [one] }, limits), "");
  assert.equal(limitsOf(null).maxAttachments, 10);
});

test("files come by paste, drop and button, and can be taken back", async () => {
  const it = composer();
  const paste = (files, types) => it.area().onpaste({ clipboardData: { files, types }, preventDefault() {} });
  const settled = () => new Promise((done) => setTimeout(done, 5));
  paste([file("a.png", "image/png", new Uint8Array([1]))], ["Files"]);
  assert.equal(it.button("Send").disabled, true);
  await settled();
  assert.deepEqual(it.state.attachments.map((a) => a.filename), ["a.png"]);
  assert.equal(it.button("Send").disabled, false);
  paste([file("table.png", "image/png", new Uint8Array([1]))], ["text/plain", "Files"]);
  it.draw().attrs.ondrop({ preventDefault() {}, dataTransfer: { types: ["Files"], files: [file("b.txt", "text/plain", "b"), file("c.zip", "", new Uint8Array([255]))] } });
  await settled();
  assert.deepEqual(it.state.attachments.map((a) => a.filename), ["a.png", "b.txt"]);
  assert.match(textOf(it.draw()), /c\.zip is neither/);
  find(it.draw(), (node) => node.attrs["aria-label"] === "Remove a.png").attrs.onclick();
  assert.deepEqual(it.state.attachments.map((a) => a.filename), ["b.txt"]);
  const target = { files: Array.from({ length: 12 }, (_, n) => file(`${n}.txt`, "text/plain", "x")), value: "x" };
  find(it.draw(), (node) => node.attrs.type === "file").attrs.onchange({ target });
  await settled();
  assert.equal(it.state.attachments.length, 10);
  assert.match(textOf(it.draw()), /10 files at most/);
  assert.equal(target.value, "");
});
