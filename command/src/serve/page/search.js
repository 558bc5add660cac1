// Completes the last word of a search, and selects all rows of a page. Both work without it as well.
"use strict";
(() => {
  const input = document.getElementById("q");
  const list = document.getElementById("words");
  if (input && list) {
    const words = [...list.options].map((option) => option.value);
    // A browser offers whole values: each is what stands there already, with its last word completed.
    const offer = () => {
      const before = input.value.slice(0, input.value.length - input.value.match(/\S*$/)[0].length);
      list.replaceChildren(...words.map((word) => Object.assign(document.createElement("option"), { value: before + word })));
    };
    input.addEventListener("input", offer);
    offer();
  }
  const all = document.getElementById("all");
  if (all) {
    const rows = [...all.form.elements].filter((element) => element.name === "key");
    all.hidden = false;
    all.addEventListener("change", () => { for (const row of rows) row.checked = all.checked; });
  }
})();
