// What htmx does not do: the live dot, which event concerns which part of the page, keys, copying, the reader's zone.
"use strict";

(() => {
  const find = (selector) => document.querySelector(selector);

  // --- live ---------------------------------------------------------------------------------------------

  let wasOpen = false;

  function showLive(isLive) {
    const dot = find("#dot");
    if (!dot) return;
    dot.classList.toggle("on", isLive);
    find("#dot-text").textContent = isLive ? "live" : wasOpen ? "server is gone, trying again" : "not live";
  }

  function refresh(selector) {
    const element = find(selector);
    if (element) htmx.trigger(element, "refresh");
  }

  document.addEventListener("htmx:sseOpen", () => {
    if (wasOpen) ["#card", "#list"].forEach(refresh); // whatever was said meanwhile
    wasOpen = true;
    showLive(true);
  });
  document.addEventListener("htmx:sseError", () => showLive(false));
  document.addEventListener("htmx:sseMessage", (event) => {
    const { type, data } = event.detail;
    let told;
    try {
      told = JSON.parse(data);
    } catch {
      return;
    }
    const card = find("#card");
    const id = told.session_id || (told.data && told.data.session_id);
    if (type === "caco.context" && card && card.dataset.session === id) refresh("#card");
    if (type.startsWith("session.")) refresh("#list");
  });

  // As many sessions as are shown already, so that those who paged do not lose their place.
  document.addEventListener("htmx:configRequest", (event) => {
    const list = event.detail.elt;
    if (list.id !== "list") return;
    event.detail.parameters.append("selected", list.dataset.selected);
    event.detail.parameters.append("count", Math.max(list.querySelectorAll(".session").length, 50));
    if (list.dataset.older) event.detail.parameters.append("older", list.dataset.older);
  });

  // What the reader has unfolded stays unfolded when a part of the page is written anew.
  let folds = new Map();
  document.addEventListener("htmx:beforeSwap", (event) => {
    const target = event.detail.target;
    folds = new Map([...target.querySelectorAll("details[id]")].map((fold) => [fold.id, fold.open]));
  });
  document.addEventListener("htmx:afterSwap", () => {
    folds.forEach((open, id) => {
      const fold = document.getElementById(id);
      if (fold) fold.open = open;
    });
    folds = new Map();
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const card = event.detail.elt;
    if (card.id !== "card") return;
    card.classList.add("fresh");
    setTimeout(() => card.classList.remove("fresh"), 1500);
  });

  // --- keys ---------------------------------------------------------------------------------------------

  const links = () => [...document.querySelectorAll("#list .session")];

  function step(by) {
    const all = links();
    if (!all.length) return;
    const focused = all.indexOf(document.activeElement);
    const at = focused >= 0 ? focused : all.findIndex((link) => link.hasAttribute("aria-current"));
    const next = at < 0 ? 0 : Math.min(Math.max(at + by, 0), all.length - 1);
    all[next].focus();
    all[next].scrollIntoView({ block: "nearest" });
  }

  const actions = {
    j: () => step(1),
    k: () => step(-1),
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    c: () => {
      const fold = find("#card-fold");
      if (fold) fold.open = !fold.open;
    },
    e: () => find("#edit") && find("#edit").click(),
    "?": () => find("#keys").showModal(),
    Escape: () => {
      const current = find("#list .session[aria-current]");
      if (current && find(".at-detail")) current.focus();
    },
  };

  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input, textarea, select, [contenteditable]");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || find("dialog[open]")) return;
    const inList = event.target.closest("#list") || event.target === document.body || event.target.id === "main";
    if (event.key.startsWith("Arrow") && !inList) return; // arrows scroll wherever one reads
    const action = actions[event.key];
    if (!action) return;
    if (event.key !== "Escape") event.preventDefault();
    action();
  });

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens).showModal();
    const copier = event.target.closest("[data-copies]");
    if (copier) copy(copier, document.getElementById(copier.dataset.copies));
  });

  async function copy(button, source) {
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source); // no clipboard: the reader copies it himself
    }
  }

  // --- where the reader was, and in which zone he is ----------------------------------------------------

  const list = find("#list");
  if (list) {
    const current = list.querySelector(".session[aria-current]");
    list.scrollTop = Number(sessionStorage.getItem("list-scroll")) || 0;
    if (current && find(".at-detail")) current.scrollIntoView({ block: "nearest" });
    addEventListener("pagehide", () => sessionStorage.setItem("list-scroll", list.scrollTop));
  }

  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
  if (zone && document.documentElement.dataset.zone !== zone && sessionStorage.getItem("zone") !== zone) {
    sessionStorage.setItem("zone", zone);
    document.cookie = `holdfast_zone=${zone}; path=/; max-age=31536000; samesite=strict`;
    location.reload();
  }
})();
