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

function family(comments, strings, words) {
  return { pattern: new RegExp(`(${comments})|(${strings})|(${NUMBER})|(${WORD})`, "g"), words: new Set(words.split(" ")) };
}

const BRACES = family(SLASHES, [STRINGS, SINGLE, BACKTICK].join("|"), "as async await bool boolean break case catch char class const continue default defer delete do double else enum export extends false final float for from func function go if implements import in instanceof int interface let long namespace new nil null of package private protected public range return static string struct super switch this throw true try type typeof undefined using var void while yield");
const RUST = family(SLASHES, [STRINGS, CHARACTER].join("|"), "as async await break const continue crate dyn else enum false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while");
const PYTHON = family(HASH, [TRIPLE, STRINGS, SINGLE].join("|"), "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None not or pass raise return self True try while with yield");
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
    const isWord = known.words.has(whole);
    const kind = comment ? "note" : string ? "text" : number ? "number" : isWord ? "word" : "";
    if (!kind) continue;
    out.push(code.slice(plain, found.index), span(`hl-${kind}`, whole));
    plain = found.index + whole.length;
  }
  out.push(code.slice(plain));
  return out;
}
