// `how`: what this service worker does with a navigation. The ways are those of Workbox.
const how = new URL(location.href).searchParams.get("how");

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => {
  event.waitUntil(
    (async () => {
      if (how === "preload") await registration.navigationPreload.enable();
      await clients.claim();
    })(),
  );
});
addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.mode !== "navigate") return;
  if (how === "preload") event.respondWith(preloaded(event));
  else if (how === "stale-while-revalidate") event.respondWith(staleWhileRevalidate(event));
  else event.respondWith(fetch(request));
});

const preloaded = async (event) => (await event.preloadResponse) ?? fetch(event.request);

async function staleWhileRevalidate(event) {
  const cache = await caches.open("pages");
  const stale = await cache.match(event.request, { ignoreSearch: true });
  const fresh = fetch(event.request).then(async (response) => {
    await cache.put(event.request, response.clone());
    return response;
  });
  if (!stale) return fresh;
  event.waitUntil(fresh);
  return stale;
}
