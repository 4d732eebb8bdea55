// Settings as lines, and what the schema says of each.

import { pretty } from "../../lib/format.js";

// Lines that are shown at most, and how deep settings are nested.
const LEAVES_MAX = 2000;
const DEPTH_MAX = 12;
export const SECRET = "***";

const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

export function snake(name) {
  return name.replace(/([a-z0-9])([A-Z])/g, (_, before, letter) => `${before}_${letter.toLowerCase()}`);
}

export function camel(name) {
  return name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

// `#/$defs/name`, and nothing outside of this schema.
function resolved(root, schema) {
  let at = schema;
  for (let depth = 0; at?.$ref && depth < DEPTH_MAX; depth += 1) at = at.$ref.replace(/^#\//, "").split("/").reduce((node, part) => node?.[part.replaceAll("~1", "/").replaceAll("~0", "~")], root);
  return at;
}

// What the schema says of the setting below `schema`, with the name it has there; either spelling is understood.
function below(root, schema, part) {
  const here = resolved(root, schema);
  const names = [part, snake(part), camel(part)];
  const name = names.find((it) => here?.properties && Object.hasOwn(here.properties, it));
  if (name !== undefined) return { name, schema: resolved(root, here.properties[name]) };
  return { name: part, schema: isTable(here?.additionalProperties) ? resolved(root, here.additionalProperties) : undefined };
}

// Every setting as `{ parts, path, value, schema, settable }`: what is in effect, and what could be (`value` undefined), by name.
// `settable`: what the schema says of it or of the table it is in; undefined where there is none.
export function lines(tree, schema) {
  const all = [];
  const put = (parts, value, of, settable) => all.length < LEAVES_MAX && all.push({ parts, path: parts.map((part) => (part.includes(".") ? JSON.stringify(part) : part)).join("."), value, schema: of, settable });
  const walk = (parts, value, of, inherited) => {
    const known = resolved(schema, of);
    const settable = known?.["x-settable"] ?? inherited;
    const names = new Set(isTable(value) ? Object.keys(value).map((name) => below(schema, known, name).name) : []);
    for (const name of Object.keys(known?.properties ?? {})) names.add(name);
    const isOver = parts.length >= DEPTH_MAX || (value !== undefined && !isTable(value));
    if (isOver || names.size === 0) return put(parts, value, known, settable);
    for (const name of [...names].sort()) {
      const given = isTable(value) ? [name, camel(name), snake(name)].find((it) => Object.hasOwn(value, it)) : undefined;
      walk([...parts, name], given === undefined ? undefined : value[given], below(schema, known, name).schema, settable);
    }
  };
  walk([], tree, schema ?? {}, undefined);
  return all.filter((line) => line.parts.length > 0);
}

// Those that have each word in their name, their value or what is said of them.
export function found(all, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const hay = (line) => `${line.path} ${line.parts.map(camel).join(".")} ${line.value === undefined ? "" : JSON.stringify(line.value)} ${line.schema?.description ?? ""}`.toLowerCase();
  return words.length === 0 ? all : all.filter((line) => words.every((word) => hay(line).includes(word)));
}

// [[first name, lines]]; settings without a table of their own come first, together.
export function grouped(all) {
  const groups = new Map([["", []]]);
  for (const line of all) {
    const name = line.parts.length > 1 ? line.parts[0] : "";
    groups.set(name, [...(groups.get(name) ?? []), line]);
  }
  return [...groups].filter(([, some]) => some.length > 0);
}

const NEVER = /^server\.(host|port|token|tls)(\.|$)/;

// Why it cannot be set from here, or "". The gateway has the last word.
export function whyNot(line) {
  if (line.value === SECRET || line.schema?.writeOnly || line.schema?.format === "password") return "a secret: it is set on the command line";
  if (NEVER.test(line.parts.map(snake).join("."))) return "decides who can reach this page: it is set on the command line";
  if (line.parts.some((part) => part.includes("."))) return "part of a table: it is set in the file";
  if (!line.schema) return "not known to the schema: it is set in the file";
  return line.settable === false ? "set in the file or on the command line" : "";
}

const typeOf = (schema) => (Array.isArray(schema?.type) ? schema.type.find((it) => it !== "null") : schema?.type);

// How it is put in: "choice" | "switch" | "number" | "lines" | "text" | "json".
export function fieldOf({ schema, value }) {
  if (Array.isArray(schema?.enum)) return "choice";
  const type = typeOf(schema) ?? (Array.isArray(value) ? "array" : value == null ? undefined : typeof value);
  if (type === "boolean") return "switch";
  if (type === "integer" || type === "number") return "number";
  if (type === "array") return (value ?? []).every((it) => typeof it === "string") && (typeOf(schema?.items) ?? "string") === "string" ? "lines" : "json";
  return type === "string" ? "text" : "json";
}

// In the field, and out of it again. Throws what is wrong.
export function typed(field, value) {
  if (value == null) return "";
  return field === "lines" ? value.join("\n") : field === "json" ? pretty(value) : String(value);
}

export function read(field, text) {
  if (field === "switch") return text === "true";
  if (field === "lines") return text.split("\n").map((it) => it.trim()).filter(Boolean);
  if (field === "text" || field === "choice") return text;
  if (field === "number") {
    if (text.trim() === "" || !Number.isFinite(Number(text))) throw new Error("This must be a number.");
    return Number(text);
  }
  try {
    return JSON.parse(text);
  } catch (why) {
    throw new Error(`This is not JSON: ${why.message}`);
  }
}

// What it must be, in words.
export function wanted(schema) {
  if (!schema) return "";
  if (Array.isArray(schema.enum)) return schema.enum.map((it) => (it === null ? "nothing" : String(it))).join(" | ");
  const type = typeOf(schema) ?? "";
  const { minimum: low, maximum: high } = schema;
  const span = low !== undefined && high !== undefined ? ` of ${low} to ${high}` : low !== undefined ? ` from ${low}` : high !== undefined ? ` up to ${high}` : "";
  const names = { integer: "whole number", boolean: "true | false", string: "text", array: "list", object: "table" };
  return `${names[type] ?? type}${span}`;
}
