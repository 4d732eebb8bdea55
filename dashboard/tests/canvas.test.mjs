import assert from "node:assert/strict";
import { test } from "node:test";
import { imageUrl, kindOf, rawText, untried } from "../src/pages/nodes/artifact.js";

test("an artifact is shown as what it is", () => {
  const kind = (type, content) => kindOf({ type, content });
  assert.equal(kind("markdown", "# a"), "markdown");
  assert.equal(kind("text/markdown", "# a"), "markdown");
  assert.equal(kind("md", "# a"), "markdown");
  assert.equal(kind("text/html", "<b>"), "html");
  assert.equal(kind("image/svg+xml", "<svg/>"), "html");
  assert.equal(kind("code", "fn"), "text");
  assert.equal(kind("application/json", "{}"), "json");
  assert.equal(kind("markdown", { a: 1 }), "json");
  for (const nothing of [null, 5, true, []]) assert.equal(kind("markdown", nothing), "json");
  assert.equal(kind("image/png", "aGk="), "image");
  assert.equal(kind("picture", { mimeType: "image/png", data: "aGk=" }), "image");
  assert.equal(kind("image/png", "https://example.org/a.png"), "text");
});

test("pictures are by value and of four kinds", () => {
  assert.equal(imageUrl("image", "data:image/png;base64,aGk="), "data:image/png;base64,aGk=");
  assert.equal(imageUrl("image/webp", "aG\nk="), "data:image/webp;base64,aGk=");
  for (const [type, content] of [["image", "data:image/svg+xml;base64,aGk="], ["image", "data:image/svg+xml,<svg onload=x>"], ["image", { mimeType: "text/html", data: "aGk=" }], ["image", { mimeType: "image/png", data: "\"onerror=x" }], ["image/png", "javascript:alert(1)"], ["image", null], ["image", { mimeType: 5, data: 5 }]]) assert.equal(imageUrl(type, content), undefined, JSON.stringify(content));
});

test("raw is what was put there", () => {
  assert.equal(rawText("x"), "x");
  assert.equal(rawText({ a: 1 }), '{\n  "a": 1\n}');
  assert.equal(rawText(null), "null");
});

test("what a document would try while it is read is called something else", () => {
  assert.equal(untried('<h1 style="a" onclick="x()" ONLOAD=y>on a=1, style=2</h1>'), '<h1 data-style="a" data-onclick="x()" data-ONLOAD=y>on a=1, style=2</h1>');
  assert.equal(untried("<a title='a > b' href=x onerror=y>"), "<a title='a > b' href=x data-onerror=y>");
  assert.equal(untried('<svg/onload=x><b title="a"onfocus=x>'), '<svg/data-onload=x><b title="a"data-onfocus=x>');
  assert.equal(untried("<style>a</style><BASE href=x><basefont>"), "<x-style>a</x-style><x-BASE href=x><basefont>");
  assert.equal(untried(`${"<a \"".repeat(50_000)} onclick=x`).length > 0, true, "in no time");
});
