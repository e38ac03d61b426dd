// The workstreams screen: refreshes itself, runs a proof on request, and shows the value of the slider.
"use strict";

(() => {
  const LOOK_SECONDS = 3;
  const SHARE = 20; // refreshing takes at most a twentieth of the time
  const find = (selector) => document.querySelector(selector);

  // --- the checkout changes under the page --------------------------------------------------------------

  let timer;
  let began = 0;

  // Also shows proofs that were started on another page.
  function look() {
    htmx.trigger("#work", "refresh");
    htmx.trigger("#proving", "refresh");
  }

  function lookIn(seconds) {
    clearTimeout(timer);
    timer = setTimeout(() => !document.hidden && look(), seconds * 1000);
  }

  document.addEventListener("htmx:beforeRequest", ({ detail }) => {
    if (detail.elt.id === "work") began = performance.now();
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (detail.requestConfig.elt.id !== "work") return; // the element itself may have been replaced
    lookIn(Math.max(LOOK_SECONDS, (SHARE * (performance.now() - began)) / 1000));
  });
  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target.id === "work") htmx.trigger("#cap", "refresh");
  });
  document.addEventListener("visibilitychange", () => !document.hidden && lookIn(0));
  addEventListener("DOMContentLoaded", () => lookIn(LOOK_SECONDS));

  // --- proofs -------------------------------------------------------------------------------------------

  async function prove(button) {
    const said = find("#proving-said");
    button.disabled = true;
    try {
      const answer = await fetch("/console/workstreams/proof", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ proof_id: button.dataset.proves }),
      });
      said.textContent = answer.ok ? "" : (await answer.json()).detail;
    } catch {
      said.textContent = "Not started: the server does not answer.";
    }
    said.hidden = !said.textContent;
    button.disabled = false;
    if (said.hidden) {
      button.closest("details").open = false;
      htmx.trigger("#proving", "refresh");
    }
    find("#proving").scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-proves]");
    if (button) prove(button);
  });

  // The result of a proof is part of the page: refresh as soon as it has ended.
  let ended = find("#proving").dataset.ended;
  document.addEventListener("htmx:afterSettle", () => {
    const now = find("#proving").dataset.ended;
    if (now && now !== ended) lookIn(0);
    ended = now || ended;
  });

  // --- the slider ---------------------------------------------------------------------------------------

  find("#limit").addEventListener("input", (event) => {
    find("#limit-shown").textContent = Number(event.target.value).toLocaleString("en");
  });
})();
