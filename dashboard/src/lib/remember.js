// What this browser remembers between visits. Nothing secret: anybody at this browser can read it. A browser that keeps nothing
// (a private window, a full disk) is served all the same.

const PREFIX = "tillerman.";

export function remembered(name, otherwise) {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

// Whether it is kept. What is not is forgotten with the page.
export function remember(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export function forget(name) {
  try {
    localStorage.removeItem(PREFIX + name);
  } catch {
    // Nothing was kept.
  }
}

// What is remembered under names that begin so: the rest of each name.
export function namesUnder(start) {
  try {
    return Object.keys(localStorage).flatMap((name) => restOf(name, start) ?? []);
  } catch {
    return [];
  }
}

function restOf(name, start) {
  return name?.startsWith(PREFIX + start) ? name.slice((PREFIX + start).length) : undefined;
}

// `run(rest, isThere)` when another tab has remembered or forgotten something under such a name.
export function onRemembered(start, run) {
  addEventListener("storage", ({ key, newValue }) => {
    const rest = restOf(key, start);
    if (rest !== undefined) run(rest, newValue !== null);
  });
}
