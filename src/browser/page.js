// What a page shows, and how it is drawn. What strangers sent stays text: nothing here parses HTML.
import { html, render } from "htm/preact";

export { Component, html } from "htm/preact";

export const $ = (id) => document.getElementById(id);

/** The properties of the page's outermost component. */
export const shown = {};
let drawPage = () => {};

/** Draws the page, and again with every change. */
export function startPage(Page, first) {
  Object.assign(shown, first);
  drawPage = () => {
    const focused = document.activeElement;
    render(html`<${Page} ...${shown} />`, document.body);
    // Without `moveBefore`, an element that moves loses it.
    if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
  };
  drawPage();
}

/** Changes what the page shows, and has drawn it when it returns. */
export function change(changes) {
  Object.assign(shown, changes);
  drawPage();
}
