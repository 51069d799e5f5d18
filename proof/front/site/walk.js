/** Signs up and pays, as the shop's pages do. Two taps on the button send the checkout twice. */
async function walk(email, api = "") {
  for (const path of ["/signup", "/checkout", "/checkout"]) {
    const response = await fetch(`${api}${path}`, {
      method: "POST",
      credentials: "include",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email, order: `order of ${email}` }),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  }
}

// A browser that prerenders has no debugger: it walks by itself, once a person sees the page.
const walker = new URLSearchParams(location.search).get("walker");
if (walker) {
  const begin = () => walk(walker).then(() => fetch(`/walked?${encodeURIComponent(walker)}`));
  if (document.prerendering) addEventListener("prerenderingchange", begin, { once: true, capture: true });
  else begin();
}
