// Adds a search field above the list of guides and operations. The pages work without this script.
const contents = document.querySelector("nav.contents");
const items = [...contents.querySelectorAll("li")].map((item) =>
    ({ item, words: `${item.textContent} ${item.dataset.words}`.toLowerCase() }));

const label = document.createElement("label");
label.textContent = "Search guides and operations";
const input = document.createElement("input");
input.type = "search";
label.append(input);
const status = document.createElement("p");
status.setAttribute("role", "status");
status.className = "muted small";

input.addEventListener("input", () => {
    const terms = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const { item, words } of items) {
        item.hidden = !terms.every((term) => words.includes(term));
        found += !item.hidden;
    }
    status.textContent = !terms.length ? "" : found === 1 ? "1 result" : `${found} results`;
});
contents.prepend(label, status);
