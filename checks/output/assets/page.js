"use strict";
(() => {
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const searched = () => all("article.finding, details.change");
  if (searched().length === 0) return;

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

  // Parts of the page that have addresses of their own are fetched once, and put where their links are.
  const parts = new Map();
  const fill = (text, name, links) => {
    const part = new DOMParser().parseFromString(text, "text/html").querySelector("main[data-part]");
    if (!part || part.dataset.part !== name) throw new Error("not the part"); // a page of a proxy, to sign in at
    for (const change of part.querySelectorAll("details.change")) {
      const here = document.getElementById(change.id);
      const rest = here && here.querySelector(".rest");
      if (!rest) continue;
      rest.replaceWith(...Array.from(change.children).slice(1));
      change.remove();
      texts.delete(here);
    }
    for (const link of links) {
      if (!link.isConnected) continue;
      texts.delete(link.closest("article.finding, details.change"));
      link.closest(".rest").replaceWith(...part.querySelectorAll(":scope > :not(h1, .meta)"));
    }
  };
  const addressOf = (link) => link.href.split("#")[0];
  const load = (address) => {
    if (!parts.has(address)) {
      parts.set(address, fetch(address, { credentials: "same-origin" }).then((answer) => {
        if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
        return answer.text();
      }).then((text) => fill(text, address.split("/").pop(), all(".rest a").filter((a) => addressOf(a) === address)),
      ).catch((e) => { parts.delete(address); throw e; }));
    }
    return parts.get(address);
  };
  document.addEventListener("click", (e) => {
    const link = e.target.closest && e.target.closest(".rest a");
    if (!link || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    load(addressOf(link)).then(search, () => { location.href = link.href; });
  });
  document.addEventListener("toggle", (e) => {
    const link = e.target.open && e.target.matches(".change") && e.target.querySelector(".rest a");
    if (link) load(addressOf(link)).catch(() => {}); // the link stays
  }, true);
  // One after the other: what is far down is asked for last, and what a part has links to after it. What did not come
  // keeps its link.
  const loadAll = async (enough) => {
    const asked = new Set();
    for (;;) {
      const next = all(".rest a").map(addressOf).find((address) => !asked.has(address));
      if (!next || enough(asked.size)) return;
      asked.add(next);
      await load(next).catch(() => {});
    }
  };

  const texts = new Map();
  const textOf = (e) => {
    if (!texts.has(e)) texts.set(e, e.textContent.toLowerCase());
    return texts.get(e);
  };
  let wait = 0;
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const e of searched()) {
      const group = e.closest(".group");
      const name = group ? group.querySelector("h3").textContent.toLowerCase() : "";
      const found = words.every((w) => textOf(e).includes(w) || name.includes(w));
      e.hidden = !found;
      if (found) n++;
    }
    for (const g of all(".group")) {
      g.hidden = !g.querySelector("article.finding:not([hidden]), .rest");
      if (words.length > 0 && !g.hidden) g.open = true;
    }
    let head = null;
    for (const e of all("h3.root, .change")) {
      if (e.matches(".root")) { head = e; head.hidden = true; } else if (head && !e.hidden) head.hidden = false;
    }
    const left = all(".rest").length;
    told.textContent = words.length > 0 ? n + " of " + searched().length + (left > 0 ? ", not all is here yet" : "") : "";
    return words.length;
  };
  const searchAll = async () => {
    const asked = input.value;
    if (search() === 0) return;
    // Each search looks at all that is there, so there are ever fewer of them.
    await loadAll((parts) => input.value !== asked || (parts & (parts - 1)) === 0 && search() === 0);
    search();
  };
  input.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(searchAll, 80); });

  const places = () => all("article.finding:not([hidden]), .group > .rest, section > .group ~ .rest");
  const go = async (step) => {
    const list = places();
    if (list.length === 0) return;
    const at = list.findIndex((e) => e.contains(document.activeElement));
    const to = at < 0 ? (step > 0 ? 0 : list.length - 1) : Math.min(Math.max(at + step, 0), list.length - 1);
    let next = list[to];
    const group = next.closest("details");
    if (group) group.open = true;
    if (next.matches(".rest")) {
      const link = next.querySelector("a");
      await load(addressOf(link)).then(search, () => {});
      const now = places();
      next = next.isConnected ? link : now[Math.max(0, at < 0 ? to : now.indexOf(list[at]) + step)];
      if (!next) return;
    }
    const fold = next.querySelector(":scope > .fold");
    if (fold) fold.open = true;
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
  const open = async () => {
    const id = location.hash && decodeURIComponent(location.hash.slice(1));
    if (!id) return;
    const target = () => document.getElementById(id);
    if (!target()) await loadAll(target);
    for (let d = target(); d; d = d.parentElement) if (d.tagName === "DETAILS") d.open = true;
    if (!target()) return;
    const fold = target().querySelector(":scope > .fold");
    if (fold) fold.open = true;
    target().scrollIntoView({ block: "start" });
  };
  window.addEventListener("hashchange", open);
  open();
})();
