// @ts-check
// The shop's pages. Everything that came from a visitor goes through `html`.

/** @import { Order, Product, User } from "./shop.js" */
/** @typedef {{ url: string, clientId: number }} Snippet */

const style = `
  :root { color-scheme: light dark; --ink: light-dark(#23201c, #ece7df); --paper: light-dark(#faf7f2, #1c1a17);
    --card: light-dark(#fff, #262320); --line: light-dark(#e4ddd2, #3a352f); --accent: light-dark(#8a3b12, #f0a271); }
  * { box-sizing: border-box }
  body { margin: 0 auto; max-width: 62rem; padding: 1.5rem; font: 17px/1.6 Georgia, serif; color: var(--ink); background: var(--paper) }
  header { display: flex; justify-content: space-between; align-items: baseline; border-bottom: 1px solid var(--line); margin-bottom: 2rem }
  header a { font-size: 1.3rem; color: inherit; text-decoration: none; letter-spacing: .02em }
  h1 { font-weight: 400; font-size: clamp(1.6rem, 4vw, 2.4rem); line-height: 1.2 }
  footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .8rem; font-size: .9rem }
  footer a { color: var(--accent) }
  .shelf { display: grid; gap: 1.2rem; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); padding: 0; list-style: none }
  .card, form.panel { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 1.2rem }
  .price { font-variant-numeric: tabular-nums; color: var(--accent) }
  form.panel { display: grid; gap: .8rem; max-width: 26rem; margin-top: 2.5rem }
  label { display: grid; gap: .2rem; font-size: .9rem }
  input { font: inherit; padding: .45rem .6rem; border: 1px solid var(--line); border-radius: 4px; background: var(--paper); color: inherit }
  button { font: inherit; padding: .5rem 1.1rem; border: 0; border-radius: 4px; background: var(--accent); color: var(--paper); cursor: pointer }
  :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
`;

const favicon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#8a3b12"/>' +
    '<path d="M4 3v10M12 3v10M4 8h8" stroke="#faf7f2" stroke-width="2"/></svg>',
)}`;

/** @param {unknown} text */
function html(text) {
  return String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** @param {number} amount */
function money(amount) {
  return amount.toLocaleString("en", { style: "currency", currency: "EUR" });
}

/** @param {{ title: string, body: string, user?: User | undefined }} page */
function layout({ title, body, user }) {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(title)} · Hearth &amp; Thread</title>
<link rel="icon" href="${favicon}">
<style>${style}</style>
<header><a href="/">Hearth &amp; Thread</a><span>${user ? `Hello, ${html(user.name)}` : ""}</span></header>
<main>${body}</main>
<footer>Behind the shop: <a href="/records" target="_blank">what the tracking service recorded</a>, and
  <a href="/admin/affiliate/" target="_blank">what waits in the outbox</a>.</footer>
</html>`;
}

/** @param {{ products: readonly Product[], user: User | undefined }} page */
function shelf({ products, user }) {
  const cards = products.map(
    (product) => `<li class="card">
      <h2>${html(product.name)}</h2>
      <p>${html(product.blurb)}</p>
      <p class="price">${money(product.price)}</p>
      ${user ? `<form method="post" action="/checkout"><button name="product" value="${product.id}">Buy</button></form>` : ""}
    </li>`,
  );
  return `<ul class="shelf">${cards.join("")}</ul>${user ? "" : signUpForm}`;
}

/** @param {Snippet} snippet */
function snippetTag({ url, clientId }) {
  return `<script src="${html(url)}" data-client-id="${clientId}" defer></script>`;
}

const signUpForm = `<form class="panel" method="post" action="/signup">
  <strong>Sign up to buy</strong>
  <label>Name <input name="name" autocomplete="name" required></label>
  <label>E-mail <input name="email" type="email" autocomplete="email" required></label>
  <button>Sign up</button>
</form>`;

/**
 * @param {{ products: readonly Product[], user: User | undefined, snippet: Snippet | undefined }}
 * page
 */
export function homePage({ products, user, snippet }) {
  const body = `<h1>Things for a quiet house</h1>${shelf({ products, user })}${snippet ? snippetTag(snippet) : ""}`;
  return layout({ title: "Things for the house", user, body });
}

/** @param {{ products: readonly Product[], user: User | undefined }} page */
export function welcomePage({ products, user }) {
  const body = `<h1>A friend sent you. Good taste, that friend.</h1>${shelf({ products, user })}`;
  return layout({ title: "Welcome", user, body });
}

/**
 * A page about an order, for who has bought it.
 *
 * @param {string} title
 * @param {(order: Order) => string} body
 * @returns {(order: Order) => string}
 */
const orderPage = (title, body) => (order) => layout({ title, user: order.buyer, body: body(order) });

export const checkoutPage = orderPage(
  "Checkout",
  ({ id, product, total }) => `<h1>${html(product.name)}, ${money(total)}</h1>
      <form class="panel" method="post" action="/checkout/${product.returnable ? "gateway" : "complete"}">
        <p>Paid by the gateway of your imagination.</p>
        <button name="order" value="${id}">Pay ${money(total)}</button>
      </form>`,
);

export const thanksPage = orderPage(
  "Thank you",
  ({ id, product, buyer }) => `<h1>Thank you, ${html(buyer.name)}.</h1>
      <p>Your ${html(product.name.toLowerCase())} is on its way. Reload this page: it is still one payment.</p>
      <p>Order <code>${html(id)}</code></p>
      ${product.monthly ? form("/next-month", id, "Let a month pass") : ""}
      ${product.returnable ? form("/return", id, "Send it back") : ""}
      ${wayOn}`,
);

export const renewedPage = orderPage(
  "A month later",
  ({ id, total }) => `<h1>A month has passed.</h1>
      <p>The gateway has charged ${money(total)} and said so twice, by webhook. It is one payment, and the affiliate who sent
      you is credited with it.</p>
      ${form("/next-month", id, "Let a month pass")}
      ${wayOn}`,
);

export const returnedPage = orderPage(
  "Returned",
  ({ product, total }) => `<h1>Your ${html(product.name.toLowerCase())} is back.</h1>
      <p>The gateway has refunded ${money(total)}. The payment was still waiting in the outbox, and is never reported.</p>
      ${wayOn}`,
);

const wayOn = `<p><a href="/">Back to the shop</a></p>`;

/** @param {string} action @param {string} order @param {string} label */
const form = (action, order, label) => `<form class="panel" method="post" action="${action}">
    <button name="order" value="${html(order)}">${label}</button>
  </form>`;

/** @param {string} message */
export function errorPage(message) {
  return layout({
    title: "Sorry",
    body: `<h1>Sorry</h1><p>${html(message)}</p>${wayOn}`,
  });
}
