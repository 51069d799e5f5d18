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
  drawPage = () => draw(html`<${Page} ...${shown} />`, document.body);
  drawPage();
}

/** Changes what the page shows, and has drawn it when it returns. */
export function change(changes) {
  Object.assign(shown, changes);
  drawPage();
}

/**
 * Draws `content`. Gives back what a moved element loses: the selection, and the focus if the
 * browser has no `moveBefore`.
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

function has(node, offset) {
  return node.isConnected && offset <= (node.data ?? node.childNodes).length;
}
