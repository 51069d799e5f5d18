// What a page shows, and how a change of it is drawn. What strangers sent becomes text: nothing here parses HTML.
import { html, render } from "htm/preact";

export { Component, html } from "htm/preact";

/** The element with that id. */
export const $ = (id) => document.getElementById(id);

/** What the page shows: the properties of its outermost component. */
export const shown = {};
let drawPage = () => {};

/** Draws the page, and again with every change. */
export function startPage(Page, first) {
  Object.assign(shown, first);
  drawPage = () => draw(html`<${Page} ...${shown} />`, document.body);
  drawPage();
}

/** Changes what the page shows. The page is drawn when this returns. */
export function change(changes) {
  Object.assign(shown, changes);
  drawPage();
}

/**
 * Draws `content` into `parent`. An element that is moved within its list loses the selection, and its focus where the browser knows
 * no `moveBefore`; here it gets both back.
 */
export function draw(content, parent) {
  const focused = document.activeElement;
  const selection = getSelection();
  const { anchorNode, anchorOffset, focusNode, focusOffset, isCollapsed } = selection;
  render(content, parent);
  if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
  if (isCollapsed || (selection.anchorNode === anchorNode && selection.focusNode === focusNode)) return;
  if (has(anchorNode, anchorOffset) && has(focusNode, focusOffset))
    selection.setBaseAndExtent(anchorNode, anchorOffset, focusNode, focusOffset);
}

/** Whether the page still has that place. */
function has(node, offset) {
  return node.isConnected && offset <= (node.data ?? node.childNodes).length;
}
