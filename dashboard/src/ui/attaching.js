// Files that go with a message: what may go, and how they are read.

import { bytes } from "../lib/format.js";
import { isPicture } from "./plain.js";

// Where the gateway does not say.
const DEFAULTS = { maxAttachments: 10, maxAttachmentBytes: 10 * 1024 * 1024, maxMessageBytes: 1024 * 1024 };
const NAME_MAX = 255;
// Pieces in which bytes become characters: a call takes only so many arguments.
const PIECE = 0x8000;
const TEXT_TYPES = new Set(["application/json", "application/xml", "application/x-yaml", "application/toml"]);

export function limitsOf(can) {
  return { ...DEFAULTS, ...can?.limits };
}

function base64(data) {
  let text = "";
  for (let at = 0; at < data.length; at += PIECE) text += String.fromCharCode(...data.subarray(at, at + PIECE));
  return btoa(text);
}

// Some editors and systems name no type, or a wrong one: text is what can be read as text.
function textType(type, data) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(data);
    if (text.includes("\u0000")) return undefined;
  } catch {
    return undefined;
  }
  const plain = type.split(";", 1)[0].trim().toLowerCase();
  return plain.startsWith("text/") || TEXT_TYPES.has(plain) ? plain : "text/plain";
}

const total = (attachments) => attachments.reduce((sum, it) => sum + it.bytes, 0);

// Throws a sentence where this file cannot go as well, before it is read.
export function refuse(file, attachments, limits) {
  const name = file.name || "This file";
  const most = bytes(limits.maxAttachmentBytes);
  let why;
  if (attachments.length >= limits.maxAttachments) why = `was left out: a message takes ${limits.maxAttachments} files at most.`;
  else if (total(attachments) + file.size > limits.maxAttachmentBytes) why = `has ${bytes(file.size)}; the files of a message may have ${most} together.`;
  else if (file.size === 0) why = "is empty.";
  if (why) throw new Error(`${name} ${why}`);
}

// One file as the gateway takes it. Throws a sentence.
export async function attachmentOf(file) {
  const data = new Uint8Array(await file.arrayBuffer());
  const type = isPicture(file.type) ? file.type : textType(file.type ?? "", data);
  if (!type) throw new Error(`${file.name || "This file"} is neither text nor an image that is understood (PNG, JPEG, GIF, WebP).`);
  const name = file.name || (isPicture(type) ? `image.${type.slice(6)}` : "text.txt");
  return { mimeType: type, data: base64(data), filename: name.slice(0, NAME_MAX), bytes: data.length };
}

// Why this message cannot be sent; empty if it can.
export function sendFault({ text, attachments }, limits) {
  if (text.trim() === "" && attachments.length === 0) return "Nothing is written yet.";
  // Each character takes three bytes at most (a pair of them four).
  const size = text.length * 3 <= limits.maxMessageBytes ? 0 : new TextEncoder().encode(text).length;
  if (size > limits.maxMessageBytes) return `The text has ${bytes(size)}; ${bytes(limits.maxMessageBytes)} is the most. Attach it as a file instead.`;
  return "";
}

// Commands that begin with what is typed, then those that have it inside.
export function matchingCommands(text, commands, max) {
  const typed = /^\/(\S*)$/.exec(text)?.[1].toLowerCase();
  if (typed === undefined) return [];
  const named = commands.map((it) => ({ ...it, name: it.name.replace(/^\//, "") }));
  const begins = named.filter((it) => it.name.toLowerCase().startsWith(typed));
  const holds = named.filter((it) => !begins.includes(it) && it.name.toLowerCase().includes(typed));
  return [...begins, ...holds].slice(0, max);
}

// The command that is typed already, for a word about its arguments.
export function typedCommand(text, commands) {
  const name = /^\/(\S+)(?:\s|$)/.exec(text)?.[1];
  const found = name && commands.find((it) => it.name.replace(/^\//, "") === name);
  return found ? { ...found, name } : null;
}
