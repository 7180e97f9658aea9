// Finds one provider among many. A line about a provider carries its name and address (data-find) and what happened to
// it (data-kinds); lines that do not match are put away. Asks nobody for anything: it works from disk too.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("scripted"); // shows what works with scripts only

  const plain = (words) => words.normalize("NFKC").toLowerCase().trim();
  const field = () => document.getElementById("find-text");
  const chosen = () => document.querySelector('input[name="find-kind"]:checked');

  function apply() {
    if (!field()) return;
    const words = plain(field().value);
    const kind = chosen().value;
    for (const line of document.querySelectorAll("[data-find]")) {
      const named = plain(line.dataset.find).includes(words);
      line.classList.toggle("away", !(named && (kind === "all" || line.dataset.kinds.split(" ").includes(kind))));
    }
    root.classList.toggle("finding", words !== "" || kind !== "all");
    say(document.querySelectorAll("#views [data-find]"));
  }

  function say(all) {
    const shown = [...all].filter((line) => !line.classList.contains("away")).length;
    const words = shown ? `${shown} of ${all.length} providers are shown.` : "No provider is like that.";
    const output = document.querySelector("#found output");
    if (output.textContent !== words) output.textContent = words; // else a screen reader would say it again
  }

  function showAll() {
    field().value = "";
    document.querySelector('input[name="find-kind"][value="all"]').checked = true;
    apply();
  }

  document.addEventListener("input", (event) => event.target.closest("#find") && apply());
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-find-all]")) {
      showAll();
      field().focus();
    }
    const link = event.target.closest('a[href^="#"]'); // one that leads to a line that was put away
    if (link && document.getElementById(link.hash.slice(1))?.closest(".away")) showAll();
  });
  document.addEventListener("DOMContentLoaded", apply);
  document.addEventListener("refreshed", apply); // the live page has replaced sections
})();
