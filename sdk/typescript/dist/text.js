export function textAfter(text, event) {
if (event.event === "content")
return event.data.transient ? text : text + event.data.text;
if (event.event === "retract")
return withoutBytes(text, event.data.bytes);
return text;
}
export function bytesOf(text) {
return new TextEncoder().encode(text).length;
}
function withoutBytes(text, bytes) {
const all = new TextEncoder().encode(text);
return new TextDecoder().decode(all.subarray(0, Math.max(0, all.length - bytes)));
}
export function commonLength(one, other) {
const most = Math.min(one.length, other.length);
let at = 0;
while (at < most && one.charCodeAt(at) === other.charCodeAt(at))
at += 1;
const isHigh = at > 0 && (one.charCodeAt(at - 1) & 0xfc00) === 0xd800;
return isHigh ? at - 1 : at;
}
