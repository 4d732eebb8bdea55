// Colours for code: comments, strings, numbers and words of the language. One pass, no grammar. Every alternative that begins
// also ends (at the end of the line, or of the text), so that nothing is read twice.

import { span } from "./tags.js";

// Longer code stays plain.
const CHARS_MAX = 30_000;

const STRINGS = /"(?:[^"\\\n]|\\.)*"?/.source;
const SINGLE = /'(?:[^'\\\n]|\\.)*'?/.source;
// What is no string in Rust: 'a in a type. A character is short.
const CHARACTER = /'(?:[^'\\\n]|\\[^\n]{1,8}?)'/.source;
const BACKTICK = /`(?:[^`\\]|\\[^])*`?/.source;
const TRIPLE = /"""[^]*?(?:"""|$)/.source;
const WORD = /[A-Za-z_$][\w$]*/.source;
const NUMBER = /\b\d[\w.]*/.source;
const SLASHES = /\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/.source;
const HASH = /#[^\n]*/.source;

// Of most languages; that one of them has no such word does no harm.
const COMMON = "as async await break class const continue else enum false for from if import in let return static struct super true try type while yield";

function family(comments, strings, words) {
  return { pattern: new RegExp(`(${comments})|(${strings})|(${NUMBER})|(${WORD})`, "g"), words: new Set(`${COMMON} ${words}`.split(" ")) };
}

const BRACES = family(SLASHES, [STRINGS, SINGLE, BACKTICK].join("|"), "bool boolean case catch char default defer delete do double export extends final float func function go implements instanceof int interface long namespace new nil null of package private protected public range string switch this throw typeof undefined using var void");
const RUST = family(SLASHES, [STRINGS, CHARACTER].join("|"), "crate dyn fn impl loop match mod move mut pub ref self Self trait unsafe use where");
const PYTHON = family(HASH, [TRIPLE, STRINGS, SINGLE].join("|"), "and assert def del elif except False finally global is lambda None not or pass raise self True with");
const SHELL = family(`(?<![\\w$])${HASH}`, [STRINGS, SINGLE].join("|"), "case cd do done echo elif else esac exit export fi for function if in local return set then while");
const DATA = family(HASH, [STRINGS, SINGLE].join("|"), "true false null yes no");

const FAMILIES = [[BRACES, "js jsx ts tsx mjs javascript typescript json jsonc go c h cpp c++ java kotlin swift cs css"], [RUST, "rs rust"], [PYTHON, "py python"], [SHELL, "sh bash shell zsh console"], [DATA, "toml yaml yml ini"]];
const LANGUAGES = new Map(FAMILIES.flatMap(([rules, names]) => names.split(" ").map((name) => [name, rules])));

// Strings and nodes.
export function highlight(code, language) {
  const known = LANGUAGES.get(language);
  if (!known || code.length > CHARS_MAX) return [code];
  const out = [];
  let plain = 0;
  for (const found of code.matchAll(known.pattern)) {
    const [whole, comment, string, number] = found;
    const kind = comment ? "note" : string ? "text" : number ? "number" : known.words.has(whole) && "word";
    if (!kind) continue;
    out.push(code.slice(plain, found.index), span(`hl-${kind}`, whole));
    plain = found.index + whole.length;
  }
  out.push(code.slice(plain));
  return out;
}
