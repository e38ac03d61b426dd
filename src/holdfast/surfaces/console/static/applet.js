// Applets: record what was open on the session. Also the save of the editor, with a check for changes in the meantime.
"use strict";

(() => {
  const applet = document.getElementById("applet");
  if (!applet) return;
  const IDLE_SECONDS = 30;

  // --- the requested line: it is in the URL after the #, which the server does not receive -----------------

  const query = new URLSearchParams(location.search);
  const lineAsked = () => location.hash.match(/^#L(\d{1,7})$/)?.[1] || "";

  function goToLine() {
    const line = lineAsked();
    if (!line || document.getElementById(`L${line}`) || query.get("line") === line || query.has("edit")) return;
    query.set("line", line);
    location.replace(`?${query}#L${line}`);
  }

  addEventListener("hashchange", goToLine);
  if (query.has("line") && !location.hash) location.replace(`#L${query.get("line")}`);
  goToLine();

  // --- capture: on idle and on leaving, so that a resumed session can offer it again ----------------------

  // Named apart, or not part of what was open.
  const OWN = ["applet", "session", "path", "since", "line", "edit", "from"];
  const note = document.getElementById("capture");
  let captured = "";

  async function explain(answer) {
    const problem = await answer.json().catch(() => ({}));
    note.textContent = `Not recorded on the session: ${problem.detail || `the server answered ${answer.status}.`}`;
    note.hidden = false;
  }

  function capture(isIdle) {
    const { session, path, since, applet: slug } = applet.dataset;
    if (!session) return;
    const line = lineAsked();
    const others = [...query].filter(([name]) => !OWN.includes(name)).map(([name, value]) => `${name}=${value}`);
    const items = [slug, `path=${path}`];
    if (since) items.push(`since=${since}`);
    items.push(...others);
    if (line) items.push(`line=${line}`);
    const asked = items.join("\n");
    if (isIdle && captured === asked) return;
    captured = asked;
    fetch(`/api/sessions/${session}`, {
      method: "PATCH",
      keepalive: true, // outlives the page
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ setContext: { setName: "applet", items } }),
    }).then(
      (answer) => {
        note.hidden = answer.ok;
        if (answer.ok) return;
        captured = "";
        explain(answer);
      },
      () => (captured = ""),
    );
  }

  // Sent once, even if unchanged: another tab may have recorded something since. A hidden page was already left.
  let isLeft = document.hidden;
  function leave() {
    if (!isLeft) capture(false);
    isLeft = true;
  }

  let idle;
  function stir() {
    clearTimeout(idle);
    idle = setTimeout(capture, IDLE_SECONDS * 1000, true);
  }
  ["keydown", "pointerdown", "pointermove", "scroll"].forEach((name) => {
    addEventListener(name, stir, { passive: true, capture: true });
  });
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : (isLeft = false)));
  addEventListener("pagehide", leave);
  addEventListener("pageshow", () => (isLeft = document.hidden));
  stir();

  // --- edit and save --------------------------------------------------------------------------------------

  const text = document.getElementById("text");
  if (!text) return;
  const saved = document.getElementById("saved");
  const conflict = document.getElementById("conflict");
  let baseHash = applet.dataset.hash;
  let otherHash = "";
  let kept = text.value;
  const isChanged = () => text.value !== kept;
  text.focus({ preventScroll: true }); // after opening by keyboard, the reader can type

  async function save(hash) {
    const sent = text.value;
    if (hash === baseHash && !isChanged()) {
      saved.textContent = "Nothing changed";
      return;
    }
    saved.textContent = "Saving …";
    let answer;
    let said;
    try {
      answer = await fetch("/console/applet/file", {
        method: "PUT",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ path: applet.dataset.path, text: sent, base_hash: hash }),
      });
      said = await answer.json();
    } catch {
      saved.textContent = "Not saved: the server does not answer. Your text is still here.";
      return;
    }
    conflict.hidden = true;
    if (answer.ok) {
      baseHash = said.hash;
      kept = sent;
      saved.textContent = `Saved ${new Date().toLocaleTimeString([], { hour12: false })}`;
    } else if (answer.status === 409) {
      otherHash = said.current_hash;
      document.getElementById("conflict-text").textContent = said.detail;
      conflict.hidden = false;
      saved.textContent = "Not saved";
    } else {
      saved.textContent = `Not saved: ${said.detail || answer.status}`;
    }
  }

  document.getElementById("save").addEventListener("click", () => save(baseHash));
  document.getElementById("overwrite").addEventListener("click", () => save(otherHash));
  document.getElementById("reload").addEventListener("click", () => {
    kept = text.value; // the reader discards the changes
    location.reload();
  });
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
      event.preventDefault();
      save(baseHash);
    }
  });
  text.addEventListener("input", () => {
    saved.textContent = isChanged() ? "Not saved yet" : "";
  });
  addEventListener("beforeunload", (event) => {
    if (isChanged()) event.preventDefault();
  });
})();
