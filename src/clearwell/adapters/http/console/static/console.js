"use strict";
/* What every page does: menus, toasts, times in the reader's zone, live events, and mathematics where there is any. */
(() => {
  const root = document.documentElement;

  const times = new Intl.DateTimeFormat(root.lang, { dateStyle: "medium", timeStyle: "short" });
  const whole = new Intl.DateTimeFormat(root.lang, { dateStyle: "full", timeStyle: "long" });
  const ago = new Intl.RelativeTimeFormat(root.lang, { numeric: "auto" });
  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

  function sayDistance(moment) {
    const seconds = (moment - Date.now()) / 1000;
    const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) || units[3];
    return ago.format(Math.round(seconds / size), unit).replace(/(\d)(?=\p{Script=Han})/u, "$1 ");
  }

  function showTimes(part) {
    for (const element of part.querySelectorAll("time[datetime]")) {
      const moment = new Date(element.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      element.textContent = element.dataset.relative === undefined ? times.format(moment) : sayDistance(moment);
      element.title = whole.format(moment);
    }
  }

  /* A time that is near is shown to the second, and once something has expired, the page reads again what it shows. */
  const expired = new Set();
  function countDown() {
    for (const element of document.querySelectorAll("time[data-relative]")) {
      const moment = new Date(element.dateTime), left = moment - Date.now();
      if (Math.abs(left) < 90000) element.textContent = sayDistance(moment);
      if (left > 0 || element.dataset.expires === undefined || expired.has(element.dateTime)) continue;
      expired.add(element.dateTime); // once, also if the clock of this machine is ahead
      document.body.dispatchEvent(new CustomEvent("clearwell:changed"));
    }
  }

  let katex = null;
  function loadKatex() {
    katex ??= new Promise((resolve, reject) => {
      const [script, style] = document.querySelector('meta[name="katex"]').content.split(" ");
      const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: style });
      const loaded = Object.assign(document.createElement("script"), { src: script, onload: resolve, onerror: reject });
      document.head.append(link, loaded);
    });
    return katex;
  }

  function showMath(part) {
    const found = [...part.querySelectorAll(".math:not([data-shown])")];
    if (!found.length) return;
    for (const element of found) element.dataset.shown = ""; // before the script is there: nothing is drawn twice
    loadKatex().then(() => {
      for (const element of found) drawFormula(element);
    });
  }

  /* A formula that cannot be drawn, for whatever reason, or asks for a link or an image, is shown as it was written. */
  function drawFormula(element) {
    const source = element.textContent;
    const displayMode = element.classList.contains("block");
    const trust = ({ command }) => { throw new window.katex.ParseError(`${command} is not allowed`); };
    try {
      window.katex.render(source, element, {
        displayMode, throwOnError: true, trust, strict: "ignore", maxExpand: 200, maxSize: 10,
      });
    } catch {
      element.textContent = source;
      element.classList.add("undrawn");
    }
  }

  function prepare(part) {
    showTimes(part);
    showMath(part);
    const toasts = part.querySelectorAll("[data-toast]");
    for (const toast of toasts) keepToast(toast);
    if (toasts.length) raiseToasts();
    for (const button of part.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
    for (const field of part.querySelectorAll("[data-here]")) field.value = location.pathname + location.search;
    for (const dialog of part.querySelectorAll("dialog[data-open]")) if (!dialog.open) dialog.showModal();
    for (const mark of part.querySelectorAll("mark")) showMark(mark);
    for (const form of part.querySelectorAll("form[data-keeps]")) showDraft(form);
  }

  /* What is half written in a form that says so is kept for this tab: neither a reload nor the other language loses it.
     Once it is saved, it is what the page comes with, and no draft any more. */
  const keyOfDraft = (form) => `clearwell:form:${location.pathname}:${form.dataset.keeps}`;
  const writtenFields = (form) => [...form.querySelectorAll("textarea[name], input.field[name]")];

  function keepDraft(form) {
    const texts = writtenFields(form).filter((field) => field.value !== field.defaultValue);
    if (!texts.length) return sessionStorage.removeItem(keyOfDraft(form));
    sessionStorage.setItem(keyOfDraft(form), JSON.stringify(Object.fromEntries(texts.map((field) => [field.name, field.value]))));
  }

  function showDraft(form) {
    const kept = JSON.parse(sessionStorage.getItem(keyOfDraft(form)));
    if (!kept) return;
    for (const field of writtenFields(form)) {
      if (form.method === "get" && field.defaultValue) continue; // the address says what is asked
      if (field.value === field.defaultValue && kept[field.name] !== undefined) field.value = kept[field.name];
    }
    keepDraft(form);
    const details = form.closest("details");
    if (details && sessionStorage.getItem(keyOfDraft(form))) details.open = true;
  }

  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-keeps]");
    if (form) keepDraft(form);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.matches("form[data-keeps][method=get]")) sessionStorage.removeItem(keyOfDraft(event.target));
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const form = event.target.closest?.("form[data-keeps]");
    if (form && event.detail.successful && !document.querySelector("dialog[open] [name=acknowledge]")) {
      sessionStorage.removeItem(keyOfDraft(form));
    }
  });

  /* A highlighted sentence stands in the middle of the box that its text scrolls in. The page itself stays where it is. */
  function showMark(mark) {
    const box = mark.closest(".output, .scroll");
    if (!box || box.dataset.scrolled !== undefined) return;
    box.dataset.scrolled = "";
    const [frame, line] = [box.getBoundingClientRect(), mark.getBoundingClientRect()];
    box.scrollTop += line.top - frame.top - Math.max(0, frame.height - line.height) / 2;
  }

  /* Whatever is said while a dialog is open is shown above it. */
  function raiseToasts() {
    const toasts = document.getElementById("toasts");
    if (!document.querySelector("dialog[open]")) return;
    if (toasts.matches(":popover-open")) toasts.hidePopover();
    toasts.showPopover();
  }

  /* A toast goes after a while, unless the pointer or the focus is on it. */
  function keepToast(toast) {
    if (toast.dataset.kept !== undefined) return;
    toast.dataset.kept = "";
    const seconds = Number(toast.dataset.seconds || 10);
    let left = seconds;
    const timer = setInterval(() => {
      if (!toast.isConnected) return clearInterval(timer);
      left = toast.matches(":hover, :focus-within") ? seconds : left - 1;
      if (left <= 0) toast.remove();
    }, 1000);
  }

  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (!target) return;
    target.closest("[data-dismiss]")?.closest("[data-toast]")?.remove();
    const closer = target.closest("dialog [data-close]");
    if (closer) {
      event.preventDefault(); // a link leads back where there is no script
      closer.closest("dialog").close();
    }
    const folder = target.closest("[data-fold]");
    if (folder) fold(folder.closest("details"));
    const copier = target.closest("[data-copy]");
    if (copier) copy(copier);
    const opener = target.closest("[data-dialog]");
    if (opener) document.getElementById(opener.dataset.dialog).showModal();
    const done = target.closest("[data-dismiss-after]");
    if (done) setTimeout(() => { done.closest("[data-toast]").hidden = true; }); // htmx reports to it while it waits
    const toggle = target.closest("[data-toggle]");
    if (toggle) {
      const open = document.getElementById(toggle.dataset.toggle).classList.toggle("open");
      toggle.setAttribute("aria-expanded", String(open));
    }
    for (const details of document.querySelectorAll("details[data-closes][open]")) {
      if (!details.contains(target)) details.open = false;
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const details of document.querySelectorAll("details[data-closes][open]")) {
      details.open = false;
      details.querySelector("summary").focus();
    }
  });

  /* Whoever types into a field that belongs to one choice of a list has made that choice; another choice empties it. */
  document.addEventListener("input", (event) => {
    const choice = event.target.form?.elements[event.target.dataset.chooses || ""];
    if (choice && event.target.value.trim()) choice.value = choice.dataset.choice;
  });
  document.addEventListener("change", (event) => {
    const { choice } = event.target.dataset;
    if (!choice || event.target.value === choice) return;
    for (const field of event.target.form.querySelectorAll(`[data-chooses="${event.target.name}"]`)) field.value = "";
  });

  function fold(details) {
    details.open = false;
    details.querySelector("summary").focus();
  }

  /* A button that copies a text of the page, and says so. Where the browser refuses, the text is selected instead. */
  async function copy(button) {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      button.textContent = button.dataset.done;
    } catch {
      getSelection().selectAllChildren(source);
    }
  }

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !event.target.matches("[data-submits]")) return;
    event.preventDefault();
    event.target.form.requestSubmit();
  });

  /* A form or panel that is unfolded has the focus in its first field. */
  document.addEventListener("toggle", (event) => {
    if (!event.target.open || !event.target.matches(".forms > details, details[data-closes]")) return;
    event.target.querySelector("textarea, input:not([type=hidden]), select")?.focus();
  }, true);

  /* A field that has a message of its own for what is missing shows it in place of the browser's, which covers others. */
  document.addEventListener("invalid", (event) => {
    const message = document.getElementById(event.target.dataset.missing || "");
    if (!message) return;
    event.preventDefault();
    message.hidden = false;
    event.target.setAttribute("aria-invalid", "true");
    event.target.form.querySelector(":invalid:not(fieldset)").focus();
  }, true);
  document.addEventListener("input", (event) => {
    const message = document.getElementById(event.target.dataset.missing || "");
    if (!message || !event.target.validity.valid) return;
    message.hidden = true;
    event.target.removeAttribute("aria-invalid");
  });

  /* Events of the group. They carry no text: whoever listens for the change reads again what it shows. */
  function follow(element) {
    const source = new EventSource(element.dataset.url);
    const names = (element.dataset.events || "captured admitted refused requeued entry_removed digest_requested " +
      "digest_made digest_failed promoted promotion_completed superseded rejected merged snoozed retracted undone " +
      "tombstone_added tombstone_lifted reset").split(" ");
    let waiting = null;
    const change = () => {
      waiting ??= setTimeout(() => {
        waiting = null;
        document.body.dispatchEvent(new CustomEvent("clearwell:changed"));
      }, 400);
    };
    let lostAt = null; // since when the page, which was live, shows what may be outdated
    const show = (on) => {
      if (on) lostAt = null;
      else if (element.classList.contains("on")) lostAt = new Date();
      element.classList.toggle("on", on);
      element.classList.toggle("lost", lostAt !== null);
      const since = lostAt && element.dataset.since?.replace("{time}", times.format(lostAt));
      element.textContent = on ? element.dataset.on : since || element.dataset.off;
    };
    show(false);
    for (const name of names) source.addEventListener(name, change);
    let missed = false; // whether something may have happened that no event told
    const lose = () => { missed = true; show(false); };
    const resume = () => {
      show(true);
      if (missed) change();
      missed = false;
    };
    source.addEventListener("subscribed", resume);
    source.addEventListener("recovered", resume);
    source.addEventListener("degraded", () => { lose(); change(); });
    source.addEventListener("error", lose);
    addEventListener("pagehide", () => source.close());
  }

  /* On a narrow screen the filters of a list are folded, unless some are set. */
  const narrow = matchMedia("(max-width: 52rem)");
  function foldFilters() {
    for (const box of document.querySelectorAll("[data-narrow-closed]")) {
      box.open = !narrow.matches || box.dataset.narrowClosed !== "0";
    }
  }
  narrow.addEventListener("change", foldFilters);

  document.addEventListener("DOMContentLoaded", () => {
    foldFilters();
    prepare(document);
    const live = document.querySelector("[data-live]");
    if (live) follow(live);
    setInterval(() => showTimes(document), 30000);
    setInterval(countDown, 1000);
  });
  document.addEventListener("htmx:load", (event) => prepare(event.target.parentElement || event.target));
  document.addEventListener("htmx:sendError", () => {
    const toast = document.getElementById("offline-toast");
    if (toast) document.getElementById("toasts").append(toast.content.cloneNode(true));
    prepare(document.getElementById("toasts"));
  });
})();
