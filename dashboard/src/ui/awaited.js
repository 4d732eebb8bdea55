// What was asked for, as `shown(value)` has it: or why it is not there, or that it comes.

import { h } from "../lib/dom.js";
import { ErrorNote, Loading } from "./parts.js";

export function Awaited(fetched, shown) {
  const { value, fault } = fetched;
  return [h(ErrorNote, { why: fault, again: () => fetched.again() }), value !== undefined ? shown(value) : fault ? null : h(Loading)];
}
