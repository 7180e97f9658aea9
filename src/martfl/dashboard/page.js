// Follows the market: the server says that something changed, the page fetches the sections and replaces those that
// differ. What the reader has opened stays open, and focus stays where it was.
"use strict";
const main = document.querySelector("main");
const status = document.getElementById("status");
const shown = new Map( // section → digest of its content
  document.querySelector('meta[name="martfl-sections"]').content.split(",").map((pair) => pair.split("=")),
);

function say(words, kind) {
  status.textContent = words;
  status.className = kind;
}

function replaceSection(name, digest, html, after) {
  const old = document.getElementById(name);
  if (html === null) return old;
  const template = document.createElement("template");
  template.innerHTML = html; // made and escaped by the server; scripts in it would not run
  const fresh = template.content.firstElementChild;
  if (old) {
    for (const details of old.querySelectorAll("details")) {
      const key = details.id || details.querySelector("summary").textContent;
      for (const twin of fresh.querySelectorAll("details")) {
        if ((twin.id || twin.querySelector("summary").textContent) === key) twin.open = details.open;
      }
    }
    const focused = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    old.replaceWith(fresh);
    if (focused) {
      const again = [...fresh.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused);
      if (again) again.focus({ preventScroll: true });
    }
  } else if (after) {
    after.after(fresh);
  } else {
    main.prepend(fresh);
  }
  shown.set(name, digest);
  return fresh;
}

async function refresh() {
  const have = [...shown.values()].join(",");
  const answer = await fetch("sections?have=" + have, { headers: { accept: "application/json" } });
  if (answer.status === 401) return location.reload();
  if (!answer.ok) throw new Error(answer.statusText);
  const content = await answer.json();
  let last = null;
  for (const [name, digest, html] of content.sections) last = replaceSection(name, digest, html, last);
  for (const section of [...main.querySelectorAll(":scope > section")]) {
    if (content.sections.some(([name]) => name === section.id)) continue;
    section.remove();
    shown.delete(section.id);
  }
  document.dispatchEvent(new Event("refreshed"));
  say(content.status, "live");
}

function follow() {
  const events = new EventSource("events");
  events.addEventListener("changed", () => refresh().catch(() => say("the server did not answer", "lost")));
  events.addEventListener("error", () => say("connection lost, trying again", "lost"));
  addEventListener("pagehide", () => events.close());
}

follow();
