// Saves a chart as it is seen (SVG, with its words and colours) or its numbers (CSV, which the chart carries along).
// The file is made in the browser: nothing is asked for and nothing leaves the machine.
(() => {
  "use strict";
  const SPACE = "http://www.w3.org/2000/svg"; // a name, not an address: nobody fetches it
  const [WIDTH, EDGE, LINE, FONT] = [640, 8, 22, "system-ui, Segoe UI, Roboto, DejaVu Sans, Arial, sans-serif"];
  const LOOKS = "fill stroke stroke-width stroke-linejoin opacity font-family font-size text-anchor".split(" ");

  function make(name, attributes, ...children) {
    const element = document.createElementNS(SPACE, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  function words(text, x, y, more = {}) {
    return make("text", { x, y, "font-family": FONT, "font-size": 13, ...more }, text.trim());
  }

  function dressed(picture, place) { // a copy that brings its own style
    const copy = picture.cloneNode(true);
    const twins = [copy, ...copy.querySelectorAll("*")];
    [picture, ...picture.querySelectorAll("*")].forEach((element, index) => {
      const [twin, style] = [twins[index], getComputedStyle(element)];
      for (const look of LOOKS) twin.setAttribute(look, style.getPropertyValue(look));
      if (style.transform !== "none") twin.setAttribute("transform", style.transform);
      if (style.display === "none") twin.setAttribute("display", "none");
      for (const name of ["class", "data-find", "data-kinds"]) twin.removeAttribute(name);
    });
    for (const [key, value] of Object.entries(place)) copy.setAttribute(key, value);
    return copy;
  }

  function titleOf(figure) {
    return (figure.querySelector("caption")?.textContent ?? figure.querySelector("svg").getAttribute("aria-label")).trim();
  }

  function drawing(figure) {
    const [ink, card] = [getComputedStyle(figure).color, getComputedStyle(figure.closest("section")).backgroundColor];
    const parts = [words(titleOf(figure), EDGE, LINE, { fill: ink, "font-weight": 600 })];
    let y = 1.5 * LINE;
    const say = (text, x, more) => parts.push(words(text, x, y + 14, { fill: ink, ...more }));
    const caption = figure.querySelector("figcaption")?.textContent ?? titleOf(figure);
    if (caption !== titleOf(figure)) {
      say(caption, EDGE);
      y += LINE;
    }
    const picture = figure.querySelector(":scope > svg");
    if (picture) {
      const height = picture.viewBox.baseVal.height;
      parts.push(dressed(picture, { x: 0, y, width: WIDTH, height }));
      y += height + EDGE;
    }
    for (const row of figure.querySelectorAll("tbody tr")) { // bars: name, bar, value in words
      say(row.cells[0].textContent, EDGE);
      parts.push(dressed(row.querySelector("svg"), { x: 0.4 * WIDTH, y: y + 4, width: 0.3 * WIDTH, height: 11 }));
      say(row.cells[2].textContent, WIDTH - EDGE, { "text-anchor": "end" });
      y += LINE;
    }
    for (const entry of figure.querySelectorAll(".legend li")) {
      parts.push(dressed(entry.querySelector("svg"), { x: EDGE, y: y + 3, width: 14, height: 14 }));
      say(entry.textContent, EDGE + LINE);
      y += LINE;
    }
    const size = { width: WIDTH, height: y + EDGE };
    return make("svg", { ...size, viewBox: `0 0 ${WIDTH} ${y + EDGE}` }, make("rect", { ...size, fill: card }), ...parts);
  }

  function nameOf(figure, kind) { // whose it is and what it shows, in letters that every system takes
    const whose = figure.closest("#views details")?.querySelector("summary bdi")?.textContent ?? "";
    const plain = `${whose} ${titleOf(figure)}`.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    return `${plain.slice(0, 60) || "chart"}.${kind}`;
  }

  function save(name, text, type) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  document.addEventListener("click", (event) => {
    const kind = event.target.closest("[data-save]")?.dataset.save;
    const figure = event.target.closest("figure");
    if (kind === "svg") save(nameOf(figure, kind), new XMLSerializer().serializeToString(drawing(figure)), "image/svg+xml");
    if (kind === "csv") save(nameOf(figure, kind), figure.dataset.csv, "text/csv");
  });
})();
