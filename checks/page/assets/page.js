"use strict";
(() => {
  const findings = Array.from(document.querySelectorAll("article.finding"));
  const changes = Array.from(document.querySelectorAll("details.change"));
  const searched = findings.concat(changes);
  if (searched.length === 0) return;

  const make = (name, props, ...children) => {
    const e = document.createElement(name);
    Object.assign(e, props);
    e.append(...children);
    return e;
  };
  const input = make("input", { type: "search", placeholder: "Search findings and differences", autocomplete: "off" });
  input.setAttribute("aria-label", "Search findings and differences");
  const told = make("span", {});
  told.setAttribute("role", "status");
  const help = make("button", { type: "button", textContent: "Keys" });
  const row = (key, what) => make("p", {}, make("kbd", { textContent: key }), " " + what);
  const dialog = make("dialog", {},
    row("j", "next finding"), row("k", "previous finding"), row("/", "search"), row("?", "these keys"),
    make("form", { method: "dialog" }, make("button", { textContent: "Close" })));
  dialog.setAttribute("aria-label", "Keys");
  document.querySelector("main").insertBefore(make("div", { className: "tools" }, input, told, help),
    document.querySelector("main section:nth-of-type(2)"));
  document.body.append(dialog);
  help.addEventListener("click", () => dialog.showModal());

  const texts = new Map();
  const textOf = (e) => {
    if (!texts.has(e)) texts.set(e, e.textContent.toLowerCase());
    return texts.get(e);
  };
  let wait = 0;
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const e of searched) {
      const group = e.closest(".group");
      const name = group ? group.querySelector("h3").textContent.toLowerCase() : "";
      const found = words.every((w) => textOf(e).includes(w) || name.includes(w));
      e.hidden = !found;
      if (found) n++;
    }
    for (const g of document.querySelectorAll(".group")) {
      g.hidden = !g.querySelector("article.finding:not([hidden])");
      if (words.length > 0 && !g.hidden) g.open = true;
    }
    told.textContent = words.length > 0 ? n + " of " + searched.length : "";
  };
  input.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(search, 80); });

  const shown = () => findings.filter((e) => !e.hidden);
  const go = (step) => {
    const list = shown();
    if (list.length === 0) return;
    const at = list.indexOf(document.activeElement);
    const next = list[at < 0 ? (step > 0 ? 0 : list.length - 1) : Math.min(Math.max(at + step, 0), list.length - 1)];
    const group = next.closest("details");
    if (group) group.open = true;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "start" });
  };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target === input) {
      if (e.key === "Escape") { input.value = ""; search(); input.blur(); }
      return;
    }
    if (dialog.open || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
    switch (e.key) {
      case "j": go(1); break;
      case "k": go(-1); break;
      case "/": e.preventDefault(); input.focus(); break;
      case "?": dialog.showModal(); break;
    }
  });
  const open = () => {
    const e = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let d = e; d; d = d.parentElement) if (d.tagName === "DETAILS") d.open = true;
    if (e) e.scrollIntoView({ block: "start" });
  };
  window.addEventListener("hashchange", open);
  open();
})();
