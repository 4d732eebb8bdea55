// What a page asks for: the newest answer, why there is none, and whether one is on its way. An answer that was overtaken by a
// newer question is dropped.

import { redraw } from "./dom.js";

// Those that have a fault: with the next connection they are asked again.
const failed = new Set();

export function retryFailed() {
  for (const it of [...failed]) it.again();
}

export class Fetched {
  value;
  fault = null;
  isLoading = false;
  at = 0;
  #ask;
  #asked = 0;
  #key;

  constructor(ask) {
    this.#ask = ask;
  }

  // Asks unless it was asked already with this key.
  want(key, ask) {
    if (key === this.#key) return this;
    this.#key = key;
    this.again(ask);
    return this;
  }

  // Without another question, the one from before.
  async again(ask = this.#ask) {
    const number = ++this.#asked;
    failed.delete(this);
    this.#ask = ask;
    this.isLoading = true;
    redraw();
    try {
      const value = await ask();
      if (number !== this.#asked) return;
      this.value = value;
      this.fault = null;
      this.at = Date.now();
    } catch (why) {
      if (number !== this.#asked) return;
      this.fault = why;
      failed.add(this);
    }
    if (number === this.#asked) this.isLoading = false;
    redraw();
  }

  // The next `want` asks again, whatever its key.
  stale() {
    this.#key = undefined;
    redraw();
  }

  // Asks again every `ms`, until that is ended; who wants it after that asks anew.
  keep(ms) {
    const end = every(ms, () => this.value !== undefined && this.again());
    return () => {
      end();
      this.stale();
    };
  }
}

// Calls `run` now and every `ms` while the page is seen, until it is ended.
export function every(ms, run) {
  run();
  const timer = setInterval(() => document.hidden || run(), ms);
  return () => clearInterval(timer);
}

// For as long as it takes `state.isBusy` holds, so that nobody does it twice.
export async function busy(state, run) {
  state.isBusy = true;
  redraw();
  try {
    return await run();
  } finally {
    state.isBusy = false;
    redraw();
  }
}

export function debounced(ms, run) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, ms);
  };
}

// For a part that says what somebody chose: it is written to `state`.
export function setting(state, name) {
  return (value) => {
    state[name] = value;
    redraw();
  };
}
