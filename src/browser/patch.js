// Brings a part of the page up to date without replacing it, so that focus, selection and scroll position stay.

/**
 * Gives `parent` these children, which have just been built. An element with a `data-key` that is there already is kept and
 * updated, and so is a text or an element without a key that stands at its place.
 */
export function patch(parent, ...children) {
  const wanted = children.flat(Infinity).filter(isSomething).map(asNode);
  const keys = new Set(wanted.map(keyOf));
  const kept = new Map();
  for (const child of [...parent.childNodes]) {
    const key = keyOf(child);
    if (key !== undefined && !keys.has(key)) child.remove();
    else if (key !== undefined) kept.set(key, child);
  }

  let place = parent.firstChild;
  for (const node of wanted) {
    const key = keyOf(node);
    const old = key === undefined ? place : kept.get(key);
    if (!isAlike(old, node)) {
      parent.insertBefore(node, place);
      continue;
    }
    if (old !== place) move(parent, old, place);
    update(old, node);
    place = old.nextSibling;
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function isSomething(child) {
  return child !== null && child !== undefined && child !== false && child !== "";
}

function asNode(child) {
  return child instanceof Node ? child : new Text(child);
}

function keyOf(node) {
  return node.dataset?.key;
}

function isAlike(old, node) {
  return old?.nodeName === node.nodeName && keyOf(old) === keyOf(node);
}

// An element that is moved loses its focus; so the others make way for one that has it, or has the selection.
function move(parent, node, place) {
  const { anchorNode, isCollapsed } = getSelection();
  const isHeld = node.contains(document.activeElement) || (!isCollapsed && node.contains(anchorNode));
  if (!isHeld) return parent.insertBefore(node, place);
  const between = [];
  for (let at = place; at !== node; at = at.nextSibling) between.push(at);
  node.after(...between);
}

function update(old, node) {
  if (node instanceof Text) {
    if (old.data !== node.data) old.data = node.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (!node.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of node.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  patch(old, ...node.childNodes);
}
