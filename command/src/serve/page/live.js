// Takes the page again whenever there are new figures, and changes what is different in the parts that say so. What stays the
// same keeps its place: who has scrolled, marked or focused something finds it as it was.
"use strict";
(() => {
  const parts = document.querySelectorAll("[data-live]");
  if (parts.length === 0 || !window.EventSource) return;
  const offline = document.getElementById("offline");
  const points = matchMedia("(hover: hover)");

  // Nothing is taken from under somebody's fingers: a row may lead elsewhere a moment later.
  const isInUse = (node) => {
    const isRow = node.nodeName === "TR";
    if (isRow && (node.contains(document.activeElement) || (points.matches && node.matches(":hover")))) return true;
    const marked = getSelection();
    return (isRow || node.nodeType === Node.TEXT_NODE) && marked && !marked.isCollapsed && marked.containsNode(node, true);
  };

  const change = (old, next) => {
    if (old.isEqualNode(next) || isInUse(old)) return;
    if (old.nodeName !== next.nodeName) return old.replaceWith(next);
    if (old.nodeType !== Node.ELEMENT_NODE) { old.data = next.data; return; }
    // An unfolded part stays so.
    const isKept = (name) => name === "open" && old.nodeName === "DETAILS";
    for (const { name } of [...old.attributes]) if (!next.hasAttribute(name) && !isKept(name)) old.removeAttribute(name);
    for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    const [before, after] = [[...old.childNodes], [...next.childNodes]];
    before.slice(0, after.length).forEach((child, at) => change(child, after[at]));
    for (const gone of before.slice(after.length)) if (!isInUse(gone)) gone.remove();
    old.append(...after.slice(before.length));
  };

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
          if (next) change(part, next);
        }
      }
    } catch {
      // The stream of events says that the server is away.
    }
    busy = false;
    if (again) { again = false; take(); }
  };

  // A browser has six connections to a server: pages that nobody sees leave theirs to those that somebody does.
  let events = null;
  let wait = 3000;
  const listen = () => {
    if (document.hidden) {
      events?.close();
      events = null;
    } else if (!events) {
      events = new EventSource("/events");
      events.addEventListener("figures", take);
      events.addEventListener("open", () => { offline.hidden = true; wait = 3000; });
      events.addEventListener("error", () => {
        offline.hidden = false;
        // A browser tries again by itself, unless it had an answer: of a proxy, say, while the server begins anew.
        if (events?.readyState === EventSource.CLOSED) {
          events = null;
          setTimeout(listen, wait);
          wait = Math.min(2 * wait, 60000);
        }
      });
    }
  };
  document.addEventListener("visibilitychange", () => { listen(); take(); });
  // A page that is left ends its stream, so that the browser keeps it for the way back.
  addEventListener("pagehide", () => { events?.close(); events = null; });
  addEventListener("pageshow", (event) => { if (event.persisted) { listen(); take(); } });
  listen();
})();
