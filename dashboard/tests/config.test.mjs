import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldOf, found, grouped, lines, read, typed, wanted, whyNot } from "../src/pages/config/tree.js";

const schema = {
  type: "object",
  properties: {
    model: { type: "string", description: "Model to use." },
    max_tokens: { type: "integer", minimum: 1, maximum: 100 },
    mode: { enum: ["plan", "prompt"] },
    server: { $ref: "#/$defs/server" },
    aliases: { type: "object", additionalProperties: { type: "string", description: "a short name" } },
  },
  $defs: { server: { type: "object", properties: { host: { type: "string" }, auth_http: { type: "boolean", default: true }, hostnames: { type: "array", items: { type: "string" } } } } },
};
const tree = { model: "tour", maxTokens: 5, server: { host: "127.0.0.1", token: "***", authHttp: false, featureGates: { "ui.canvas": true } }, aliases: { mine: "x" } };

test("every setting is a line, with what the schema says, whichever way it is spelled", () => {
  const all = lines(tree, schema);
  const by = Object.fromEntries(all.map((line) => [line.path, line]));
  assert.equal(by.max_tokens.value, 5);
  assert.equal(by.max_tokens.schema.maximum, 100);
  assert.equal(by["server.auth_http"].value, false);
  assert.equal(by["server.auth_http"].schema.default, true);
  assert.equal(by["aliases.mine"].schema.description, "a short name");
  assert.equal(by['server.featureGates."ui.canvas"'].value, true);
  // Could be set, and is not.
  assert.ok("mode" in by && by.mode.value === undefined);
  assert.equal(all.length, new Set(all.map((line) => line.path)).size);
});

test("without a schema there are the values", () => {
  assert.deepEqual(lines(tree, undefined).map((line) => line.path), ["aliases.mine", "maxTokens", "model", "server.authHttp", 'server.featureGates."ui.canvas"', "server.host", "server.token"]);
  assert.deepEqual(lines({}, undefined), []);
});

test("a schema that names itself ends", () => {
  const round = { properties: { a: { $ref: "#/properties/a" }, b: { $ref: "#" } } };
  assert.ok(lines({ a: 1 }, round).length <= 2000);
});

test("words are looked for in names of both spellings, values and descriptions", () => {
  const all = lines(tree, schema);
  const names = (text) => found(all, text).map((line) => line.path);
  assert.deepEqual(names("maxtokens"), ["max_tokens"]);
  assert.deepEqual(names("SERVER host"), ["server.host", "server.hostnames"]);
  assert.deepEqual(names("short"), ["aliases.mine"]);
  assert.deepEqual(names("tour"), ["model"]);
  assert.equal(names("").length, all.length);
  assert.deepEqual(grouped(all).map(([name]) => name), ["", "aliases", "server"]);
});

test("secrets and who can reach the page are not set from here", () => {
  const by = Object.fromEntries(lines(tree, schema).map((line) => [line.path, whyNot(line)]));
  assert.equal(by.model, "");
  for (const path of ["server.token", "server.host", 'server.featureGates."ui.canvas"']) assert.notEqual(by[path], "", path);
  assert.equal(by["server.hostnames"], "");
});

test("a value goes into its field and comes out the same", () => {
  for (const [value, of] of [[5, { type: "integer" }], [true, { type: "boolean" }], [["a", "b"], { type: "array", items: { type: "string" } }], ["x", { type: "string" }], [{ a: 1 }, { type: "object" }], ["plan", { enum: ["plan"] }], [[{ slug: "m" }], { type: "array" }]]) {
    const field = fieldOf({ schema: of, value });
    assert.deepEqual(read(field, typed(field, value)), value, field);
  }
  assert.throws(() => read("number", "x"), /number/);
  assert.throws(() => read("number", " "), /number/);
  assert.throws(() => read("json", "{"), /JSON/);
  assert.equal(wanted({ type: "integer", minimum: 1, maximum: 9 }), "whole number of 1 to 9");
});
