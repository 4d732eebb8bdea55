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

export function remember(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // It is forgotten with the page.
  }
}
