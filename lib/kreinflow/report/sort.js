// A click on a heading sorts its table: numbers from the largest, text from A; again: the other way.
for (const table of document.querySelectorAll("main table")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const number = /^[<>]?\s*([+-]?[\d,]*\.?\d+(?:e[+-]?\d+)?)(?=$|[\s%(])/i;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const rows = [...body.rows].map((row) => {
        const text = row.cells[column].textContent.trim();
        const found = number.exec(text);
        const size = found ? Number(found[1].replaceAll(",", "")) : NaN;
        return { row, text, size: text.startsWith("<") ? size - 1e-9 : size };
      });
      const numeric = rows.every(({ text, size }) => text === "" || !Number.isNaN(size));
      const first = numeric ? "descending" : "ascending";
      const second = numeric ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? second : first;
      const sign = order === "ascending" ? 1 : -1;
      rows.sort((a, b) => {
        if (a.text === "" || b.text === "") return (a.text === "") - (b.text === "");
        if (numeric) return sign * (a.size - b.size);
        return sign * a.text.localeCompare(b.text, "en", { numeric: true });
      });
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      body.append(...rows.map(({ row }) => row));
    });
  });
}
// What is wider than its place says so above it, and how many columns it has.
for (const box of document.querySelectorAll("main .scroll")) {
  const hint = document.createElement("p");
  hint.className = "hint";
  const heads = box.querySelector("table")?.tHead.rows[0].cells.length;
  hint.textContent = "Scroll to the right" + (heads ? `: ${heads} columns` : "");
  hint.hidden = true;
  box.before(hint);
  const look = () => {
    hint.hidden = box.scrollWidth <= box.clientWidth;
  };
  new ResizeObserver(look).observe(box);
  look();
}
