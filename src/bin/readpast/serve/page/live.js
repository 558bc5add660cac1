// Takes the page again whenever there are new figures, and puts the parts that say so in the place of the old ones.
"use strict";
(() => {
  const parts = document.querySelectorAll("[data-live]");
  if (parts.length === 0 || !window.EventSource) return;
  const offline = document.getElementById("offline");
  let busy = false;
  let again = false;
  const take = async () => {
    if (document.hidden) return;
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const part of parts) {
          const next = page.getElementById(part.id);
          // Nothing is taken from under somebody's fingers.
          const inUse = part.contains(document.activeElement) || (getSelection()?.toString() && part.contains(getSelection().anchorNode));
          if (next && !inUse && next.innerHTML !== part.innerHTML) part.replaceChildren(...next.childNodes);
        }
      }
    } catch {
      // The stream of events says that the server is away.
    }
    busy = false;
    if (again) { again = false; take(); }
  };
  const events = new EventSource("/events");
  events.addEventListener("figures", take);
  events.addEventListener("open", () => { offline.hidden = true; });
  events.addEventListener("error", () => { offline.hidden = false; });
  document.addEventListener("visibilitychange", take);
})();
