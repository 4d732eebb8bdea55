// The difference of two texts as the lines of a unified diff, for edits of which we know the old and the new text.

// Pairs of lines that are compared; larger texts are shown as taken out and put in.
const PAIRS_MAX = 400_000;
const CONTEXT = 3;

function linesOf(text) {
  const lines = text.replace(/\r\n/g, "\n").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

// The longest common lines, by a table; only for what is left when equal beginnings and ends are gone.
function middle(old, now) {
  const width = now.length + 1;
  if (old.length * now.length > PAIRS_MAX) return [...old.map((it) => `-${it}`), ...now.map((it) => `+${it}`)];
  const common = new Uint32Array((old.length + 1) * width);
  for (let one = old.length - 1; one >= 0; one -= 1) {
    for (let two = now.length - 1; two >= 0; two -= 1) {
      const here = one * width + two;
      common[here] = old[one] === now[two] ? common[here + width + 1] + 1 : Math.max(common[here + width], common[here + 1]);
    }
  }
  const out = [];
  let [one, two] = [0, 0];
  while (one < old.length || two < now.length) {
    const here = one * width + two;
    if (one < old.length && two < now.length && old[one] === now[two]) {
      out.push(` ${old[one]}`);
      one += 1;
      two += 1;
    } else if (one < old.length && (two === now.length || common[here + width] >= common[here + 1])) out.push(`-${old[one++]}`);
    else out.push(`+${now[two++]}`);
  }
  return out;
}

// Lines with their marks, and a little of what is around them.
export function lineDiff(before, after) {
  const [old, now] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const changed = middle(old.slice(start, old.length - end), now.slice(start, now.length - end));
  const head = old.slice(Math.max(0, start - CONTEXT), start).map((it) => ` ${it}`);
  const tail = old.slice(old.length - end, old.length - end + CONTEXT).map((it) => ` ${it}`);
  return [...head, ...changed, ...tail];
}

export function counted(lines) {
  const of = (mark, file) => lines.filter((line) => line.startsWith(mark) && !line.startsWith(file)).length;
  return { added: of("+", "+++ "), removed: of("-", "--- ") };
}
