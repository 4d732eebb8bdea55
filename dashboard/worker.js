// Keeps the empty frame of the page, so that it opens while the gateway is away and says so. Data is never kept: whatever is asked
// for by a script goes to the gateway, or fails.

const FRAME = "frame-@version@";

addEventListener("install", (event) => {
  event.waitUntil(caches.open(FRAME).then((cache) => cache.add("/")).then(() => skipWaiting()));
});

addEventListener("activate", (event) => {
  const drop = (names) => Promise.all(names.filter((name) => name !== FRAME).map((name) => caches.delete(name)));
  event.waitUntil(caches.keys().then(drop).then(() => clients.claim()));
});

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.mode !== "navigate" || new URL(request.url).pathname !== "/") return;
  event.respondWith(fetch(request).catch(() => caches.open(FRAME).then((cache) => cache.match("/")).then((found) => found ?? Response.error())));
});

// A notification about a question leads to the page that shows it.
addEventListener("notificationclick", (event) => {
  event.notification.close();
  const open = async () => {
    const pages = await clients.matchAll({ type: "window", includeUncontrolled: true });
    if (pages.length > 0) return pages[0].focus();
    return clients.openWindow("/");
  };
  event.waitUntil(open());
});
