// The button that switches the notes of this repository on or off.
"use strict";

(() => {
  async function share(button) {
    const problem = document.querySelector("#switch-problem");
    button.disabled = true;
    problem.hidden = true;
    try {
      const answer = await fetch("/console/workstreams/sharing", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ shared_context: button.dataset.shares === "true" }),
      });
      if (answer.ok) return location.reload();
      problem.textContent = (await answer.json()).detail;
    } catch {
      problem.textContent = "Not switched: the server does not answer.";
    }
    problem.hidden = false;
    button.disabled = false;
    button.focus(); // a disabled button has lost it
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-shares]");
    if (button) share(button);
  });
})();
