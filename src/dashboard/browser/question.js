// A question before something that cannot be taken back.
import { $, change, html } from "../../browser/page.js";

/**
 * Resolves to the value of the chosen answer, or to "" if the reader cancels. Each of the
 * question's `answers` is `[value, label]`. One more, to cancel, comes first and has the focus.
 */
export function ask(question) {
  change({ question });
  const dialog = $("question");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
  });
}

export function Question({ question: { title, body, answers } }) {
  return html`
    <dialog id="question" aria-labelledby="question-title">
      <h2 id="question-title">${title}</h2>
      <div id="question-body">${body}</div>
      <form method="dialog" id="answers">
        ${[["", "Cancel"], ...answers].map(
          ([value, label]) =>
            html`<button type="submit" value=${value} key=${`answer ${value}`}>${label}</button>`,
        )}
      </form>
    </dialog>
  `;
}
