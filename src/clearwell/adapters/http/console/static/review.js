"use strict";
/* The keys of the review inbox, what is selected, and where the reader stopped. Every key presses a button of the page. */
(() => {
  const selected = new Set();
  let busy = false;

  const inbox = () => document.getElementById("inbox");
  const place = () => `clearwell:place:${inbox().dataset.group}`;
  const isTyping = (target) => target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const dialog = document.querySelector("dialog[open]");
    if (dialog) return;
    if (event.key === "z" && undo()) return event.preventDefault();
    const target = [...document.querySelectorAll(`[data-key="${CSS.escape(event.key)}"]`)].find((one) => one.checkVisibility());
    if (!target) return;
    event.preventDefault();
    if (busy && event.key !== "?" && event.key !== "x") return;
    if (target.matches("input[type=search]")) target.focus();
    else target.click();
    if (event.key === "m") markSelected();
  });

  /* The newest visible message that offers to undo, before the button of the page. */
  function undo() {
    const offered = [...document.querySelectorAll("#toasts [data-dismiss-after]")].filter((one) => one.checkVisibility()).pop();
    if (!offered || busy) return false;
    offered.click();
    return true;
  }

  function markSelected() {
    for (const box of document.querySelectorAll("#merge [data-same]")) box.checked = selected.has(box.dataset.same);
  }

  function showSelected() {
    const boxes = [...document.querySelectorAll("#insights input[type=checkbox]")];
    const listed = new Set(boxes.map((box) => box.value));
    /* While the list is exchanged it has no boxes for a moment: that deselects nothing. */
    if (boxes.length) for (const id of selected) if (!listed.has(id)) selected.delete(id);
    for (const box of boxes) box.checked = selected.has(box.value);
    const bar = document.querySelector("[data-bulk]");
    if (!bar) return;
    bar.hidden = selected.size === 0;
    bar.querySelector("[data-count]").textContent = selected.size;
  }

  /* Scrolls the list alone: on a phone it comes after the open insight, which has to stay in view. */
  function showCurrent() {
    const list = document.querySelector(".insight-list");
    const current = list?.querySelector(".current");
    if (!current) return;
    const [frame, line] = [list.getBoundingClientRect(), current.getBoundingClientRect()];
    if (line.top < frame.top) list.scrollTop -= frame.top - line.top;
    else if (line.bottom > frame.bottom) list.scrollTop += line.bottom - frame.bottom;
  }

  function settle() {
    showSelected();
    showCurrent();
    const open = document.querySelector("[data-insight]");
    if (open) localStorage.setItem(place(), open.dataset.insight);
    else localStorage.removeItem(place());
  }

  /* Who comes back without naming an insight goes on where they stopped, if it still waits. */
  function resume(last) {
    if (new URLSearchParams(location.search).has("at")) return;
    const link = last && document.querySelector(`#insights input[value="${CSS.escape(last)}"] + a:not([aria-current])`);
    if (link) link.click();
  }

  document.addEventListener("change", (event) => {
    if (!event.target.matches("#insights input[type=checkbox]")) return;
    if (event.target.checked) selected.add(event.target.value);
    else selected.delete(event.target.value);
    showSelected();
  });

  document.addEventListener("click", (event) => {
    const fill = event.target.closest("[data-fill]");
    if (!fill) return;
    const field = document.getElementById(fill.dataset.fill);
    field.value = fill.textContent;
    field.focus();
  });

  const isInbox = (event) => event.detail.target?.id === "inbox";
  document.addEventListener("htmx:beforeRequest", (event) => { if (isInbox(event)) busy = true; });
  document.addEventListener("htmx:afterRequest", (event) => { if (isInbox(event)) busy = false; });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target?.id === "inbox") {
      document.getElementById("dialog").replaceChildren();
      scrollTo({ top: 0 });
    }
    settle();
  });
  document.addEventListener("DOMContentLoaded", () => {
    const last = localStorage.getItem(place());
    settle();
    setTimeout(() => resume(last));
  });
})();
