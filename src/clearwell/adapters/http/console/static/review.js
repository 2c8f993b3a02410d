"use strict";
/* The keys of the review inbox, what is selected or half written, and where the reader stopped. Every key presses a button
   of the page. What is selected and half written is kept for this tab, so that a reload loses neither. */
(() => {
  const LAYERS = "dialog[open], details[data-closes][open], #menu.open"; // while one lies upon the page, no key decides
  const selected = new Set();
  const running = new Set(); // requests that change the inbox, which no key may overtake
  let searched = false;
  let decided = 0;

  const inbox = () => document.getElementById("inbox");
  const place = () => `clearwell:place:${inbox().dataset.group}`;
  const selection = () => `clearwell:selected:${inbox().dataset.group}`;
  const draft = (insight, dialog = "") => `clearwell:draft:${insight}:${dialog}`;
  /* A field of a dialog that was just closed has the focus until the page is drawn again. */
  const isTyping = (target) =>
    target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")?.checkVisibility();

  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return event.target.closest("dialog[open] form")?.requestSubmit();
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector(LAYERS)) return;
    if (event.key === "z" && undo()) return event.preventDefault();
    const target = findTarget(event.key);
    if (!target) return showHint(event.key);
    event.preventDefault();
    if (running.size && event.key !== "?" && event.key !== "x") return;
    if (target.matches("input[type=search]")) target.focus();
    else target.click();
    if (event.key === "m") markSelected();
  });

  /* The button of a key. While insights are selected, a key decides on all of them, after a preview. What is half written
     is not passed over: the key that promotes opens it. */
  function findTarget(key) {
    const all = selected.size && document.querySelector(`[data-bulk] [data-bulk-key="${CSS.escape(key)}"]`);
    if (all) return all;
    if (key === "p" && hasDraft(document.getElementById("edit"))) key = "e";
    return [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)].find((one) => one.checkVisibility());
  }

  /* The message that offers to undo, before the button of the page. */
  function undo() {
    const offered = document.querySelector("#message [data-dismiss-after]");
    if (!offered?.checkVisibility() || running.size) return false;
    offered.click();
    return true;
  }

  /* Why a key does nothing here, where the page knows it. */
  function showHint(key) {
    const hint = document.querySelector(`template[data-hint="${CSS.escape(key)}"]`);
    if (!hint || running.size) return;
    document.getElementById("message").replaceChildren(hint.content.cloneNode(true));
    htmx.trigger(document.querySelector("#message > *"), "htmx:load"); // starts its time
  }

  /* Counts the decisions of this tab, and forgets what was half written for the insights that they settled. */
  function countDecisions() {
    const message = document.querySelector("#message [data-decided]:not([data-counted])");
    if (!message) return;
    message.dataset.counted = "";
    decided = Math.max(0, decided + Number(message.dataset.decided));
    message.querySelector("[data-number]").textContent = decided;
    message.querySelector("[data-total]").hidden = decided < 2;
    for (const insight of (message.dataset.settled || "").split(" ").filter(Boolean)) {
      for (const key of Object.keys(sessionStorage)) if (key.startsWith(draft(insight))) sessionStorage.removeItem(key);
      selected.delete(insight);
    }
    showSelected();
  }

  /* What is half written: the fields of a dialog that differ from what the page came with. The memory to supersede has a
     box in the page as well. */
  const dialogs = () => [...document.querySelectorAll("dialog[data-draft]")];
  const fieldsOf = (dialog) =>
    [...dialog.querySelectorAll("input:not([type=hidden]):not([name=supersedes]), textarea")];
  const isTick = (field) => field.type === "checkbox";
  const isWritten = (field) => (isTick(field) ? field.checked !== field.defaultChecked : field.value !== field.defaultValue);
  const hasDraft = (dialog) => Boolean(dialog) && fieldsOf(dialog).some(isWritten);

  function keepDraft(dialog) {
    const fields = fieldsOf(dialog), key = draft(dialog.dataset.draft, dialog.id);
    const texts = Object.fromEntries(fields.filter((field) => !isTick(field)).map((field) => [field.name, field.value]));
    const ticks = fields.filter((field) => isTick(field) && field.checked).map((field) => field.value);
    if (hasDraft(dialog)) sessionStorage.setItem(key, JSON.stringify({ texts, ticks }));
    else sessionStorage.removeItem(key);
    showNotes();
  }

  function showDrafts() {
    for (const dialog of dialogs()) {
      const kept = JSON.parse(sessionStorage.getItem(draft(dialog.dataset.draft, dialog.id)));
      if (!kept || hasDraft(dialog)) continue;
      for (const field of fieldsOf(dialog)) {
        if (isTick(field)) field.checked = kept.ticks.includes(field.value);
        else field.value = kept.texts[field.name] ?? field.value;
      }
    }
    showNotes();
    requireOne();
    countBytes();
  }

  function showNotes() {
    for (const note of document.querySelectorAll("[data-draft-note]")) {
      note.hidden = !hasDraft(document.getElementById(note.dataset.draftNote));
    }
  }

  function dropDraft(dialog) {
    for (const field of fieldsOf(dialog)) {
      if (isTick(field)) field.checked = field.defaultChecked;
      else field.value = field.defaultValue;
    }
    keepDraft(dialog);
  }

  /* Of the insights to merge at least one has to be ticked. */
  function requireOne() {
    const boxes = [...document.querySelectorAll("#merge [data-same]")];
    const isMissing = !boxes.some((box) => box.checked);
    for (const box of boxes) {
      box.required = isMissing;
      if (!isMissing) box.removeAttribute("aria-invalid");
    }
  }

  function countBytes() {
    for (const counter of document.querySelectorAll("[data-bytes]")) {
      const size = new TextEncoder().encode(document.getElementById(counter.dataset.bytes).value).length;
      const number = (value) => value.toLocaleString(document.documentElement.lang);
      const most = Number(counter.dataset.most);
      counter.textContent = counter.dataset.form.replace("{count}", number(size)).replace("{most}", number(most));
      counter.classList.toggle("fault", size > most);
    }
  }

  /* That somebody else has decided is said in the dialog that is open, too: it lies upon the page. */
  function showChanges() {
    const notes = [...document.querySelectorAll("#changes > *")];
    for (const place of document.querySelectorAll("[data-changes]")) {
      place.replaceChildren(...notes.map((note) => note.cloneNode(true)));
    }
  }

  function markSelected() {
    for (const box of document.querySelectorAll("#merge [data-same]")) if (selected.has(box.dataset.same)) box.checked = true;
    requireOne();
  }

  function showSelected() {
    const boxes = [...document.querySelectorAll("#insights input[type=checkbox]")];
    const listed = new Set(boxes.map((box) => box.value));
    /* What a filter leaves out stays selected. What the whole list does not have was decided. */
    if (document.querySelector("#insights [data-all]")) for (const id of selected) if (!listed.has(id)) selected.delete(id);
    for (const box of boxes) box.checked = selected.has(box.value);
    sessionStorage.setItem(selection(), [...selected].join(" "));
    const bar = document.querySelector("[data-bulk]");
    if (!bar) return;
    bar.hidden = selected.size === 0;
    bar.querySelector("[data-count]").textContent = selected.size;
    bar.querySelector("[data-unlisted]").replaceChildren(...[...selected].filter((id) => !listed.has(id)).map(makeField));
  }

  function makeField(id) {
    return Object.assign(document.createElement("input"), { type: "hidden", name: "id", value: id });
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
    showDrafts();
    showChanges();
    countDecisions();
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
    if (event.target.matches("[name=supersedes]")) return supersede(event.target);
    if (!event.target.matches("#insights input[type=checkbox]")) return;
    if (event.target.checked) selected.add(event.target.value);
    else selected.delete(event.target.value);
    showSelected();
  });

  /* A promotion supersedes one memory. The page and the dialog for editing have a box for it each. */
  function supersede(changed) {
    for (const box of document.querySelectorAll("[name=supersedes]")) {
      if (box.value === changed.value) box.checked = changed.checked;
      else if (changed.checked) box.checked = false;
    }
  }

  document.addEventListener("input", (event) => {
    const dialog = event.target.closest("dialog[data-draft]");
    if (!dialog) return;
    requireOne();
    countBytes();
    keepDraft(dialog);
  });

  document.addEventListener("submit", (event) => {
    if (!event.target.matches(".filters")) return;
    searched = true;
    document.activeElement?.blur(); // before htmx, which gives the focus back to the field
  }, true);

  document.addEventListener("click", (event) => {
    const closed = event.target.closest("[data-close]")?.closest("dialog[data-draft]");
    if (closed) dropDraft(closed);
    if (event.target.closest("[data-dialog=edit]")) {
      const field = document.getElementById("edit-text");
      field.setSelectionRange(field.value.length, field.value.length);
    }
    const fill = event.target.closest("[data-fill]");
    if (!fill) return;
    const field = document.getElementById(fill.dataset.fill);
    field.value = fill.textContent;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  });

  /* An answer may go elsewhere than its request asked for: a problem to the toasts, a question to a dialog. */
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { target, xhr } = event.detail;
    if (target?.id !== "inbox") return;
    running.add(xhr);
    xhr.addEventListener("loadend", () => running.delete(xhr));
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target?.id === "inbox") {
      document.getElementById("dialog").replaceChildren();
      scrollTo({ top: 0 });
      const focused = document.activeElement; // htmx gives the focus back to the row that had it
      if (searched || focused?.matches("#insights li:not(.current) > a")) document.querySelector("#insights .current a")?.focus({ preventScroll: true });
      searched = false;
    }
    settle();
  });
  document.addEventListener("DOMContentLoaded", () => {
    const last = localStorage.getItem(place());
    for (const id of (sessionStorage.getItem(selection()) || "").split(" ").filter(Boolean)) selected.add(id);
    settle();
    setTimeout(() => resume(last));
  });
})();
