// The coordination screen: refreshes itself, unfolds contexts in place, makes changes, and notes that it was looked at.
"use strict";

(() => {
  const find = (selector) => document.querySelector(selector);

  // --- live ---------------------------------------------------------------------------------------------

  // What ends by time, and a developer who becomes private, send no event: so it is looked at.
  const LOOK_SECONDS = 2;
  const SHARE = 20; // refreshing takes at most a twentieth of the time
  let timer;
  let began = 0;

  const refresh = () => find("#team") && htmx.trigger("#team", "refresh"); // it is missing while the exchange is off

  function lookIn(seconds) {
    clearTimeout(timer);
    timer = setTimeout(() => !document.hidden && refresh(), seconds * 1000);
  }

  document.addEventListener("htmx:beforeRequest", ({ detail }) => {
    if (detail.elt.id === "team") began = performance.now();
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (detail.requestConfig.elt.id !== "team") return; // the element itself may have been replaced
    lookIn(Math.max(LOOK_SECONDS, (SHARE * (performance.now() - began)) / 1000));
  });
  addEventListener("DOMContentLoaded", () => lookIn(LOOK_SECONDS));
  document.addEventListener("htmx:afterSwap", ({ detail }) => detail.target.id === "main" && lookIn(LOOK_SECONDS));

  // --- contexts unfold in place -------------------------------------------------------------------------

  const listOpen = () => [...document.querySelectorAll(".toggle[aria-expanded=true]")].map((toggle) => toggle.dataset.expands);
  let openAsked = "";

  document.addEventListener("htmx:configRequest", ({ detail }) => {
    if (detail.elt.id !== "team") return;
    const open = listOpen();
    openAsked = open.join();
    open.forEach((id) => detail.parameters.append("opened", id));
  });

  // A response from before a row was opened or closed would undo that: request it again.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id !== "team" || listOpen().join() === openAsked) return;
    event.detail.shouldSwap = false;
    lookIn(0);
  });

  function expand(toggle) {
    const isOpen = toggle.getAttribute("aria-expanded") === "true";
    const detail = document.getElementById(toggle.getAttribute("aria-controls"));
    toggle.setAttribute("aria-expanded", String(!isOpen));
    detail.hidden = isOpen;
    if (isOpen || detail.childElementCount) return;
    htmx.ajax("GET", toggle.dataset.from, { source: detail, target: detail });
  }

  // --- the focus ----------------------------------------------------------------------------------------

  const listRows = (section) => [...section.querySelectorAll("li")].filter((row) => !row.parentElement.closest("li"));
  const findStop = (row) => [...row.querySelectorAll("button"), ...row.querySelectorAll("a")].find((each) => each.checkVisibility());
  let place;

  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    place = undefined;
    const section = detail.target.id === "team" && document.activeElement.closest("#team section");
    if (!section) return;
    const at = listRows(section).findIndex((row) => row.contains(document.activeElement));
    place = { title: section.getAttribute("aria-labelledby"), at };
  });

  // Where the focused row is gone, the one that took its place has the focus, else the last one, else the heading.
  document.addEventListener("htmx:afterSwap", () => {
    const title = place && document.getElementById(place.title);
    if (!title || document.activeElement !== document.body) return;
    const stops = place.at < 0 ? [] : listRows(title.closest("section")).map(findStop);
    const next = stops.slice(place.at).find(Boolean) || stops.findLast(Boolean) || title;
    next.focus({ preventScroll: true });
  });

  // --- changes ------------------------------------------------------------------------------------------

  const say = (words) => document.dispatchEvent(new CustomEvent("holdfast:say", { detail: words }));

  async function change(button, address, method, body, done) {
    if (button.ariaDisabled) return;
    const problem = find("#team-problem");
    button.ariaDisabled = "true"; // a disabled one would lose the focus
    problem.hidden = true;
    try {
      const answer = await fetch(address, { method, headers: body ? { "Content-Type": "application/json" } : {}, body });
      if (answer.ok) say(done);
      else problem.textContent = (await answer.json()).detail;
      problem.hidden = answer.ok;
    } catch {
      problem.textContent = "Not done: the server does not answer.";
      problem.hidden = false;
    }
    button.ariaDisabled = null;
    refresh();
  }

  let revoked = "";

  function askToRevoke(button) {
    revoked = button.dataset.revokes;
    find("#revoke-what").textContent = button.dataset.title;
    find("#revoke").showModal();
  }

  document.addEventListener("click", ({ target }) => {
    const toggle = target.closest("[data-expands]");
    if (toggle) expand(toggle);
    const button = target.closest("[data-does]");
    if (button) {
      const { does, method, body, done } = button.dataset;
      change(button, does, method, method === "DELETE" ? undefined : body, done);
    }
    const revoker = target.closest("[data-revokes]");
    if (revoker) askToRevoke(revoker);
    if (target.id === "revoke-yes") {
      find("#revoke").close();
      change(target, revoked, "DELETE", undefined, "Revoked.");
    }
  });

  // --- the last look ------------------------------------------------------------------------------------

  // Shorter is not a look: a page that is only passed, or loaded again.
  const GLANCE_SECONDS = 2;
  let shownAt = document.hidden ? Infinity : performance.now();

  function noteLook() {
    const isLook = performance.now() - shownAt >= GLANCE_SECONDS * 1000;
    shownAt = Infinity;
    if (!isLook || !find("#team")) return;
    const seen = [...document.querySelectorAll(".item")].map((item) => item.dataset.key);
    fetch("/console/coordination/looked", {
      method: "POST",
      keepalive: true, // the page is being left
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ at: find("#team").dataset.at, seen }),
    }).catch(() => {}); // then it is shown as new once more
  }

  function show() {
    shownAt = performance.now();
    lookIn(0);
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? noteLook() : show()));
  addEventListener("pagehide", noteLook);
  addEventListener("pageshow", (event) => event.persisted && show());
})();
