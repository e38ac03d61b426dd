// What htmx does not do: the live dot, routing events to parts of the page, keys, copying, the time zone of the reader.
"use strict";

(() => {
  const find = (selector) => document.querySelector(selector);

  // --- live ---------------------------------------------------------------------------------------------

  let isLive = false;
  let wasLive = false;
  let isLoggedOut = false;

  function showLive() {
    const gone = wasLive ? "server is gone, trying again" : "not live";
    find("#dot").classList.toggle("on", isLive);
    find("#dot-text").textContent = isLive ? "live" : isLoggedOut ? "logged out" : gone;
    find("#log-in").hidden = isLive || !isLoggedOut;
  }

  // A part that is being fetched is fetched once more afterwards: the answer under way may be older than the news,
  // and htmx drops a request that waits for an element which the answer replaces.
  const outdated = new Set();

  function refresh(selector) {
    const element = find(selector);
    if (!element) return;
    if (element.classList.contains("htmx-request")) outdated.add(selector);
    else htmx.trigger(element, "refresh");
  }

  function refreshOutdated({ detail }) {
    const selector = `#${detail.requestConfig.elt.id}`;
    if (outdated.delete(selector)) setTimeout(refresh, 0, selector);
  }

  document.addEventListener("htmx:afterSettle", refreshOutdated); // not earlier: a new element does not listen yet
  document.addEventListener("htmx:afterRequest", (event) => event.detail.successful || refreshOutdated(event));

  // The server caches the counts for a second for all pages. Requested after that, so that the new event is included.
  const COUNT_SECONDS = 1.1;
  let counting;

  function countSoon() {
    clearTimeout(counting);
    counting = setTimeout(refresh, COUNT_SECONDS * 1000, "#stock");
  }

  document.addEventListener("htmx:afterSwap", ({ detail }) => detail.target.id === "tail" && countSoon());

  // Events may have been missed before the stream was open, so the parts are fetched again.
  function setLive(now) {
    if (now && !isLive) ["#head", "#card", "#list", "#team", "#stock"].forEach(refresh);
    isLive = now;
    wasLive = wasLive || now;
    showLive();
    if (!now) refresh("#stock"); // a stream does not report why it ended; a response does
  }

  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    isLoggedOut = detail.xhr.status === 401;
    showLive();
  });

  let isNews = false;

  function handleEvent(topic, event) {
    if (topic.startsWith("team.")) return refresh("#team");
    const isShown = find("#card")?.dataset.session === event.session_id;
    countSoon();
    if (topic === "caco.context") {
      isNews = isNews || isShown;
      if (isShown) refresh("#card");
      return;
    }
    refresh("#list");
    if (isShown) refresh("#head");
  }

  // One stream for all tabs; a hidden tab does not listen.
  const script = find("[data-stream]").dataset.stream;
  const stream = window.SharedWorker ? new SharedWorker(script).port : new Worker(script);
  stream.onmessage = ({ data: news }) => (news.topic ? handleEvent(news.topic, news.data) : setLive(news.isLive));

  function listen(isSeen) {
    if (!isSeen) isLive = false;
    stream.postMessage(isSeen);
  }

  // Not before htmx has processed the page: fetched parts need their targets.
  addEventListener("DOMContentLoaded", () => listen(!document.hidden));
  document.addEventListener("visibilitychange", () => listen(!document.hidden));
  addEventListener("pagehide", () => listen(false));
  addEventListener("pageshow", (event) => event.persisted && listen(true));

  // As many rows as are already shown, so that a reader who paged does not lose the position. A search begins anew.
  let rowsAsked = 0;
  document.addEventListener("htmx:configRequest", (event) => {
    const list = event.detail.elt;
    if (list.id !== "list") return;
    const isRefresh = event.detail.triggeringEvent?.type === "refresh";
    const page = Number(list.dataset.page);
    if (isRefresh && links().length > Number(list.dataset.most)) event.preventDefault(); // a long list: no row is removed
    rowsAsked = isRefresh ? Math.max(links().length, page) : Infinity;
    event.detail.parameters.append("selected", list.dataset.selected);
    event.detail.parameters.append("count", isRefresh ? rowsAsked : page);
    if (!isRefresh) list.dataset.older = "";
    if (list.dataset.older) event.detail.parameters.append("older", list.dataset.older);
  });

  // A response to a request from before the reader loaded more rows would remove those rows: request it again.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id !== "list") return;
    if (links().length <= rowsAsked && !find("#list .more.htmx-request")) return;
    event.detail.shouldSwap = false;
    setTimeout(() => refresh("#list"));
  });

  // When a part of the page is replaced, open folds stay open and the focus stays where it is.
  let folds = new Map();
  let focused = "";
  document.addEventListener("htmx:beforeSwap", () => {
    focused = document.activeElement?.id || "";
    folds = new Map([...document.querySelectorAll("details[id]")].map((fold) => [fold.id, fold.open]));
  });
  document.addEventListener("htmx:afterSwap", () => {
    folds.forEach((open, id) => {
      const fold = document.getElementById(id);
      if (fold) fold.open = open;
    });
    folds = new Map();
    if (document.activeElement !== document.body) return;
    document.getElementById(focused)?.focus({ preventScroll: true });
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const card = event.detail.elt;
    if (card.id !== "card" || !isNews) return;
    isNews = false;
    card.classList.add("fresh");
    setTimeout(() => card.classList.remove("fresh"), 1500);
  });

  // --- keys ---------------------------------------------------------------------------------------------

  const links = () => [...document.querySelectorAll("#list .session")];
  const ROWS = "#list .session, .claim, .changed-file, .item > button, .item > .button, .more-items > summary, .published .toggle";
  const rows = () => [...document.querySelectorAll(ROWS)].filter((row) => row.checkVisibility());

  function step(by) {
    const all = rows();
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
    r: copyCommand,
    "/": () => find("#query")?.select(),
    "?": () => find("#keys").showModal(),
    Escape: () => {
      const current = find("#list .session[aria-current]");
      const isBack = document.activeElement?.closest("#list") || !current;
      if (find("#query") && isBack) find("#query").select();
      else if (current && (find(".at-detail") || find("#query"))) current.focus();
    },
  };

  // In the search: down to what was found, Enter opens the best of it, as soon as it is what was typed.
  const searchActions = {
    ArrowDown: () => rows()[0]?.focus(),
    Enter: (query) => (find("#found")?.dataset.words === query.value.trim() && links()[0] ? links()[0].click() : query.form.submit()),
    Escape: (query) => {
      if (!query.value) return query.blur();
      query.value = "";
      query.dispatchEvent(new Event("input", { bubbles: true }));
    },
  };

  document.addEventListener("keydown", (event) => {
    const inSearch = event.target.id === "query" && !event.isComposing && searchActions[event.key];
    if (inSearch) {
      event.preventDefault();
      return inSearch(event.target);
    }
    const isTyping = event.target.closest("input:not([type=radio]), textarea, select, [contenteditable]");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || find("dialog[open]")) return;
    const inList = event.target.closest("#list, .changed-files, .since, .published") || event.target === document.body || event.target.id === "main";
    if (event.key.startsWith("Arrow") && !inList) return; // arrow keys scroll outside of lists
    if (event.key === "Enter" && event.target.matches(".claim")) event.target.querySelector(".named a")?.click();
    const action = actions[event.key];
    if (!action) return;
    if (event.key !== "Escape") event.preventDefault();
    action();
  });

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens).showModal();
    const unfolder = event.target.closest("[data-unfolds]");
    if (unfolder) unfold(event, document.getElementById(unfolder.dataset.unfolds));
    const folded = event.target.closest(".piece:not([open]) > summary, .again:not([open]) > summary");
    if (folded) folded.parentElement.addEventListener("toggle", ({ target }) => showWhole(target), { once: true });
    const source = event.target.closest("[data-shows]");
    if (source && document.getElementById(source.dataset.shows) && !isForNewTab(event)) showHere(event, source.dataset.shows);
    const copier = event.target.closest("[data-copies]");
    if (copier) copy(copier, document.getElementById(copier.dataset.copies));
  });

  // Without a jump, which would scroll the clicked element out of view.
  function unfold(event, fold) {
    event.preventDefault();
    fold.open = true;
    fold.querySelector("summary").focus({ preventScroll: true });
    showWhole(fold);
  }

  // A fold that opens below the visible area would seem not to open. The focus does not move.
  function showWhole(fold) {
    if (fold.open) fold.scrollIntoView({ block: "nearest" });
  }

  const isForNewTab = (event) => event.ctrlKey || event.metaKey || event.shiftKey;

  // What is on the page already is shown without loading it again.
  function showHere(event, id) {
    event.preventDefault();
    if (location.hash === `#${id}`) reveal();
    else location.hash = id;
  }

  // Not every browser unfolds what an address leads to, and none the fold itself.
  function reveal() {
    const shown = document.getElementById(location.hash.slice(1));
    if (!shown?.closest("#timeline")) return;
    for (let fold = shown.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    const head = shown.querySelector(":scope > summary, :scope > .request") || shown;
    head.scrollIntoView({ block: "center" });
    head.focus({ preventScroll: true });
  }

  addEventListener("hashchange", reveal);
  addEventListener("DOMContentLoaded", reveal);

  let copied = "";

  // A part of the page that is replaced still says what was copied.
  document.addEventListener("htmx:afterSwap", () => {
    const button = copied && find(`[data-copies="${copied}"]`);
    if (button) button.textContent = "Copied";
  });

  async function copy(button, source) {
    try {
      await navigator.clipboard.writeText(source.textContent);
      document.querySelectorAll("[data-copies]").forEach((other) => (other.textContent = "Copy"));
      button.textContent = "Copied";
      copied = button.dataset.copies;
    } catch {
      getSelection().selectAllChildren(source); // no clipboard: select it, so that the reader can copy it
    }
  }

  // That of the row under the keys, else the first one of the page.
  async function copyCommand() {
    const row = document.activeElement?.closest("[data-command]:not([aria-current])");
    const command = row?.dataset.command || find(".goes-on code, .ways code")?.textContent;
    if (!command) return;
    try {
      await navigator.clipboard.writeText(command);
      say(`Copied: ${command}`);
    } catch {
      say(command);
    }
  }

  const SAID_SECONDS = 4;
  let saying;

  function say(words) {
    const toast = find("#toast");
    toast.textContent = words;
    toast.hidden = false;
    clearTimeout(saying);
    saying = setTimeout(() => (toast.hidden = true), SAID_SECONDS * 1000);
  }

  document.addEventListener("holdfast:say", ({ detail }) => say(detail));

  // --- scroll position and time zone of the reader ------------------------------------------------------

  const list = find("#list");
  if (list) {
    const current = list.querySelector(".session[aria-current]");
    list.scrollTop = Number(sessionStorage.getItem("list-scroll")) || 0;
    if (current && find(".at-detail")) current.scrollIntoView({ block: "nearest" });
    addEventListener("pagehide", () => sessionStorage.setItem("list-scroll", list.scrollTop));
  }

  // Behind what is in the field: with `autofocus` the caret is before it.
  const query = find("#query[autofocus]");
  if (query) query.setSelectionRange(query.value.length, query.value.length);

  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
  if (zone && document.documentElement.dataset.zone !== zone && sessionStorage.getItem("zone") !== zone) {
    sessionStorage.setItem("zone", zone);
    document.cookie = `holdfast_zone=${zone}; path=/; max-age=31536000; samesite=strict`;
    location.reload();
  }
})();
