// How far a session was told, as the gateway writes it: `7` (all of entry 7), `7.1` (its events up to the second), `7+3` (all of
// it, and 3 bytes of the reply that follows; behind a second plus, of its thinking).

const PARTS = 2 ** 50;

// `entry`: the last entry of which everything was told. `within`: how far into the next one, parts behind bytes.
export function readCursor(text) {
  const [place, said, thought] = String(text).split("+");
  const [seq, part] = place.split(".").map(Number);
  const bytes = Number(said ?? 0);
  const thinking = Number(thought ?? 0);
  if (part === undefined) return { entry: seq, within: bytes + thinking, bytes, thinking };
  return { entry: seq - 1, within: PARTS + part, bytes, thinking };
}

export function isAfter(one, two) {
  return one.entry > two.entry || (one.entry === two.entry && one.within > two.within);
}

// Bytes of UTF-8, without making them: it is asked for each delta.
export function bytesOf(text) {
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x80) bytes += 1;
    else if (code < 0x800) bytes += 2;
    else if (code >= 0xd800 && code < 0xdc00 && at + 1 < text.length) {
      bytes += 4;
      at += 1;
    } else bytes += 3;
  }
  return bytes;
}

// Without the first so many bytes; a place in the middle of a character is behind it.
export function behindBytes(text, bytes) {
  let at = 0;
  for (let gone = 0; at < text.length && gone < bytes; ) {
    const wide = text.codePointAt(at) > 0xffff ? 2 : 1;
    gone += bytesOf(text.slice(at, at + wide));
    at += wide;
  }
  return text.slice(at);
}

// Without the last so many bytes.
export function withoutLast(text, bytes) {
  const keep = bytesOf(text) - bytes;
  return keep <= 0 ? "" : text.slice(0, text.length - behindBytes(text, keep).length);
}
